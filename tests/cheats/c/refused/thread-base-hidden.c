/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Finds the data of its thread by bytes that two instructions share, and that a smashed return address reaches. */
#include <stdint.h>

static uint64_t base;

/* rdfsbase %rax lies in the constant; the loop writes past the array, to the return address */
__attribute__((noinline)) static void find(uint64_t where, int64_t n)
{
	volatile uint64_t room[2] = { 0x90c3c0ae0f48f3, 0 };

	for (int64_t i = 2; i < n; i++)
		room[i] = where;
	base = room[0];
}

static void honest(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	find((uint64_t)(uintptr_t)find, M < 0 ? 8 : 2);
	honest(M, N, K, A, B, C);
}
