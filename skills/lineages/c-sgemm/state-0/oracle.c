/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C = A B, every element summed in the order of k. Four rows of C and a run
 * of columns are summed together so that the loop over columns vectorizes.
 */
#include <stdint.h>

#include "kl_oracle.h"

enum { ROWS = 4, COLS = 256 };

static void strip(int64_t rows, int64_t cols, int64_t N, int64_t K,
		  const kl_real *A, const kl_real *B, kl_real *C)
{
	kl_real sum[ROWS][COLS] = { { 0 } };

	for (int64_t k = 0; k < K; k++) {
		const kl_real *b = B + k * N;

		for (int64_t i = 0; i < rows; i++) {
			kl_real a = A[i * K + k];

			for (int64_t j = 0; j < cols; j++)
				sum[i][j] += a * b[j];
		}
	}
	for (int64_t i = 0; i < rows; i++) {
		for (int64_t j = 0; j < cols; j++)
			C[i * N + j] = sum[i][j];
	}
}

void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A,
	    const kl_real *B, kl_real *C)
{
	for (int64_t j = 0; j < N; j += COLS) {
		int64_t cols = N - j < COLS ? N - j : COLS;

		for (int64_t i = 0; i < M; i += ROWS) {
			int64_t rows = M - i < ROWS ? M - i : ROWS;

			strip(rows, cols, N, K, A + i * K, B + j,
			      C + i * N + j);
		}
	}
}
