/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* A note that joins the relocations that the loader applies: one of them calls a function. */
#include <stdint.h>

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

static int early;

__attribute__((used)) static void *before(void)
{
	early = 1;
	return honest;
}

__asm__(".section .rela.dyn,\"a\",@note\n"
	".quad slot, 37, before	/* IRELATIVE */\n"
	".data\n"
	"slot: .quad 0\n"
	".text");

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	if (early)
		honest(M, N, K, A, B, C);
}
