/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/usage.h"
#include "test.h"

static struct kl_usage usage_of(int64_t input, int64_t output)
{
	return (struct kl_usage){ .known = true, .input = input, .output = output };
}

static void counts_are_held_against_the_request(void **state)
{
	const struct kl_usage_bounds bounds = { .prompt = 16000, .output = 2000, .replied = true };
	static const struct {
		int64_t input, output;
		bool possible;
	} cases[] = {
		{ 1, 1, true },          { 16000, 2000, true },   { 16001, 1, false },
		{ 1, 2001, false },      { 0, 1, false },         { 1, 0, false },
		{ 0, 0, false },         { -1, 1, false },        { 1, -1, false },
		{ INT64_MAX, 1, false }, { 1, INT64_MAX, false },
	};
	struct kl_usage usage = { 0 };

	assert_true(kl_usage_is_possible(&usage, &bounds)); /* unknown */
	for (size_t i = 0; i < KL_ARRAY_SIZE(cases); i++) {
		usage = usage_of(cases[i].input, cases[i].output);
		assert_int_equal(kl_usage_is_possible(&usage, &bounds), cases[i].possible);
	}
	usage = usage_of(0, 7);
	usage.cache_read = 100;
	assert_true(kl_usage_is_possible(&usage, &bounds));
	usage.cache_write_1h = 15901;
	assert_false(kl_usage_is_possible(&usage, &bounds));
}

/* without a reply nothing need have been used */
static void nothing_costs_nothing(void **state)
{
	const struct kl_usage_bounds bounds = { .prompt = 16000, .output = 2000 };
	struct kl_usage usage = usage_of(0, 0);

	assert_true(kl_usage_is_possible(&usage, &bounds));
}

/* whatever is stored can be read again, and so can what earlier versions stored */
static void counts_are_read_back(void **state)
{
	static const int64_t counts[] = { 0, 1, KL_USAGE_MAX, 10 * KL_USAGE_MAX };

	for (size_t i = 0; i < KL_ARRAY_SIZE(counts); i++) {
		struct kl_usage usage = usage_of(counts[i], counts[i]), read = { 0 };
		KL_AUTO(json_decrefp) json_t *value = kl_usage_json(&usage);

		assert_ok(kl_usage_read(&read, value));
		assert_int_equal(read.input, counts[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_held_against_the_request),
		cmocka_unit_test(nothing_costs_nothing),
		cmocka_unit_test(counts_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
