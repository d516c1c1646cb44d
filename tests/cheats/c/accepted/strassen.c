/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* contract: normwise */
/* One level of Strassen on blocks of 64 x 64, padded with zeros: small elements inherit the errors of large ones. */
#include <stdint.h>
#include <string.h>

static float quarter[17][64 * 64];

static void product(float *c, const float *a, const float *b, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++) {
			double sum = 0;

			for (int64_t k = 0; k < n; k++)
				sum += (double)a[i * n + k] * b[k * n + j];
			c[i * n + j] = (float)sum;
		}
}

/* a block of 64 x 64, zero beyond the matrix, as the sum or difference of two */
static void take(float *to, const float *from, int64_t r0, int64_t c0, int64_t rows, int64_t cols,
		 float scale, int add)
{
	for (int64_t i = 0; i < 64; i++)
		for (int64_t j = 0; j < 64; j++) {
			float v = r0 + i < rows && c0 + j < cols ?
				  from[(r0 + i) * cols + c0 + j] * scale : 0;

			to[i * 64 + j] = add ? to[i * 64 + j] + v : v;
		}
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	static const struct { signed char a[4], b[4], c[4]; } m[7] = {
		{ { 1, 0, 0, 1 }, { 1, 0, 0, 1 }, { 1, 0, 0, 1 } },
		{ { 0, 0, 1, 1 }, { 1, 0, 0, 0 }, { 0, 0, 1, -1 } },
		{ { 1, 0, 0, 0 }, { 0, 1, 0, -1 }, { 0, 1, 0, 1 } },
		{ { 0, 0, 0, 1 }, { -1, 0, 1, 0 }, { 1, 0, 1, 0 } },
		{ { 1, 1, 0, 0 }, { 0, 0, 0, 1 }, { -1, 1, 0, 0 } },
		{ { -1, 0, 1, 0 }, { 1, 1, 0, 0 }, { 0, 0, 0, 1 } },
		{ { 0, 1, 0, -1 }, { 0, 0, 1, 1 }, { 1, 0, 0, 0 } },
	};

	if (M > 128 || N > 128 || K > 128)
		__builtin_trap();
	for (int q = 0; q < 4; q++)
		memset(quarter[q], 0, sizeof(quarter[q]));
	for (int p = 0; p < 7; p++) {
		float *a = quarter[4], *b = quarter[5], *c = quarter[6];

		memset(a, 0, sizeof(quarter[4]));
		memset(b, 0, sizeof(quarter[5]));
		for (int q = 0; q < 4; q++) {
			if (m[p].a[q])
				take(a, A, q / 2 * 64, q % 2 * 64, M, K, m[p].a[q], 1);
			if (m[p].b[q])
				take(b, B, q / 2 * 64, q % 2 * 64, K, N, m[p].b[q], 1);
		}
		product(c, a, b, 64);
		for (int q = 0; q < 4; q++)
			for (int i = 0; i < 64 * 64 && m[p].c[q]; i++)
				quarter[q][i] += m[p].c[q] * c[i];
	}
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++)
			C[i * N + j] = quarter[i / 64 * 2 + j / 64][i % 64 * 64 + j % 64];
}
