/* SPDX-License-Identifier: Apache-2.0 */
/* How long a call may take, by what other calls took. */
#include "test.h"

#include "base/mem.h"
#include "worker/measure/time_limit.h"

#define MS 1000000ll

static struct kl_job *job_of(int64_t call_ms)
{
	static const int64_t dims[][2] = { { 64, 64 }, { 128, 64 }, { 4096, 4096 }, { 8192, 32 } };
	struct kl_job *job = kl_calloc(1, sizeof(*job));

	job->ndim = 2;
	job->npoint = KL_ARRAY_SIZE(dims);
	job->point = kl_calloc(job->npoint, sizeof(*job->point));
	job->call_ms = call_ms;
	for (size_t i = 0; i < job->npoint; i++)
		memcpy(job->point[i].dim, dims[i], sizeof(dims[i]));
	return job;
}

static void free_job(struct kl_job *job)
{
	free(job->point);
	free(job);
}

static void limits(void **state)
{
	static const struct {
		int64_t ns[4], call_ms;
		size_t at;
		int64_t limit;
	} cases[] = {
		/* nothing is known */
		{ { 0 }, 10000, 2, 10000 },
		{ { 0 }, 100, 2, 100 },
		/* its own calls, whatever others took */
		{ { 0, 0, 50 * MS }, 10000, 2, 1000 },
		{ { 900 * MS, 0, 50 * MS }, 10000, 2, 1000 },
		{ { 0, 0, 1000 }, 10000, 2, 500 },
		{ { 0, 0, 1000 }, 100, 2, 100 },
		{ { 0, 0, 900 * MS }, 10000, 2, 10000 },
		/* a smaller point: 64 * 64 times, and 64 times once more */
		{ { 1000 }, 100000, 2, 20 * 262144 / 1000 + 1 },
		{ { 1000 }, 1000, 2, 1000 },
		/* the one that predicts most: 2 * 2 times 100 ms, not 1 us */
		{ { 100 * MS }, 100000, 1, 8000 },
		/* a larger one, and one that is larger in one dim, predict nothing */
		{ { 0, 0, 1000 }, 10000, 0, 10000 },
		{ { 0, 0, 0, 1000 }, 10000, 2, 10000 },
		{ { 0, 1000, 0, 0 }, 10000, 3, 10000 },
		{ { 10000, 1000 }, 100000, 2, 20 * 2621440 / 1000 + 1 },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(cases); i++) {
		struct kl_job *job = job_of(cases[i].call_ms);
		int64_t limit = kl_time_limit(job, &job->point[cases[i].at], cases[i].ns);

		if (limit != cases[i].limit)
			fail_msg("%zu: %lld instead of %lld", i, (long long)limit,
				 (long long)cases[i].limit);
		free_job(job);
	}
}

static void several_calls(void **state)
{
	struct kl_job *job = job_of(1000);

	assert_int_equal(kl_time_limit_of(job, 0, 4), 4000);
	assert_int_equal(kl_time_limit_of(job, -1, 4), 4000);
	assert_int_equal(kl_time_limit_of(job, 1000, 4), 500);
	assert_int_equal(kl_time_limit_of(job, 10.0 * MS, 4), 800);
	assert_int_equal(kl_time_limit_of(job, 1e30, 4), 4000);
	free_job(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits),
		cmocka_unit_test(several_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
