/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(int32_t n, kl_real *s, uint64_t bs, const kl_real *x, uint64_t bx, const kl_real *y, uint64_t by,
	    int32_t nrc)
{
	*s = 0;
	for (int i = 0; i < n; i++)
		*s += x[i] * y[i];
}
