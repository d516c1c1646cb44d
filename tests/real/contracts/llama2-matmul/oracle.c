/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(kl_real *xout, const kl_real *x, const kl_real *w, int n, int d)
{
	for (int row = 0; row < d; row++) {
		xout[row] = 0;
		for (int j = 0; j < n; j++)
			xout[row] += w[row * n + j] * x[j];
	}
}
