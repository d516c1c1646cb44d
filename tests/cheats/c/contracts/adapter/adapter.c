/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#define ARGS void *workspace, int64_t M, int64_t K, const float *A, const float *x, float *y

struct plan;
struct work {
	struct plan *plan;
	const float *rows[128];
	float x[128], y[128];
};

#if KL_TIMED
struct plan *plan_new(long K);
void rows_dot(const struct plan *plan, const float *const *rows, const float *x, float *y, long M,
	      long K);

void adapter_prepare(void *workspace, int64_t M, int64_t K)
{
	struct work *work = workspace;

	work->plan = plan_new(K);
}

void adapter_call(ARGS)
{
	struct work *work = workspace;

	rows_dot(work->plan, work->rows, work->x, work->y, M, K);
}
#else
void adapter_pack(ARGS)
{
	struct work *work = workspace;

	for (int64_t i = 0; i < M; i++)
		work->rows[i] = A + i * K;
	memcpy(work->x, x, (size_t)K * sizeof(*x));
	memset(work->y, 0xff, sizeof(work->y));
}

void adapter_finish(ARGS)
{
	const struct work *work = workspace;

	memcpy(y, work->y, (size_t)M * sizeof(*y));
}
#endif
