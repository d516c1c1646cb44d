/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "event/judgement.h"

static json_t *json(const char *text)
{
	json_t *value = NULL;

	assert_ok(kl_json_parse(&value, text, strlen(text)));
	return value;
}

/* The event that a result becomes. */
static json_t *taken(const char *result)
{
	KL_AUTO(json_decrefp) json_t *record = json(result),
				     *draft = json("{\"kind\":\"gate\",\"platform\":{"
						   "\"id\":\"cuda/sm_90\"}}");
	const int64_t weight[] = { 1 };
	const struct kl_judgement_of of = { .workload = "w", .weight = weight, .nweight = 1 };
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judged = kl_judgement_new(
		kl_event_from_json(draft));

	kl_judgement_take(judged, record, &of);
	return kl_event_json(judged->event);
}

#define RESULT(more) "{\"schema\":\"klineage.result/1\",\"status\":\"pass\"" more "}"

static void notes_of_all_stages_are_one_list(void **state)
{
	KL_AUTO(json_decrefp) json_t *entry = taken(RESULT(
		",\"correct\":{\"cases\":3,\"notes\":[\"a\"]},"
		"\"profile\":{\"points\":[],\"notes\":[\"b\",7,{\"x\":1}]},\"counters\":{\"notes\":[\"no counters: c\"]}"));
	KL_AUTO(json_decrefp) json_t *want = json("[\"a\",\"b\",\"no counters: c\"]");

	assert_true(json_equal(json_object_get(entry, "notes"), want));
	assert_null(json_object_get(json_object_get(entry, "correct"), "notes"));
	assert_int_equal(kl_json_int_or(json_object_get(entry, "correct"), "cases", 0), 3);
	assert_null(json_object_get(entry, "counters"));
}

/* Of counters only names and numbers that are known, however the result came. */
static void counters_are_numbers(void **state)
{
	KL_AUTO(json_decrefp) json_t *entry = taken(RESULT(
		",\"counters\":{\"by\":\"something else\",\"more\":[1],\"launches\":["
		"{\"kernel\":\"k\",\"ns\":1234,\"dram_ppm\":631200,\"sm_ppm\":-1,\"l1_hit_ppm\":1.5,\"l2_hit_ppm\":\"x\",\"evil\":1},"
		"{\"ns\":9223372036854775807},7]}"));
	KL_AUTO(json_decrefp) json_t *want = json(
		"{\"by\":\"ncu\",\"launches\":[{\"kernel\":\"k\",\"ns\":1234,"
		"\"dram_ppm\":631200},{\"kernel\":\"\"},{\"kernel\":\"\"}]}");

	assert_true(json_equal(json_object_get(entry, "counters"), want));
}

static char *message_with_seed(const char *seed)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf(
		"{\"schema\":\"klineage.result/1\",\"status\":\"fail\",\"class\":\"wrong-all\","
		"\"message\":\"m\",\"correct\":{\"failure\":{\"seed\":\"%s\"}}}",
		seed);
	KL_AUTO(json_decrefp) json_t *entry = taken(text);

	return kl_strdup(kl_json_str_or(entry, "message", ""));
}

/* A person copies the command; the number in it can come from anywhere. */
static void only_a_number_is_a_seed(void **state)
{
	static const char *const others[] = {
		"", "1; rm -rf ~ #", "1 2", "-1", "0x10", "123456789012345678901",
	};
	KL_AUTO(kl_freep) char *message = message_with_seed("18446744073709551615");

	assert_string_equal(message, "m; replay: git klineage gate --worktree --workload w "
				     "--no-profile --seed 18446744073709551615");
	assert_int_equal(kl_judgement_reason(message), 1);
	assert_int_equal(kl_judgement_reason("no seed"), 7);
	for (size_t i = 0; i < KL_ARRAY_SIZE(others); i++) {
		KL_AUTO(kl_freep) char *plain = message_with_seed(others[i]);

		assert_string_equal(plain, "m");
	}
}

static void nothing_comes_of_nothing(void **state)
{
	static const char *const results[] = {
		RESULT(""),
		RESULT(",\"counters\":7"),
		RESULT(",\"counters\":{\"launches\":[]}"),
		RESULT(",\"counters\":{\"launches\":{\"a\":1}}"),
		RESULT(",\"counters\":{\"notes\":7}"),
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(results); i++) {
		KL_AUTO(json_decrefp) json_t *entry = taken(results[i]);

		assert_null(json_object_get(entry, "counters"));
		assert_null(json_object_get(entry, "notes"));
		assert_string_equal(kl_json_str_or(entry, "verdict", ""), "pass");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_of_all_stages_are_one_list),
		cmocka_unit_test(counters_are_numbers),
		cmocka_unit_test(only_a_number_is_a_seed),
		cmocka_unit_test(nothing_comes_of_nothing),
	};

	return cmocka_run_group_tests_name("gate judgement", tests, NULL, NULL);
}
