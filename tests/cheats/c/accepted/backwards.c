/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Every loop from its end. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = M; i-- > 0;)
		for (int64_t j = N; j-- > 0;) {
			float sum = 0;

			for (int64_t k = K; k-- > 0;)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}
