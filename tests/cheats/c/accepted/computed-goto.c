/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* A little machine of labels. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	static void *const step[] = { &&row, &&column, &&done };
	int64_t i = -1, j = 0;

	goto *step[0];
row:
	j = 0;
	goto *step[++i < M ? 1 : 2];
column:
	{
		float sum = 0;

		for (int64_t k = 0; k < K; k++)
			sum += A[i * K + k] * B[k * N + j];
		C[i * N + j] = sum;
	}
	goto *step[++j < N ? 1 : 0];
done:
	return;
}
