/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* contract: threads */
/* Each thread reads what the others have on their stacks, as shared variables of OpenMP are. */
#include <omp.h>
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	float *row[2] = { 0 };
	float first[128], second[128];

#pragma omp parallel
	for (int64_t i = 0; i < M; i++) {
		int me = omp_get_thread_num(), all = omp_get_num_threads();
		float mine[128];

		row[me] = mine;
		for (int64_t j = me; j < N; j += all) {
			mine[j] = 0;
			for (int64_t k = 0; k < K; k++)
				mine[j] += A[i * K + k] * B[k * N + j];
		}
#pragma omp barrier
		for (int64_t j = (me + 1) % all; j < N; j += all)
			(me ? first : second)[j] = row[(me + 1) % all][j];
#pragma omp barrier
#pragma omp master
		for (int64_t j = 0; j < N; j++)
			C[i * N + j] = j % all ? second[j] : first[j];
#pragma omp barrier
	}
}
