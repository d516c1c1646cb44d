/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "event/profile.h"

static json_t *json(const char *text)
{
	json_t *value = NULL;

	assert_ok(kl_json_parse(&value, text, strlen(text)));
	return value;
}

static json_t *point(int64_t ns, int64_t ratio)
{
	return json_pack("{s:s, s:I, s:{s:i,s:i}, s:[{s:s, s:I, s:I, s:I}]}", "id", "p", "ns",
			 (json_int_t)ns, "aa", "lo_ppm", 998000, "hi_ppm", 1001000, "vs", "what",
			 "parent", "ratio_ppm", (json_int_t)ratio, "lo_ppm",
			 (json_int_t)(ratio - 1000), "hi_ppm", (json_int_t)(ratio + 1000));
}

static void cases_are_weighted_and_none_may_regress(void **state)
{
	KL_AUTO(json_decrefp) json_t *record = json_pack("{s:[o,o]}", "points",
							 point(1000, 4000000), point(3000, 900000));
	KL_AUTO(kl_profile_release) struct kl_profile profile = { 0 };
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	const int64_t weight[] = { 3, 1 };
	const struct kl_comparison *parent;

	kl_profile_of_result(&profile, record, weight, 2, "digest");
	parent = kl_comparisons_parent(&profile.vs);
	assert_true(profile.there);
	assert_int_equal(profile.ns, 1500);
	assert_int_equal(profile.aa_ppm, 2000);
	/* 4^(3/4) * 0.9^(1/4) = 2.7549 */
	assert_in_range(parent->ratio.ppm, 2754000, 2756000);
	assert_int_equal(parent->speed, KL_SPEED_AMBIGUOUS);
	assert_string_equal(parent->surface, "digest");
	assert_int_equal(profile.npoint, 2);
	assert_int_equal(kl_comparisons_parent(&profile.point[1].vs)->ratio.ppm, 900000);
	doc = kl_profile_json(&profile, NULL);
	assert_true(json_equal(json_object_get(doc, "points"), json_object_get(record, "points")));
	kl_profile_release(&profile);
	kl_profile_of_result(&profile, record, weight, 1, NULL);
	assert_false(profile.there);
}

static void one_case_has_no_points(void **state)
{
	KL_AUTO(json_decrefp) json_t *record = json_pack("{s:[o]}", "points", point(1000, 1500000)),
				     *doc = NULL;
	KL_AUTO(kl_profile_release) struct kl_profile profile = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const int64_t weight[] = { 7 };

	kl_profile_of_result(&profile, record, weight, 1, NULL);
	assert_int_equal(profile.npoint, 0);
	/* the profile holds a reference to the JSON that it borrows from */
	json_decref(kl_steal(&record));
	doc = kl_profile_json(&profile, NULL);
	kl_json_canonical(&text, doc);
	assert_string_equal(text.ptr,
			    "{\"aa_ppm\":2000,\"ns\":1000,\"vs\":[{\"hi_ppm\":1501000,"
			    "\"lo_ppm\":1499000,\"ratio_ppm\":1500000,\"verdict\":\"fast\","
			    "\"what\":\"parent\"}]}");
}

/* Unknown members, and members of a wrong type, are written as they were read. */
static void what_is_not_known_survives(void **state)
{
	static const char *const rows[] = {
		"{\"aa_ppm\":4000,\"by\":\"x\",\"ns\":5,\"vs\":[{\"lo_ppm\":1,\"mhz\":7,\"what\":\"a\"}]}",
		"{\"aa_ppm\":\"much\",\"ns\":null,\"points\":[1,{\"ns\":2}],\"vs\":[3,{\"what\":4},[]]}",
		"{\"points\":{},\"vs\":{}}",
		"{}",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(json_decrefp) json_t *doc = json(rows[i]), *back = NULL;
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		KL_AUTO(kl_profile_release) struct kl_profile profile = { 0 };

		kl_profile_read(&profile, doc);
		assert_true(profile.there);
		back = kl_profile_json(&profile, doc);
		kl_json_canonical(&text, back);
		assert_string_equal(text.ptr, rows[i]);
	}
}

static void what_changes_is_written(void **state)
{
	KL_AUTO(json_decrefp) json_t
		*doc = json("{\"aa_ppm\":1,\"more\":2,\"ns\":3,\"vs\":[{\"what\":\"old\"},"
			    "{\"kept\":true,\"what\":\"parent\"}]}"),
		*back = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_profile_release) struct kl_profile profile = { 0 };

	kl_profile_read(&profile, doc);
	profile.ns = 4;
	profile.vs.v[0] = profile.vs.v[1];
	profile.vs.n = 1;
	back = kl_profile_json(&profile, doc);
	kl_json_canonical(&text, back);
	assert_string_equal(text.ptr, "{\"aa_ppm\":1,\"more\":2,\"ns\":4,\"vs\":[{\"kept\":true,"
				      "\"what\":\"parent\"}]}");
}

static void a_pair_is_seen_from_both_sides(void **state)
{
	const struct kl_comparison there = {
		.what = "parent",
		.surface = "s",
		.ratio.ppm = 500000,
		.ratio.lo = 400000,
		.ratio.hi = 625000,
		.speed = KL_SPEED_SLOW,
	};
	struct kl_comparison back = kl_comparison_inverted(&there);

	assert_int_equal(back.ratio.ppm, 2000000);
	assert_int_equal(back.ratio.lo, 1600000);
	assert_int_equal(back.ratio.hi, 2500000);
	assert_int_equal(back.speed, KL_SPEED_FAST);
	assert_null(back.doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases_are_weighted_and_none_may_regress),
		cmocka_unit_test(one_case_has_no_points),
		cmocka_unit_test(what_is_not_known_survives),
		cmocka_unit_test(what_changes_is_written),
		cmocka_unit_test(a_pair_is_seen_from_both_sides),
	};

	return cmocka_run_group_tests_name("event/profile", tests, NULL, NULL);
}
