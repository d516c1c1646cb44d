/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "event/speed.h"

static void words(void **state)
{
	static const struct { int64_t lo, hi, aa; const char *word; bool not_slower, slower; } t[] = {
		{ 1020000, 1050000, 1000, "fast", true, false },
		{ 1005000, 1050000, 1000, "ambiguous", true, false },	/* the interval reaches into 1 % */
		{ 1020000, 1050000, 10000, "ambiguous", true, false },	/* 3 A/A = 3 % */
		{ 1040000, 1050000, 10000, "fast", true, false },
		{ 995000, 1005000, 1000, "same", true, false },
		{ 970000, 985000, 1000, "slow", false, false },	/* 1.5 % to 3 %: it does not say */
		{ 960000, 975000, 1000, "slow", false, true },
		{ 960000, 975000, 10000, "ambiguous", false, false },
		{ 985000, 1005000, 1000, "ambiguous", true, false },	/* 1.5 % slower is not yet slower */
		{ 975000, 1005000, 1000, "ambiguous", false, false },
		{ 0, 9000000, 1000, "ambiguous", false, false },
		{ 970000, 1030000, 33000, "same", true, false },
		{ 3200000, 8100000, 5346172, "ambiguous", true, false },	/* noise hides even this */
		{ 0, 0, 1000, "slow", false, false },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(t); i++) {
		struct kl_speed s = { 1000000, t[i].lo, t[i].hi, t[i].aa };

		assert_string_equal(kl_speed_word(&s), t[i].word);
		assert_int_equal(kl_speed_not_slower(&s), t[i].not_slower);
		assert_int_equal(kl_speed_slower(&s), t[i].slower);
	}
}

static json_t *point(int64_t ns, int64_t ratio)
{
	return json_pack("{s:I, s:{s:i,s:i}, s:[{s:s, s:I, s:I, s:I}]}", "ns", (json_int_t)ns,
			 "aa", "lo_ppm", 998000, "hi_ppm", 1001000,
			 "vs", "what", "parent", "ratio_ppm", (json_int_t)ratio,
			 "lo_ppm", (json_int_t)(ratio - 1000), "hi_ppm", (json_int_t)(ratio + 1000));
}

static void cases_are_weighted_and_none_may_regress(void **state)
{
	KL_AUTO(json_decrefp) json_t *r = json_pack("{s:[o,o]}", "points",
		point(1000, 4000000), point(3000, 900000));
	const int64_t weight[] = { 3, 1 };
	KL_AUTO(json_decrefp) json_t *p = kl_speed_profile(r, weight, 2, "digest");
	const json_t *v = json_array_get(json_object_get(p, "vs"), 0);

	assert_int_equal(kl_json_int_or(p, "ns", 0), 1500);
	assert_int_equal(kl_json_int_or(p, "aa_ppm", 0), 2000);
	/* 4^(3/4) * 0.9^(1/4) = 2.7549 */
	assert_in_range(kl_json_int_or(v, "ratio_ppm", 0), 2754000, 2756000);
	assert_string_equal(kl_json_str_or(v, "verdict", ""), "ambiguous");
	assert_string_equal(kl_json_str_or(v, "surface", ""), "digest");
	assert_null(kl_speed_profile(r, weight, 1, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(cases_are_weighted_and_none_may_regress),
	};

	return cmocka_run_group_tests_name("gate/speed", tests, NULL, NULL);
}
