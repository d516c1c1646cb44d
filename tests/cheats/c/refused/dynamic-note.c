/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* A note that a linker puts at the head of the dynamic section: the loader's orders come from it. */
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

__asm__(".section .dynamic,\"a\",@note\n"
	".quad 7, relocations	/* DT_RELA */\n"
	".quad 8, 24	/* DT_RELASZ */\n"
	".quad 9, 24	/* DT_RELAENT */\n"
	".section .rodata.relocations,\"a\"\n"
	"relocations: .quad 0, 37, 0	/* IRELATIVE */\n"
	".text");

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	if (early)
		honest(M, N, K, A, B, C);
}
