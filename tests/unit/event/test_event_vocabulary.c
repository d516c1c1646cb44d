/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "event/vocabulary.h"

/* What docs/formats.md lists, in the order of the enums. */
static void every_word_has_its_value(void **state)
{
	static const char *const kind[] = { "gate", "check", "retract" };
	static const char *const verdict[] = { "pass", "fail", "inconclusive", "not-run" };
	static const char *const failure[] = {
		"compile",    "launch",           "hang",   "fault",     "wrong-all",
		"wrong-edge", "nondeterministic", "slower", "no-change", "cheat",
	};
	static const char *const tier[] = {
		"unsandboxed",
		"host-restricted",
		"host-sandboxed",
		"device-only",
	};
	static const char *const speed[] = { "fast", "slow", "same", "ambiguous" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(kind); i++) {
		assert_int_equal(kl_event_kind_parse(kind[i]), KL_KIND_OTHER + 1 + i);
		assert_string_equal(kl_event_kind_name((enum kl_event_kind)(i + 1)), kind[i]);
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(verdict); i++) {
		assert_int_equal(kl_verdict_parse(verdict[i]), KL_VERDICT_OTHER + 1 + i);
		assert_string_equal(kl_verdict_name((enum kl_verdict)(i + 1)), verdict[i]);
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(failure); i++) {
		assert_int_equal(kl_failure_parse(failure[i]), KL_FAILURE_NONE + 1 + i);
		assert_string_equal(kl_failure_name((enum kl_failure)(i + 1)), failure[i]);
	}
	assert_int_equal(KL_FAILURE_NONE + 1 + KL_ARRAY_SIZE(failure), KL_FAILURE_OTHER);
	for (size_t i = 0; i < KL_ARRAY_SIZE(tier); i++) {
		assert_int_equal(kl_tier_parse(tier[i]), KL_TIER_OTHER + 1 + i);
		assert_string_equal(kl_tier_name((enum kl_tier)(i + 1)), tier[i]);
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(speed); i++) {
		assert_int_equal(kl_speed_parse(speed[i]), KL_SPEED_NONE + 1 + i);
		assert_string_equal(kl_speed_name((enum kl_speed)(i + 1)), speed[i]);
	}
}

static void other_words_are_other(void **state)
{
	static const char *const words[] = { "Pass", "passed", "not-there", "faster", " " };

	for (size_t i = 0; i < KL_ARRAY_SIZE(words); i++) {
		assert_int_equal(kl_event_kind_parse(words[i]), KL_KIND_OTHER);
		assert_int_equal(kl_verdict_parse(words[i]), KL_VERDICT_OTHER);
		assert_int_equal(kl_failure_parse(words[i]), KL_FAILURE_OTHER);
		assert_int_equal(kl_tier_parse(words[i]), KL_TIER_OTHER);
		assert_int_equal(kl_speed_parse(words[i]), KL_SPEED_NONE);
	}
	assert_string_equal(kl_verdict_name(KL_VERDICT_OTHER), "");
	assert_string_equal(kl_failure_name(KL_FAILURE_OTHER), "");
}

static void no_word_is_no_failure(void **state)
{
	assert_int_equal(kl_failure_parse(NULL), KL_FAILURE_NONE);
	assert_int_equal(kl_failure_parse(""), KL_FAILURE_NONE);
	assert_int_equal(kl_verdict_parse(NULL), KL_VERDICT_OTHER);
	assert_string_equal(kl_failure_name(KL_FAILURE_NONE), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_has_its_value),
		cmocka_unit_test(other_words_are_other),
		cmocka_unit_test(no_word_is_no_failure),
	};

	return cmocka_run_group_tests_name("event/vocabulary", tests, NULL, NULL);
}
