/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(int m, int n, int k, const kl_real *a, int lda, const kl_real *b, int ldb, kl_real *c, int ldc)
{
	for (int j = 0; j < n; j++)
		for (int p = 0; p < k; p++)
			for (int i = 0; i < m; i++)
				c[j * ldc + i] += a[p * lda + i] * b[j * ldb + p];
}
