/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "event/speed.h"

/* comparisons with only the parent */
static struct kl_profile profile_of(struct kl_comparison *parent, int64_t aa)
{
	return (struct kl_profile){ .there = true, .aa_ppm = aa, .vs = { parent, 1 } };
}

static void words(void **state)
{
	static const struct {
		int64_t lo, hi, aa;
		enum kl_speed speed;
		bool not_slower, slower;
	} t[] = {
		{ 1020000, 1050000, 1000, KL_SPEED_FAST, true, false },
		/* the interval reaches into 1 % */
		{ 1005000, 1050000, 1000, KL_SPEED_AMBIGUOUS, true, false },
		/* 3 A/A = 3 % */
		{ 1020000, 1050000, 10000, KL_SPEED_AMBIGUOUS, true, false },
		{ 1040000, 1050000, 10000, KL_SPEED_FAST, true, false },
		{ 995000, 1005000, 1000, KL_SPEED_SAME, true, false },
		/* faster than 1, and by no more than noise */
		{ 1001000, 1008000, 1000, KL_SPEED_SAME, true, false },
		/* 1.5 % to 3 %: it does not say */
		{ 970000, 985000, 1000, KL_SPEED_SLOW, false, false },
		{ 960000, 975000, 1000, KL_SPEED_SLOW, false, true },
		{ 960000, 975000, 10000, KL_SPEED_AMBIGUOUS, false, false },
		/* 1.5 % slower is not yet slower */
		{ 985000, 1005000, 1000, KL_SPEED_AMBIGUOUS, true, false },
		{ 975000, 1005000, 1000, KL_SPEED_AMBIGUOUS, false, false },
		{ 0, 9000000, 1000, KL_SPEED_AMBIGUOUS, false, false },
		{ 970000, 1030000, 33000, KL_SPEED_SAME, true, false },
		/* the margin would let this pass, and noise is no proof */
		{ 970000, 1030000, 34000, KL_SPEED_AMBIGUOUS, false, false },
		{ 1200000, 1300000, 34000, KL_SPEED_FAST, true, false },
		/* noise hides even this */
		{ 3200000, 8100000, 5346172, KL_SPEED_AMBIGUOUS, false, false },
		{ 0, 0, 1000, KL_SPEED_SLOW, false, false },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(t); i++) {
		struct kl_comparison parent = {
			.what = "parent",
			.ratio.lo = t[i].lo,
			.ratio.hi = t[i].hi,
		};
		struct kl_profile profile = profile_of(&parent, t[i].aa);

		assert_int_equal(kl_speed_of(&parent, t[i].aa), t[i].speed);
		assert_int_equal(kl_speed_is_not_slower(&profile), t[i].not_slower);
		assert_int_equal(kl_speed_is_slower(&profile), t[i].slower);
	}
}

static void one_slow_case_decides(void **state)
{
	struct kl_comparison mean = { .what = "parent", .ratio.lo = 1200000, .ratio.hi = 1300000 };
	struct kl_comparison good = { .what = "parent", .ratio.lo = 1900000, .ratio.hi = 2000000 };
	struct kl_comparison bad = { .what = "parent", .ratio.lo = 900000, .ratio.hi = 950000 };
	struct kl_profile_point point[] = { { .vs = { &good, 1 } }, { .vs = { &bad, 1 } } };
	struct kl_profile profile = profile_of(&mean, 1000);

	assert_true(kl_speed_is_not_slower(&profile));
	profile.point = point;
	profile.npoint = 2;
	assert_false(kl_speed_is_not_slower(&profile));
	assert_true(kl_speed_is_slower(&profile));
	assert_int_equal(kl_speed_of_mean(&mean, 1000, true), KL_SPEED_AMBIGUOUS);
	assert_int_equal(kl_speed_of_mean(&mean, 1000, false), KL_SPEED_FAST);
	assert_int_equal(kl_speed_of_mean(&bad, 1000, true), KL_SPEED_SLOW);
}

static void nothing_is_said_without_a_parent(void **state)
{
	struct kl_comparison other = { .what = "openblas",
				       .ratio.lo = 1200000,
				       .ratio.hi = 1300000 };
	struct kl_profile profile = profile_of(&other, 1000);

	assert_false(kl_speed_is_not_slower(&profile));
	assert_false(kl_speed_is_slower(&profile));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(one_slow_case_decides),
		cmocka_unit_test(nothing_is_said_without_a_parent),
	};

	return cmocka_run_group_tests_name("event/speed", tests, NULL, NULL);
}
