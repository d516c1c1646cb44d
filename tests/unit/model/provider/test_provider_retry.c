/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdbool.h>

#include "model/provider/retry.h"

/* Over many seeds: the least and the most it may be. */
static void assert_between(int64_t least, int64_t most, unsigned failures, int64_t wish)
{
	bool differ = false;
	int64_t first = -1;

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct kl_rng rng;
		int64_t ms;

		kl_rng_seed(&rng, seed);
		ms = kl_retry_delay(failures, wish, &rng);
		assert_true(ms >= least && ms <= most);
		first = first < 0 ? ms : first;
		differ = differ || ms != first;
	}
	assert_int_equal(differ, most > least);
}

static void our_own_pause_doubles_to_minutes_and_jitters(void **state)
{
	assert_between(250, 500, 1, -1);
	assert_between(500, 1000, 2, -1);
	assert_between(2000, 4000, 4, -1);
	assert_between(32000, 64000, 8, -1);
	assert_between(60000, 120000, 9, -1);
	assert_between(60000, 120000, 4000000000u, -1);
}

static void what_the_server_says_goes_first(void **state)
{
	assert_between(2000, 2200, 1, 2000);
	assert_between(0, 0, 3, 0);
	assert_between(1800000, 1980000, 9, 1800000);
}

/* 1700000000 is Tue, 14 Nov 2023 22:13:20 GMT */
static int64_t wish(const char *ms, const char *after)
{
	return kl_retry_wish(ms, after, 1700000000);
}

static void what_it_says_is_read_in_all_its_forms(void **state)
{
	assert_int_equal(wish(NULL, NULL), -1);
	assert_int_equal(wish(NULL, "2"), 2000);
	assert_int_equal(wish(NULL, "0"), 0);
	assert_int_equal(wish(NULL, "1.5"), 1500);
	assert_int_equal(wish("120", "7"), 120);
	assert_int_equal(wish("soon", "7"), 7000);
	assert_int_equal(wish(NULL, "Tue, 14 Nov 2023 22:13:50 GMT"), 30000);
	assert_int_equal(wish(NULL, "Tuesday, 14-Nov-23 22:13:50 GMT"), 30000);
	assert_int_equal(wish(NULL, "Tue Nov 14 22:13:50 2023"), 30000);
	assert_int_equal(wish(NULL, "Tue, 14 Nov 2023 22:00:00 GMT"), 0);
	assert_true(wish(NULL, "99999999999999999999999999") > INT64_C(1000000000));
}

static void nonsense_is_as_if_nothing_were_said(void **state)
{
	static const char *const none[] = { "",     "-1",  "soon",  "nan",     "inf",
					    "0x10", "1e3", "1.2.3", "7 weeks", "Tue, 14 Nov" };

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_int_equal(wish(none[i], none[i]), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_pause_doubles_to_minutes_and_jitters),
		cmocka_unit_test(what_the_server_says_goes_first),
		cmocka_unit_test(what_it_says_is_read_in_all_its_forms),
		cmocka_unit_test(nonsense_is_as_if_nothing_were_said),
	};

	return cmocka_run_group_tests_name("chat/retry", tests, NULL, NULL);
}
