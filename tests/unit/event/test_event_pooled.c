/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <math.h>

#include "base/mem.h"
#include "event/pooled.h"
#include "event/profile.h"
#include "event/speed.h"

static json_t *round_of(int64_t ratio, int64_t reach, bool baseline)
{
	KL_AUTO(kl_freep) char *other =
		baseline ? kl_strdup(",{\"what\":\"openblas.sgemm\",\"ns\":40,\"ratio_ppm\":400000,"
				     "\"lo_ppm\":396000,\"hi_ppm\":404000}") :
			   kl_strdup("");
	KL_AUTO(kl_freep) char *text = kl_asprintf(
		"{\"handshake_ns\":300,\"points\":[{\"id\":\"case0\",\"ns\":100,\"blocks\":8,"
		"\"aa\":{\"lo_ppm\":999000,\"mid_ppm\":1000000,\"hi_ppm\":1001000},"
		"\"vs\":[{\"what\":\"parent\",\"ns\":200,\"ratio_ppm\":%lld,\"lo_ppm\":%lld,"
		"\"hi_ppm\":%lld}%s]}],\"notes\":[]}",
		(long long)ratio, (long long)(ratio - reach), (long long)(ratio + reach), other);
	json_t *doc = NULL;

	assert_ok(kl_json_parse(&doc, text, strlen(text)));
	return doc;
}

static void pool(struct kl_profile *out, json_t *const *round, size_t n)
{
	const int64_t weight[] = { 1 };
	KL_AUTO(json_decrefp) json_t *pooled = kl_pooled_profile(round, n);

	assert_non_null(pooled);
	assert_int_equal(kl_json_int_or(json_array_get(json_object_get(pooled, "points"), 0),
					"blocks", 0),
			 8 * (int64_t)n);
	kl_profile_of_result(out, pooled, weight, 1, "surface");
	assert_true(out->there);
}

/* Rounds that agree give an interval narrower than each of theirs; rounds that differ, a wide one. */
static void rounds_are_pooled(void **state)
{
	static const int64_t ratios[2][5] = { { 2000000, 2000000, 2000000, 2000000, 2000000 },
					      { 1800000, 2200000, 2000000, 1900000, 2100000 } };
	int64_t width[2];

	for (size_t i = 0; i < 2; i++) {
		struct kl_profile profile;
		const struct kl_comparison *parent, *baseline;
		json_t *round[5];

		for (size_t k = 0; k < 5; k++)
			round[k] = round_of(ratios[i][k], 20000, k != 1);
		pool(&profile, round, 5);
		parent = kl_comparisons_parent(&profile.vs);
		baseline = kl_comparisons_baseline(&profile.vs);
		assert_in_range(parent->ratio.ppm, 1980000, 2000001);
		assert_true(parent->ratio.lo <= parent->ratio.ppm);
		assert_true(parent->ratio.ppm <= parent->ratio.hi);
		width[i] = parent->ratio.hi - parent->ratio.lo;
		assert_non_null(baseline); /* one round lacks it */
		assert_in_range(baseline->ratio.ppm, 399998, 400002);
		assert_in_range(profile.ns, 99, 101);
		assert_int_equal(parent->speed, KL_SPEED_FAST);
		kl_profile_release(&profile);
		for (size_t k = 0; k < 5; k++)
			json_decref(round[k]);
	}
	/* 40000 / sqrt(5), and t(4) * 0.079 / sqrt(5) in logarithms */
	assert_in_range(width[0], 17700, 18100);
	assert_in_range(width[1], 350000, 430000);
}

static void what_does_not_match_is_not_pooled(void **state)
{
	KL_AUTO(json_decrefp) json_t *one = round_of(1000000, 1000, false);
	KL_AUTO(json_decrefp) json_t *other = json_pack("{s:[{s:s}]}", "points", "id", "case1");
	KL_AUTO(json_decrefp) json_t *none = json_pack("{s:[]}", "points");
	json_t *both[] = { one, other }, *empty[] = { none, none };

	assert_null(kl_pooled_profile(both, 2));
	assert_null(kl_pooled_profile(empty, 2));
	assert_null(kl_pooled_profile(both, 0));
}

static void wide_intervals_are_useless(void **state)
{
	const struct kl_ratio wide = { 900000, 40000, 4310000 }, good = { 900000, 890000, 910000 },
			      unknown = { 0 }, double_ = { 1000000, 700000, 1400000 },
			      open = { 1000000, 0, 1000000 },
			      gain = { 31000000, 21680000, 44680000 },
			      loss = { 32000, 22000, 46000 },
			      little = { 1700000, 1100000, 2500000 },
			      vast = { 9000000, 3000000, 27000000 };

	assert_true(kl_speed_is_useless(&wide));
	assert_true(kl_speed_is_useless(&open));
	assert_false(kl_speed_is_useless(&good));
	assert_false(kl_speed_is_useless(&unknown));
	assert_false(kl_speed_is_useless(&double_));
	assert_false(kl_speed_is_useless(&gain));
	assert_false(kl_speed_is_useless(&loss));
	assert_true(kl_speed_is_useless(&little));
	assert_true(kl_speed_is_useless(&vast));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_are_pooled),
		cmocka_unit_test(what_does_not_match_is_not_pooled),
		cmocka_unit_test(wide_intervals_are_useless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
