/* SPDX-License-Identifier: Apache-2.0 */
/* further bands: which a fill allows, what they draw, and which of them can be judged by */
#include "worker_fixture.h"

#include <math.h>

#include "worker/pool/further.h"
#include "worker/pool/pool.h"

#define SIDE 64

static bool lists(const struct fixture *fixture, size_t point, const char *band)
{
	char bands[KL_FURTHER_MAX][32];
	size_t n = kl_further_list(bands, &fixture->job, &fixture->point[point]);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(bands[i], band))
			return true;
	return false;
}

static size_t count_bands(const struct fixture *fixture, size_t point)
{
	char bands[KL_FURTHER_MAX][32];

	return kl_further_list(bands, &fixture->job, &fixture->point[point]);
}

/* A gemm of which the worker may draw any value, replayed from a seed: it has all bands. */
static struct fixture *searched(void)
{
	struct fixture *fixture = fx_gemm();

	fx_search(fixture, "[]");
	fixture->job.seed = 7;
	return fixture;
}

static void set_fill(struct fixture *fixture, size_t arg, const char *fill)
{
	json_decref(fixture->job.arg[arg].fill);
	fixture->job.arg[arg].fill = fx_json(fill);
}

static void fills_are_promises(void **state)
{
	static const char *const values[] = { "graded-M", "wide",  "large", "small",
					      "denormal", "zeros", "nan",   "inf" };
	static const char *const orders[] = { "constant", "ties", "sorted", "reversed" };
	static const struct {
		const char *fill;
		bool sweep, values, orders;
	} rows[] = {
		{ "{\"normal\":[0.0,1.0]}", true, true, true },
		{ "{\"uniform\":[0.0,1.0]}", true, true, true },
		{ "{\"cauchy\":true}", true, true, true },
		{ "{\"ints\":[-2,2]}", true, false, true },
		{ "{\"choice\":[1.0,2.0]}", true, false, true },
		{ "{\"const\":1.0}", true, false, false },
		{ "{\"one-hot\":true}", true, false, false },
		{ "{\"normal\":[0.0,1.0],\"map\":\"sigmoid\"}", false, false, true },
		{ "{\"normal\":[0.0,1.0],\"unit\":\"last\"}", false, false, false },
		{ "{\"normal\":[0.0,1.0],\"running\":4}", false, false, false },
		{ "{\"repeat\":{\"normal\":[0.0,1.0]}}", true, false, false },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = searched();

		for (size_t arg = 3; arg < 5; arg++) {
			set_fill(fixture, arg, rows[i].fill);
			fixture->job.arg[arg].sweep = rows[i].sweep;
		}
		for (size_t k = 0; k < KL_ARRAY_SIZE(values); k++)
			if (lists(fixture, 0, values[k]) != rows[i].values)
				fail_msg("%s: %s", rows[i].fill, values[k]);
		for (size_t k = 0; k < KL_ARRAY_SIZE(orders); k++)
			if (lists(fixture, 0, orders[k]) != rows[i].orders)
				fail_msg("%s: %s", rows[i].fill, orders[k]);
	}
}

static void a_contract_narrows_them(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = searched();

	/* not scaled, but NaN can stand in it */
	fixture->job.arg[3].sweep = fixture->job.arg[4].sweep = false;
	assert_false(lists(fixture, 0, "large") || lists(fixture, 0, "graded-M") ||
		     lists(fixture, 0, "denormal"));
	assert_true(lists(fixture, 0, "nan") && lists(fixture, 0, "zeros"));
	fixture->job.arg[4].sweep = true;
	assert_true(lists(fixture, 0, "graded-N") && lists(fixture, 0, "graded-K"));
	assert_false(lists(fixture, 0, "graded-M"));
	fixture->job.values.undefined[KL_VALUE_NAN] = true;
	assert_false(lists(fixture, 0, "nan"));
	assert_true(lists(fixture, 0, "inf") && lists(fixture, 0, "denormal"));
	fixture->job.values.undefined[KL_VALUE_INF] = true;
	fixture->job.values.undefined[KL_VALUE_DENORMAL] = true;
	assert_false(lists(fixture, 0, "inf") || lists(fixture, 0, "denormal"));
	/* a dim of less than 8 is not graded */
	assert_false(lists(fixture, 1, "graded-N"));
	fixture->job.further = false;
	assert_int_equal(count_bands(fixture, 0), 0);
}

static void no_nan_where_values_are_ordered(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = searched();

	fixture->rule[0] = (struct kl_rule){ .kind = KL_RULE_MULTISET, .out = 5, .of = 3 };
	set_fill(fixture, 4, NULL);
	fixture->job.arg[4].kind = KL_ARG_OUT;
	fixture->job.arg[4].dtype = KL_I32;
	fixture->rule[0].indices = 4;
	assert_false(lists(fixture, 0, "nan"));
	assert_true(lists(fixture, 0, "inf"));
	/* whole numbers as an answer */
	fixture->rule[0] = (struct kl_rule){ .kind = KL_RULE_EXACT, .out = 5 };
	assert_false(lists(fixture, 0, "inf"));
}

static const struct kl_member *find(const struct kl_pool *pool, const char *band)
{
	for (size_t i = 0; i < kl_pool_size(pool); i++)
		if (!strcmp(kl_pool_get(pool, i)->point->id, "case0") &&
		    !strcmp(kl_pool_get(pool, i)->band, band))
			return kl_pool_get(pool, i);
	fail_msg("no member %s", band);
	return NULL;
}

/* Least and largest magnitude of row `i` (or column, with `across`) of an input. */
static void row_range(float *least, float *most, const float *values, size_t i, bool across)
{
	*least = INFINITY;
	*most = 0;
	for (size_t k = 0; k < SIDE; k++) {
		float value = fabsf(across ? values[k * SIDE + i] : values[i * SIDE + k]);

		*least = fminf(*least, value);
		*most = fmaxf(*most, value);
	}
}

static void count_large(size_t *large, const float *values, bool across)
{
	*large = 0;
	for (size_t i = 0; i < SIDE; i++) {
		float least, most;

		row_range(&least, &most, values, i, across);
		*large += most > 64;
		/* a slice is large or ordinary as a whole */
		assert_true(most > 64 || most < 8);
	}
}

static void graded_slices_are_few(const struct kl_pool *pool)
{
	size_t large;

	count_large(&large, find(pool, "graded-M")->input[3], false);
	assert_in_range(large, 1, 5);
	count_large(&large, find(pool, "graded-M")->input[4], false);
	assert_int_equal(large, 0);
	count_large(&large, find(pool, "graded-N")->input[4], true);
	assert_in_range(large, 1, 5);
	assert_int_equal(find(pool, "graded-M")->graded[5], 1);
	assert_int_equal(find(pool, "graded-N")->graded[5], 2);
	assert_int_equal(find(pool, "graded-K")->graded[5], 0);
}

static float most_of(const float *values)
{
	float most = 0;

	for (size_t i = 0; i < SIDE * SIDE; i++)
		most = fmaxf(most, fabsf(values[i]));
	return most;
}

static size_t count_odd(const float *values, bool nan)
{
	size_t n = 0;

	for (size_t i = 0; i < SIDE * SIDE; i++)
		n += (nan ? isnan(values[i]) : isinf(values[i])) != 0;
	return n;
}

static bool is_ordered(const float *values, bool reversed)
{
	for (size_t i = 0; i < SIDE; i++)
		for (size_t k = 1; k < SIDE; k++) {
			float before = values[i * SIDE + k - 1], after = values[i * SIDE + k];

			if (reversed ? before < after : before > after)
				return false;
		}
	return true;
}

static void bands_are_what_they_are_called(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = searched();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	const struct kl_member *member;

	assert_ok(kl_pool_open(&pool, &fixture->job));
	graded_slices_are_few(pool);
	member = find(pool, "large");
	assert_true(most_of(member->input[3]) > 0x1p20f || most_of(member->input[4]) > 0x1p20f);
	member = find(pool, "small");
	assert_true(most_of(member->input[3]) < 0x1p-20f || most_of(member->input[4]) < 0x1p-20f);
	member = find(pool, "denormal");
	assert_true(most_of(member->input[3]) < 0x1p-125f || most_of(member->input[4]) < 0x1p-125f);
	member = find(pool, "zeros");
	assert_true(most_of(member->input[3]) == 0 || most_of(member->input[4]) == 0);
	member = find(pool, "nan");
	assert_int_equal(count_odd(member->input[3], true) + count_odd(member->input[4], true), 1);
	assert_int_equal(member->odd, KL_ODD_NAN);
	member = find(pool, "inf");
	assert_int_equal(count_odd(member->input[3], false) + count_odd(member->input[4], false),
			 1);
	assert_int_equal(member->odd, KL_ODD_INF);
	member = find(pool, "sorted");
	assert_true(is_ordered(member->input[3], false) || is_ordered(member->input[4], false));
	member = find(pool, "reversed");
	assert_true(is_ordered(member->input[3], true) || is_ordered(member->input[4], true));
	member = find(pool, "wide");
	assert_true(member->further && member->odd == KL_ODD_NONE);
	assert_true(most_of(member->input[3]) > 500 || most_of(member->input[4]) > 500);
}

/* Another process of the session opens the same pool; a live one has a few bands, at random. */
static void a_live_pool_chooses(void **state)
{
	bool differ = false;
	char first[KL_FURTHER_MAX][32];

	for (int i = 0; i < 6; i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = searched();
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL, *again = NULL;
		size_t n = 0, at = 0;

		fixture->job.seed = 0;
		assert_ok(kl_pool_open(&pool, &fixture->job));
		assert_ok(kl_pool_open(&again, &fixture->job));
		assert_int_equal(kl_pool_size(pool), kl_pool_size(again));
		for (size_t k = 0; k < kl_pool_size(pool); k++) {
			const struct kl_member *member = kl_pool_get(pool, k);

			assert_string_equal(member->band, kl_pool_get(again, k)->band);
			if (!member->further)
				continue;
			/* too few elements at also0 to judge by */
			assert_string_not_equal(member->point->id, "also0");
			n += !strcmp(member->point->id, "case0");
			if (n == 1 && !i)
				snprintf(first[at++], 32, "%s", member->band);
			else if (n == 1)
				differ |= strcmp(first[0], member->band) != 0;
		}
		assert_in_range(n, 1, 2);
	}
	assert_true(differ);
}

/* The oracle overflows, traps or says what its float form does not: nobody is judged by that. */
static void oracles_bound_what_is_drawn(void **state)
{
	static const struct {
		const char *body, *never;
	} rows[] = {
		{ "y = x * x * x * x", NULL },
		{ "y = x != x ? 1 / (int)(x != x) - 1, __builtin_trap(), 0 : x", "nan" },
		{ "y = isinf(x) ? (__builtin_trap(), 0) : x", "inf" },
		{ "y = fabs(x) > 1e30 ? 0 * (x / 0) : x", NULL },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = fx_new();
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
		KL_AUTO(kl_freep) char *body = kl_asprintf(
			"void oracle(const kl_real *in, kl_real *out) { for (int i = 0; i < %d; i++)"
			" { kl_real x = in[i], y; %s; out[i] = y; } }",
			SIDE * SIDE, rows[i].body);

		fx_arg(fixture, "x", KL_ARG_IN, KL_F32, "{\"normal\":[0.0,1.0]}");
		fx_arg(fixture, "y", KL_ARG_OUT, KL_F32, NULL);
		fixture->job.arg[0].sweep = true;
		fx_point(fixture, "case0", true);
		fx_extent(&fixture->point[0], 0, 2, SIDE, SIDE);
		fx_extent(&fixture->point[0], 1, 2, SIDE, SIDE);
		fx_rule(fixture, KL_RULE_NOISE, 1);
		fixture->job.further = true;
		fixture->job.seed = 3;
		fx_oracle(fixture, body);
		assert_ok(kl_pool_open(&pool, &fixture->job));
		for (size_t k = 0; k < kl_pool_size(pool); k++) {
			const struct kl_member *member = kl_pool_get(pool, k);
			const double *truth = member->truth[1];

			assert_true(!rows[i].never || strcmp(member->band, rows[i].never));
			for (size_t n = 0; member->odd == KL_ODD_NONE && n < SIDE * SIDE; n++)
				assert_true(isfinite((float)truth[n]));
		}
		/* as large as its fourth power can be */
		if (!i)
			assert_true(most_of(find(pool, "large")->input[0]) > 0x1p20f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_are_promises),
		cmocka_unit_test(a_contract_narrows_them),
		cmocka_unit_test(no_nan_where_values_are_ordered),
		cmocka_unit_test(bands_are_what_they_are_called),
		cmocka_unit_test(a_live_pool_chooses),
		cmocka_unit_test(oracles_bound_what_is_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
