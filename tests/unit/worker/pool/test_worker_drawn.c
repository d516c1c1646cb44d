/* SPDX-License-Identifier: Apache-2.0 */
/* points drawn in a domain, and the pool that answers there */
#include "worker_fixture.h"

#include "worker/pool/drawn.h"

static void draw(struct kl_drawn *out, struct fixture *fixture, const struct kl_pool *pool,
		 uint64_t seed)
{
	struct kl_key master;

	kl_key_master(&master, seed);
	assert_ok(kl_drawn_make(out, &fixture->job, pool, &master));
}

static bool is_listed(const struct fixture *fixture, const struct kl_point *pt)
{
	for (size_t i = 0; i < fixture->job.npoint; i++)
		if (!memcmp(pt->dim, fixture->point[i].dim, 3 * sizeof(*pt->dim)))
			return true;
	return false;
}

static int64_t volume(const struct kl_point *pt)
{
	return pt->dim[0] * pt->dim[1] * pt->dim[2];
}

static void points_lie_in_the_domain(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;

	fx_search(fixture, "[\"M >= 1\", \"N % 2 == 1\", \"K <= 100 && K >= M\"]");
	assert_ok(kl_pool_open(&pool, &fixture->job));
	assert_true(kl_pool_cost(pool, &fixture->point[0]) > 0);
	for (uint64_t seed = 1; seed <= 40; seed++) {
		KL_AUTO(kl_drawn_release) struct kl_drawn drawn = { .job.npoint = 0 };

		draw(&drawn, fixture, pool, seed);
		assert_int_equal(drawn.job.npoint, KL_DRAWN_POINTS);
		for (size_t i = 0; i < drawn.job.npoint; i++) {
			const struct kl_point *pt = &drawn.job.point[i];

			assert_true(pt->drawn && !pt->perf && !is_listed(fixture, pt));
			assert_true(pt->dim[0] >= 1 && pt->dim[1] % 2 == 1);
			assert_true(pt->dim[2] <= 100 && pt->dim[2] >= pt->dim[0]);
			assert_int_equal(pt->arg[0].value, pt->dim[0]);
			assert_int_equal(pt->arg[4].extent[0], pt->dim[2]);
			assert_int_equal(pt->arg[4].extent[1], pt->dim[1]);
			/* a pair: the larger one first */
			if (i % 2)
				assert_true(volume(pt) <= 64 * 64 * 64 / 64);
			assert_true(volume(pt) <= 64 * 64 * 64);
		}
	}
}

static void each_run_has_its_own(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(kl_drawn_release) struct kl_drawn first = { .job.npoint = 0 },
						  same = { .job.npoint = 0 };
	KL_AUTO(kl_drawn_release) struct kl_drawn other = { .job.npoint = 0 };
	size_t equal = 0;

	fx_search(fixture, "[\"M >= 1\"]");
	assert_ok(kl_pool_open(&pool, &fixture->job));
	draw(&first, fixture, pool, 5);
	draw(&same, fixture, pool, 5);
	draw(&other, fixture, pool, 6);
	for (size_t i = 0; i < KL_DRAWN_POINTS; i++) {
		assert_memory_equal(first.job.point[i].dim, same.job.point[i].dim, 24);
		equal += !memcmp(first.job.point[i].dim, other.job.point[i].dim, 24);
	}
	assert_true(equal < KL_DRAWN_POINTS / 2);
}

static void a_closed_domain_has_none(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(kl_drawn_release) struct kl_drawn none = { .job.npoint = 0 },
						  empty = { .job.npoint = 0 };

	assert_ok(kl_pool_open(&pool, &fixture->job));
	draw(&none, fixture, pool, 1); /* the job has no domain */
	assert_int_equal(none.job.npoint, 0);
	fx_search(fixture, "[\"M == 64\", \"N == 64 && K == 64\"]");
	draw(&empty, fixture, pool, 1);
	assert_int_equal(empty.job.npoint, 0);
}

static size_t count(const struct kl_pool *pool, const struct kl_point *pt, const char *band)
{
	size_t n = 0;

	for (size_t i = 0; i < kl_pool_size(pool); i++) {
		const struct kl_member *member = kl_pool_get(pool, i);

		n += member->point == pt &&
		     (band ? !strncmp(member->band, band, strlen(band)) : member->further);
	}
	return n;
}

static void drawn_points_have_a_few_members(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_drawn_release) struct kl_drawn drawn = { .job.npoint = 0 };
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL, *own = NULL;
	size_t further = 0;

	fx_search(fixture, "[\"M >= 1\"]");
	json_array_append_new(fixture->job.exact,
			      fx_json("{\"A\":{\"ints\":[-4,4]},\"B\":{\"ints\":[0,1]}}"));
	assert_ok(kl_pool_open(&pool, &fixture->job));
	draw(&drawn, fixture, pool, 3);
	assert_ok(kl_pool_make_own(&own, &drawn.job, NULL));
	for (size_t i = 0; i < drawn.job.npoint; i++) {
		const struct kl_point *pt = &drawn.job.point[i];

		assert_int_equal(count(own, pt, "noise"), 1);
		assert_int_equal(count(own, pt, "exact"), 1);
		assert_int_equal(count(own, pt, KL_POOL_TWIN), 0);
		assert_in_range(count(own, pt, NULL), 0, i % 2 ? 2 : 7);
		further += count(own, pt, NULL);
	}
	assert_true(further >= 12);
	/* nothing of it stays on disk */
	for (int i = 0; i < 2; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;

		assert_ok(kl_fs_list(&names, fixture->job.pool));
		for (size_t k = 0; k < names.n; k++)
			assert_null(strstr(names.v[k], "own"));
	}
}

/* The bound of `index` is an expression over the dims. */
/* As where the candidate fails at a listed point while a thread makes the pool. */
static void a_pool_that_is_not_wanted_is_given_up(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_drawn_release) struct kl_drawn drawn = { .job.npoint = 0 };
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL, *own = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	const atomic_bool stop = true;

	fx_search(fixture, "[\"M >= 1\"]");
	assert_ok(kl_pool_open(&pool, &fixture->job));
	draw(&drawn, fixture, pool, 3);
	assert_int_equal(kl_pool_make_own(&own, &drawn.job, &stop), KL_EINTR);
	assert_null(own);
	assert_ok(kl_fs_list(&names, fixture->job.pool));
	for (size_t i = 0; i < names.n; i++)
		assert_null(strstr(names.v[i], "own-"));
}

static void indices_stay_in_bounds(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_drawn_release) struct kl_drawn drawn = { .job.npoint = 0 };
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL, *own = NULL;

	json_decref(fixture->job.arg[4].fill);
	fixture->job.arg[4].fill = fx_json(
		"{\"index\":{\"case0\":64,\"also0\":1,\"also1\":19,\"expr\":\"N\"}}");
	fixture->job.arg[4].dtype = KL_I32;
	fx_search(fixture, "[\"N >= 2\"]");
	fx_oracle(fixture,
		  "void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const int32_t *B,"
		  " kl_real *C) { for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) {"
		  " kl_real s = 0; for (int64_t k = 0; k < K; k++) s += A[i*K+k] * B[k*N+j];"
		  " C[i*N+j] = s; } }");
	json_array_clear(fixture->job.exact);
	assert_ok(kl_pool_open(&pool, &fixture->job));
	draw(&drawn, fixture, pool, 8);
	assert_ok(kl_pool_make_own(&own, &drawn.job, NULL));
	for (size_t i = 0; i < kl_pool_size(own); i++) {
		const struct kl_member *member = kl_pool_get(own, i);
		const int32_t *values = member->input[4];
		int64_t n = kl_point_elements(member->point, 4);

		for (int64_t k = 0; k < n; k++)
			assert_true(values[k] >= 0 && values[k] < member->point->dim[1]);
	}
}

/* As a replay has it: the same dims, another name. */
static void one_point_again(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(kl_drawn_release) struct kl_drawn drawn = { .job.npoint = 0 },
						  again = { .job.npoint = 0 };
	const struct kl_point *of;

	fx_search(fixture, "[\"M >= 1\"]");
	assert_ok(kl_pool_open(&pool, &fixture->job));
	draw(&drawn, fixture, pool, 3);
	of = &drawn.job.point[4];
	assert_ok(kl_drawn_again(&again, &drawn.job, &of, 1));
	assert_int_equal(again.job.npoint, 1);
	assert_string_equal(again.job.point[0].id, "drawn0");
	assert_memory_equal(again.job.point[0].dim, of->dim, 24);
	assert_memory_equal(again.job.point[0].arg, of->arg, sizeof(of->arg));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_lie_in_the_domain),
		cmocka_unit_test(each_run_has_its_own),
		cmocka_unit_test(a_closed_domain_has_none),
		cmocka_unit_test(drawn_points_have_a_few_members),
		cmocka_unit_test(a_pool_that_is_not_wanted_is_given_up),
		cmocka_unit_test(indices_stay_in_bounds),
		cmocka_unit_test(one_point_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
