/* SPDX-License-Identifier: Apache-2.0 */
/* draws: from key, ticket and label alone */
#include "search/policy/draw.h"

#include "test.h"

static void make_key(char key[KL_DIGEST_HEX])
{
	kl_draw_key(key, "salt", "attention", "climb", 3);
}

static void test_same_again(void **state)
{
	char key[KL_DIGEST_HEX];
	struct kl_draws draws = { .key = key, .ticket = 5 };
	double coin, other;

	make_key(key);
	coin = kl_draw_coin(&draws, "coin");
	other = kl_draw_coin(&draws, "pool");
	assert_true(coin != other);
	/* what was drawn between makes no difference */
	draws.ticket = 6;
	assert_true(kl_draw_coin(&draws, "coin") != coin);
	draws.ticket = 5;
	assert_true(kl_draw_coin(&draws, "coin") == coin);
	/* numbers that any machine must give */
	assert_int_equal((long)(coin * 1e9), 466232748);
}

static void test_keys(void **state)
{
	char one[KL_DIGEST_HEX], two[KL_DIGEST_HEX];

	make_key(one);
	kl_draw_key(two, "salt", "attention", "climb", 4);
	assert_string_not_equal(one, two);
	kl_draw_key(two, "salt", "attentionclimb", "", 3);
	assert_string_not_equal(one, two);
}

static void test_weighted(void **state)
{
	const double weight[] = { 0, 1, 0, 3, 0 };
	size_t count[5] = { 0 };
	char key[KL_DIGEST_HEX];

	make_key(key);
	for (int i = 0; i < 20000; i++) {
		struct kl_draws draws = { .key = key, .ticket = i };
		struct kl_rng rng;

		kl_draw_open(&rng, &draws, "which");
		count[kl_draw_weighted(&rng, weight, 5)]++;
	}
	assert_int_equal(count[0] + count[2] + count[4], 0);
	assert_in_range(count[1], 4750, 5250);
}

static void test_no_weight(void **state)
{
	const double weight[] = { 0, 0, 0 };
	size_t count[3] = { 0 };
	char key[KL_DIGEST_HEX];

	make_key(key);
	for (int i = 0; i < 3000; i++) {
		struct kl_draws draws = { .key = key, .ticket = i };
		struct kl_rng rng;

		kl_draw_open(&rng, &draws, "which");
		count[kl_draw_weighted(&rng, weight, 3)]++;
	}
	for (int i = 0; i < 3; i++)
		assert_in_range(count[i], 900, 1100);
}

static void test_sample(void **state)
{
	size_t first[4] = { 0 };
	char key[KL_DIGEST_HEX];

	make_key(key);
	for (int i = 0; i < 4000; i++) {
		struct kl_draws draws = { .key = key, .ticket = i };
		int64_t value[] = { 0, 1, 2, 3 };
		int seen = 0;
		struct kl_rng rng;

		kl_draw_open(&rng, &draws, "pool");
		kl_draw_sample(&rng, value, 4, 2);
		for (int j = 0; j < 4; j++)
			seen |= 1 << value[j];
		assert_int_equal(seen, 15);
		first[value[0]]++;
	}
	for (int i = 0; i < 4; i++)
		assert_in_range(first[i], 900, 1100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_again), cmocka_unit_test(test_keys),
		cmocka_unit_test(test_weighted),   cmocka_unit_test(test_no_weight),
		cmocka_unit_test(test_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
