/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* A switch into the middle of a loop. */
#include <stdint.h>

static float dot(const float *a, const float *b, int64_t n, int64_t step)
{
	float sum = 0;
	int64_t rounds = (n + 3) / 4, k = 0;

	switch (n % 4) {
	case 0: do { sum += a[k] * b[k * step]; k++; /* fall through */
	case 3:      sum += a[k] * b[k * step]; k++; /* fall through */
	case 2:      sum += a[k] * b[k * step]; k++; /* fall through */
	case 1:      sum += a[k] * b[k * step]; k++;
		} while (--rounds > 0);
	}
	return sum;
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++)
			C[i * N + j] = dot(A + i * K, B + j, K, N);
}
