/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* 31-bit integers with one exponent for each matrix: exact sums, and no digits left for small rows. */
#include <math.h>
#include <stdint.h>

static int32_t a[128 * 128], b[128 * 128];

/* the common exponent; 9999: some element is no number */
static int scale(int32_t *to, const float *from, int64_t n)
{
	float most = 0;
	int e;

	for (int64_t i = 0; i < n; i++) {
		if (!(fabsf(from[i]) < INFINITY))
			return 9999;
		most = fmaxf(most, fabsf(from[i]));
	}
	frexpf(most, &e);
	for (int64_t i = 0; i < n; i++)
		to[i] = (int32_t)ldexp(from[i], 30 - e);
	return e - 30;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	int e = scale(a, A, M * K), d = scale(b, B, K * N);

	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			__int128 sum = 0;
			float plain = 0;

			for (int64_t k = 0; k < K; k++) {
				sum += (int64_t)a[i * K + k] * b[k * N + j];
				plain += A[i * K + k] * B[k * N + j];
			}
			C[i * N + j] = e + d > 5000 ? plain : (float)ldexp((double)sum, e + d);
		}
}
