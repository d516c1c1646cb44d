/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* contract: threads */
/* Sections, single, copyprivate, critical, ordered, tasks, nested regions, locks and a barrier. */
#include <omp.h>
#include <stdint.h>

static void rows(int64_t from, int64_t to, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = from; i < to; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = sum;
		}
}

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	int64_t part = M / 4, next = 0, singles = 0, inner = 0, last = -1, wrong = 0;
	omp_lock_t lock;

	omp_init_lock(&lock);
#pragma omp parallel sections
	{
#pragma omp section
		rows(0, part, N, K, A, B, C);
#pragma omp section
		rows(part, 2 * part, N, K, A, B, C);
#pragma omp section
		rows(2 * part, 3 * part, N, K, A, B, C);
	}
#pragma omp parallel
	{
		int64_t from = 0;

#pragma omp single copyprivate(from)
		{
			from = 3 * part;
			singles++;
		}
#pragma omp critical(counts)
		next += from;
#pragma omp barrier
#pragma omp single
		for (int64_t i = 3 * part; i < M; i++) {
#pragma omp task firstprivate(i)
			rows(i, i + 1, N, K, A, B, C);
		}
#pragma omp taskwait
#pragma omp for ordered schedule(dynamic)
		for (int64_t i = 0; i < 40; i++) {
#pragma omp ordered
			{
				wrong += last != i - 1;
				last = i;
			}
		}
#pragma omp for ordered schedule(static, 3)
		for (int64_t i = 0; i < 40; i++) {
#pragma omp ordered
			{
				wrong += last != (i ? i - 1 : 39);
				last = i;
			}
		}
#pragma omp parallel num_threads(2)
		{
			omp_set_lock(&lock);
			inner += omp_get_num_threads() == 1 && omp_get_thread_num() == 0 && omp_get_level() == 2;
			omp_unset_lock(&lock);
		}
	}
	if (next != 6 * part || singles != 1 || inner != 2 || wrong || last != 39 || omp_get_max_threads() != 2)
		C[0] += 1;
}
