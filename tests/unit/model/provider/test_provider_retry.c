/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "model/provider/retry.h"

static void some_refusals_may_pass(void **state)
{
	static const long again[] = { 408, 409, 429, 500, 502, 503, 504, 529 };
	static const long never[] = { 200, 301, 307, 400, 401, 402, 403, 404, 413, 422 };

	for (size_t i = 0; i < sizeof(again) / sizeof(*again); i++)
		assert_true(kl_retry_status(again[i]));
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		assert_false(kl_retry_status(never[i]));
}

static int64_t delay(unsigned attempt, const char *ms, const char *after, uint64_t seed)
{
	struct kl_rng rng;

	kl_rng_seed(&rng, seed);
	return kl_retry_delay(attempt, ms, after, 1700000000, 60000, &rng);
}

/* Over many seeds: the least and the most it may be. */
static void assert_between(int64_t least, int64_t most, unsigned attempt, const char *ms,
			   const char *after)
{
	bool differ = false;

	for (uint64_t seed = 0; seed < 200; seed++) {
		int64_t dim = delay(attempt, ms, after, seed);

		assert_true(dim >= least && dim <= most);
		differ = differ || dim != delay(attempt, ms, after, 0);
	}
	assert_int_equal(differ, most > least);
}

static void our_own_pause_doubles_and_jitters(void **state)
{
	assert_between(250, 500, 1, NULL, NULL);
	assert_between(500, 1000, 2, NULL, NULL);
	assert_between(2000, 4000, 4, NULL, NULL);
	assert_between(15000, 30000, 7, NULL, NULL);
	assert_between(15000, 30000, 60, NULL, NULL);
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct kl_rng rng;

		kl_rng_seed(&rng, seed);
		assert_in_range(kl_retry_delay(5, NULL, NULL, 0, 100, &rng), 50, 100);
	}
}

static void what_the_server_says_goes_first(void **state)
{
	assert_between(2000, 2200, 1, NULL, "2");
	assert_between(0, 0, 3, NULL, "0");
	assert_between(1500, 1650, 1, NULL, "1.5");
	assert_between(120, 132, 1, "120", "7");
	assert_between(7000, 7700, 1, "soon", "7");
	/* 1700000000 is Tue, 14 Nov 2023 22:13:20 GMT */
	assert_between(30000, 33000, 1, NULL, "Tue, 14 Nov 2023 22:13:50 GMT");
	assert_between(30000, 33000, 1, NULL, "Tuesday, 14-Nov-23 22:13:50 GMT");
	assert_between(30000, 33000, 1, NULL, "Tue Nov 14 22:13:50 2023");
	assert_between(0, 0, 1, NULL, "Tue, 14 Nov 2023 22:00:00 GMT");
}

static void nonsense_is_as_if_nothing_were_said(void **state)
{
	static const char *const none[] = { "",     "-1",  "soon",  "nan",     "inf",
					    "0x10", "1e3", "1.2.3", "7 weeks", "Tue, 14 Nov" };

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_between(250, 500, 1, none[i], none[i]);
}

static void nobody_waits_for_ever(void **state)
{
	assert_int_equal(delay(1, NULL, "301", 1), -1);
	assert_int_equal(delay(1, NULL, "99999999999999999999999999", 1), -1);
	assert_int_equal(delay(1, "300001", NULL, 1), -1);
	assert_int_equal(delay(1, NULL, "Wed, 14 Nov 2035 22:13:50 GMT", 1), -1);
	assert_between(300000, 330000, 1, NULL, "300");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_refusals_may_pass),
		cmocka_unit_test(our_own_pause_doubles_and_jitters),
		cmocka_unit_test(what_the_server_says_goes_first),
		cmocka_unit_test(nonsense_is_as_if_nothing_were_said),
		cmocka_unit_test(nobody_waits_for_ever),
	};

	return cmocka_run_group_tests_name("chat/retry", tests, NULL, NULL);
}
