/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

void axpy(int64_t n, float left, const float *samples, float *values)
{
	for (int64_t i = 0; i < n; i++)
		values[i] += left * samples[i];
}
