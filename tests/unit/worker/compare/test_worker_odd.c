/* SPDX-License-Identifier: Apache-2.0 */
/* answers that are not finite, and answers that are judged slice by slice */
#include "worker_fixture.h"

#include <math.h>

#include "base/rng.h"
#include "worker/compare/compare.h"

#define R 32
#define C 20
#define N (R * C)

/* One float output y[R,C]: truth, honest answer and an answer. */
struct one {
	struct fixture *f;
	struct kl_member m;
	double truth[N];
	float honest[N], got[N];
	struct kl_mismatch x;
};

static struct one *one_new(enum kl_rule_kind kind, enum kl_odd odd)
{
	struct one *one = kl_calloc(1, sizeof(*one));
	struct kl_rule *rule;
	struct kl_rng rng;

	one->f = fx_new();
	fx_arg(one->f, "y", KL_ARG_OUT, KL_F32, NULL);
	one->m.point = fx_point(one->f, "also0", false);
	fx_extent(&one->f->point[0], 0, 2, R, C);
	rule = fx_rule(one->f, kind, 0);
	rule->max = 4;
	rule->rms = 2;
	one->m.truth[0] = one->truth;
	one->m.honest[0] = one->honest;
	one->m.further = true;
	one->m.odd = odd;
	kl_rng_seed(&rng, 5);
	for (int i = 0; i < N; i++) {
		one->truth[i] = (float)(1 + kl_rng_uniform(&rng));
		one->honest[i] = (float)one->truth[i] + (i & 1 ? 0x1p-22f : -0x1p-22f);
		one->got[i] = (float)one->truth[i];
	}
	return one;
}

static void one_free(struct one *one)
{
	fx_free(one->f);
	free(one);
}
KL_DEFINE_CLEANUP(struct one *, one_free)

static int judge(struct one *one)
{
	const void *got[KL_MAX_ARGS] = { one->got };

	return kl_compare(&one->x, &one->f->job, &one->m, got);
}

#define assert_passes(o) assert_int_equal(judge(o), 0)
#define assert_fails(o, text)                              \
	do {                                               \
		assert_int_equal(judge(o), KL_ENO);        \
		assert_non_null(strstr((o)->x.why, text)); \
	} while (0)

static void nan_must_not_be_swallowed(void **state)
{
	static const enum kl_rule_kind kinds[] = { KL_RULE_NOISE, KL_RULE_ELEMENTWISE,
						   KL_RULE_REL_L2 };

	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++) {
		KL_AUTO(one_freep) struct one *one = one_new(kinds[i], KL_ODD_NAN);

		one->f->rule[0].ulps = 1;
		one->f->rule[0].tol = 1e-3;
		one->truth[70] = NAN;
		one->honest[70] = NAN;
		assert_fails(one, "a number where the truth is nan");
		assert_int_equal(one->x.index[0] * C + one->x.index[1], 70);
		/* it is wrong for a value, not at an edge */
		assert_false(one->x.edge_only);
		one->got[70] = INFINITY;
		assert_fails(one, "a number where the truth is nan");
		one->got[70] = NAN;
		assert_passes(one);
		/* the others are judged as ever */
		one->got[71] += 1;
		assert_int_equal(judge(one), KL_ENO);
		assert_int_equal(one->x.index[0] * C + one->x.index[1], 71);
	}
}

/* Blocks whose elements are all finite are settled together; one at the end must still be seen. */
static void nan_in_the_last_element_is_seen(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_NOISE, KL_ODD_NAN);

	one->truth[N - 1] = one->honest[N - 1] = NAN;
	assert_fails(one, "a number where the truth is nan");
	assert_int_equal(one->x.index[0] * C + one->x.index[1], N - 1);
	one->got[N - 1] = NAN;
	assert_passes(one);
	one->got[N - 2] += 1;
	assert_int_equal(judge(one), KL_ENO);
	assert_int_equal(one->x.index[0] * C + one->x.index[1], N - 2);
}

static void infinities_stay_not_finite(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_NOISE, KL_ODD_INF);

	one->truth[3] = -INFINITY;
	one->honest[3] = -INFINITY;
	one->truth[9] = one->honest[9] = NAN; /* the difference of two */
	one->got[9] = NAN;
	assert_fails(one, "finite where the truth is infinite");
	one->got[3] = -INFINITY;
	assert_passes(one);
	one->got[3] = NAN; /* a compensated sum makes this of it */
	one->got[9] = INFINITY;
	assert_passes(one);
	one->got[9] = 4;
	assert_fails(one, "a number where the truth is nan");
}

static void strays_are_few(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_NOISE, KL_ODD_NAN);

	for (int i = 0; i < C; i++)
		one->truth[i] = one->honest[i] = one->got[i] = NAN;
	for (int i = 0; i < N / 4 * 3; i++)
		one->got[i] = NAN;
	assert_passes(one);
	for (int i = 0; i < N; i++)
		one->got[i] = NAN;
	assert_fails(one, "not finite where the truth is finite, in 620 of 620");
	/* the input shows nowhere: the kernel may have multiplied it by zero */
	for (int i = 0; i < C; i++)
		one->truth[i] = one->honest[i] = 1;
	assert_passes(one);
	one->got[3] = 2;
	assert_int_equal(judge(one), KL_ENO);
	/* not even one where all inputs are finite */
	one->m.odd = KL_ODD_NONE;
	for (int i = 0; i < N; i++)
		one->got[i] = (float)one->truth[i];
	one->got[C + 1] = NAN;
	assert_int_equal(judge(one), KL_ENO);
	assert_int_equal(one->x.index[0] * C + one->x.index[1], C + 1);
}

static void plain_arithmetic_that_overflows_binds_nobody(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_NOISE, KL_ODD_NONE);
	const float answers[] = { 1.5f, 0, NAN, INFINITY };

	for (size_t i = 0; i < KL_ARRAY_SIZE(answers); i++) {
		one->honest[5] = INFINITY;
		one->got[5] = answers[i];
		one->truth[6] = INFINITY;
		one->got[6] = answers[i];
		assert_passes(one);
	}
	one->honest[5] = 1.5f;
	one->got[5] = INFINITY;
	assert_int_equal(judge(one), KL_ENO);
}

static void two_ulps_are_always_allowed(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_NOISE, KL_ODD_NONE);

	for (int i = 0; i < N; i++) {
		one->honest[i] = (float)one->truth[i];
		one->got[i] += i & 2 ? 0x1p-22f : 0;
	}
	assert_passes(one);
	one->got[12] += 0x1p-21f;
	assert_int_equal(judge(one), KL_ENO);
	one->got[12] = (float)one->truth[12];
	one->m.further = false;
	assert_int_equal(judge(one), KL_ENO);
}

/* Scale every 16th slice along `axis` by 2^20, and the honest errors with it. */
static void grade(struct one *one, int axis)
{
	one->m.graded[0] = axis + 1;
	for (int i = 0; i < N; i++) {
		int at = axis ? i % C : i / C;
		double scale = at % 16 ? 1 : 0x1p20;

		one->truth[i] *= scale;
		one->honest[i] *= (float)scale;
		one->got[i] = (float)one->truth[i];
	}
}

static void graded_slices_keep_their_digits(void **state)
{
	for (int axis = 0; axis < 2; axis++) {
		KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_NOISE, KL_ODD_NONE);
		int lost = 0;

		grade(one, axis);
		assert_passes(one);
		/* one exponent for all: what is small is rounded to 2^-10 */
		for (int i = 0; i < N; i++)
			one->got[i] = (float)(nearbyint(one->truth[i] * 0x1p10) * 0x1p-10);
		assert_fails(one, axis ? "slices of axis 1" : "slices of axis 0");
		assert_false(one->x.edge_only);
		/* fewer than half of the slices */
		for (int i = 0; i < N; i++) {
			int at = axis ? i % C : i / C;

			if (at >= (axis ? C : R) / 2)
				one->got[i] = (float)one->truth[i];
			else
				lost += one->got[i] != (float)one->truth[i];
		}
		assert_true(lost > N / 4);
		assert_passes(one);
		/* without grading, the rule's one group allows it */
		for (int i = 0; i < N; i++)
			one->got[i] = (float)(nearbyint(one->truth[i] * 0x1p10) * 0x1p-10);
		one->m.graded[0] = 0;
		assert_passes(one);
	}
}

static void zeros_of_either_sign_are_one(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_EXACT, KL_ODD_NONE);

	one->truth[4] = -0.0;
	one->got[4] = 0;
	assert_passes(one);
	one->m.further = false;
	assert_int_equal(judge(one), KL_ENO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nan_must_not_be_swallowed),
		cmocka_unit_test(nan_in_the_last_element_is_seen),
		cmocka_unit_test(infinities_stay_not_finite),
		cmocka_unit_test(strays_are_few),
		cmocka_unit_test(plain_arithmetic_that_overflows_binds_nobody),
		cmocka_unit_test(two_ulps_are_always_allowed),
		cmocka_unit_test(graded_slices_keep_their_digits),
		cmocka_unit_test(zeros_of_either_sign_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
