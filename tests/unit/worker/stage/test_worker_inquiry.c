/* SPDX-License-Identifier: Apache-2.0 */
/* Which class a wrong answer gets, whichever input is met first. */
#include "worker_fixture.h"

#include "worker/stage/inquiry.h"

#define ORACLE                                                   \
	"void oracle(int64_t n, const kl_real *x, kl_real *y)\n" \
	"{ for (int64_t i = 0; i < n; i++) y[i] = 3 * x[i]; }"

static size_t index_of(const struct fixture *fixture, const struct kl_pool *pool, const char *band)
{
	struct kl_member of = { .point = fixture->point };
	size_t i;

	snprintf(of.band, sizeof(of.band), "%s", band);
	i = kl_pool_find(pool, &of);
	assert_true(i != KL_POOL_NONE);
	return i;
}

/* A kernel's body, the class, and the band whose answer is reported. */
struct wrong {
	const char *name, *body, *class, *band;
};

static void assert_class(const struct wrong *wrong)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_vector(1024, KL_RULE_NOISE, ORACLE);
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(kl_inquiry_release) struct kl_inquiry inquiry = { .pool = NULL };
	KL_AUTO(kl_freep) char *body = NULL;
	struct kl_round round = { .point = fixture->point, .n = 2, .where = "" };
	size_t member[2];
	float first;

	fixture->job.seed = 11;
	fixture->job.further = true;
	for (int i = 0; i < KL_VALUES; i++)
		fixture->job.values.undefined[i] = true;
	assert_ok(kl_pool_open(&pool, &fixture->job));
	member[0] = index_of(fixture, pool, "reversed");
	member[1] = index_of(fixture, pool, "noise");
	round.member = member;
	assert_true(kl_pool_get(pool, member[0])->further);
	first = ((const float *)kl_pool_get(pool, member[0])->input[1])[0];
	body = kl_asprintf("void k(int64_t n, const float *x, float *y)\n"
			   "{ int reversed = x[0] == %af;\n"
			   "  for (int64_t i = 0; i < n; i++) y[i] = 3 * x[i];\n"
			   "  %s }",
			   (double)first, wrong->body);
	fx_candidate(fixture, wrong->name, body);
	kl_inquiry_init(&inquiry, &fixture->job, pool);
	assert_ok(kl_inquiry_round(&inquiry, &round));
	assert_non_null(inquiry.class);
	assert_string_equal(inquiry.class, wrong->class);
	assert_string_equal(kl_json_str_or(inquiry.failure, "band", ""), wrong->band);
	assert_contains(inquiry.message, wrong->band);
	assert_string_equal(kl_pool_get(pool, inquiry.failed.member)->band, wrong->band);
}

static void a_further_band_does_not_hide_the_class(void **state)
{
	static const struct wrong kernels[] = {
		{ "edge", "y[n - 1] += 1;", "wrong-edge", "noise" },
		{ "all", "for (int64_t i = 0; i < n; i++) y[i] += 1;", "wrong-all", "noise" },
		{ "more", "y[reversed ? n / 2 : 0] += 1;", "wrong-edge", "noise" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(kernels); i++)
		assert_class(&kernels[i]);
}

/* The noise draw is right, or gives no answer: the answer to the further band is reported. */
static void an_error_in_a_further_band_alone_is_wrong_all(void **state)
{
	static const struct wrong kernels[] = {
		{ "alone", "if (reversed) y[n - 1] += 1;", "wrong-all", "reversed" },
		{ "faults", "if (!reversed) __builtin_trap(); y[n - 1] += 1;", "wrong-all",
		  "reversed" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(kernels); i++)
		assert_class(&kernels[i]);
}

/* One element does not show that it was kept from the call before; a larger answer does. */
static void a_kept_answer_of_one_element_is_a_cheat(void **state)
{
	static const char body[] =
		"static const float *from; static int64_t of; static float kept[1024];\n"
		"void k(int64_t n, const float *x, float *y) {\n"
		"  for (int64_t i = 0; i < n && (from != x || of != n); i++) kept[i] = 3 * x[i];\n"
		"  for (int64_t i = 0; i < n; i++) y[i] = kept[i];\n"
		"  from = x; of = n; }";
	KL_AUTO(fx_freep) struct fixture *fixture = fx_vector(1024, KL_RULE_NOISE, ORACLE);
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(kl_inquiry_release) struct kl_inquiry inquiry = { .pool = NULL };
	struct kl_point *one = fx_point(fixture, "also0", false);
	struct kl_round round = { .point = one, .where = "" };
	size_t member[8];

	one->arg[0].value = 1;
	fx_extent(one, 1, 1, 1, 0);
	fx_extent(one, 2, 1, 1, 0);
	fixture->job.seed = 11;
	fixture->job.further = true;
	assert_ok(kl_pool_open(&pool, &fixture->job));
	for (size_t i = 0; i < kl_pool_size(pool) && round.n < 8; i++)
		if (kl_pool_get(pool, i)->point == one && !kl_pool_get(pool, i)->odd)
			member[round.n++] = i;
	round.member = member;
	fx_candidate(fixture, "keeps", body);
	kl_inquiry_init(&inquiry, &fixture->job, pool);
	assert_ok(kl_inquiry_round(&inquiry, &round));
	assert_non_null(inquiry.class);
	assert_string_equal(inquiry.class, "cheat");
	assert_contains(inquiry.message, "at 'case0'");
	assert_contains(inquiry.message, "the right answer to an earlier input");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_further_band_does_not_hide_the_class),
		cmocka_unit_test(an_error_in_a_further_band_alone_is_wrong_all),
		cmocka_unit_test(a_kept_answer_of_one_element_is_a_cheat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
