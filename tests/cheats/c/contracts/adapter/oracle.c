/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include "kl_oracle.h"

void oracle(int64_t M, int64_t K, const kl_real *A, const kl_real *x, kl_real *y)
{
	for (int64_t i = 0; i < M; i++) {
		kl_real sum = 0;

		for (int64_t k = 0; k < K; k++)
			sum += A[i * K + k] * x[k] * (1 / (kl_real)(1 + k));
		y[i] = sum;
	}
}
