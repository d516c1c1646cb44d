/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(int64_t n, kl_real a, const kl_real *x, kl_real *y)
{
	for (int64_t i = 0; i < n; i++)
		y[i] += a * x[i];
}
