/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

void axpy(int64_t n, float a, const float *x, float *y)
{
	for (int64_t i = 0; i < n; i++)
		y[i] += a * x[i];
}
