/* SPDX-License-Identifier: Apache-2.0 */
/* What of a worker's result is believed, before anything is made of it. */
#include "test.h"

#include "gate/runner/runner.h"

struct row {
	const char *result;
	int err;
	const char *says;
};

#define RESULT(more) "{\"schema\":\"klineage.result/1\"," more "}"
#define PASS "\"status\":\"pass\""
#define FAIL "\"status\":\"fail\",\"class\":\"launch\""
#define WALL(n, words) ",\"wall\":{\"processes\":" n ",\"closed\":[" words "]}"
#define ALL "\"capabilities\",\"landlock\",\"seccomp\""

static void each(const struct row *row, size_t n, int (*check)(const json_t *))
{
	for (size_t i = 0; i < n; i++) {
		KL_AUTO(json_decrefp) json_t *doc = NULL;
		int err;

		assert_ok(kl_json_parse(&doc, row[i].result, strlen(row[i].result)));
		err = check(doc);
		if (err != row[i].err || (err && !strstr(kl_error_last(), row[i].says)))
			fail_msg("%s: %d, %s", row[i].result, err, kl_error_last());
		kl_error_clear();
	}
}

static void test_form(void **state)
{
	/* clang-format off */
	static const struct row rows[] = {
		{ RESULT(PASS), 0, NULL },
		{ RESULT("\"status\":\"cannot\""), 0, NULL },
		{ RESULT("\"status\":\"fine\""), KL_EINVALID, "result status 'fine'" },
		{ "{\"schema\":\"klineage.result/2\",\"status\":\"pass\"}", KL_EINVALID, "result schema" },
		{ "{\"schema\":\"klineage.result/1\"}", KL_EINVALID, "status" },
		{ "{\"schema\":1,\"status\":\"pass\"}", KL_EINVALID, "schema" },
	};
	/* clang-format on */

	each(rows, KL_ARRAY_SIZE(rows), kl_runner_check);
}

static void test_wall(void **state)
{
	static const char silent[] = "does not report how host code was confined",
			  part[] = "not fully confined";
	/* clang-format off */
	static const struct row rows[] = {
		{ RESULT(PASS WALL("3", ALL)), 0, NULL },
		{ RESULT(PASS WALL("1", "\"network\"," ALL)), 0, NULL },	/* a newer one closes more */
		{ RESULT(FAIL WALL("2", ALL)), 0, NULL },
		{ RESULT(FAIL WALL("0", "")), 0, NULL },		/* it could not be loaded */
		{ RESULT("\"status\":\"cannot\""), 0, NULL },
		{ RESULT(PASS), KL_ECANNOT, silent },
		{ RESULT(FAIL), KL_ECANNOT, silent },
		{ RESULT("\"status\":\"inconclusive\""), KL_ECANNOT, silent },
		{ RESULT(PASS ",\"wall\":true"), KL_ECANNOT, silent },
		{ RESULT(PASS ",\"wall\":{\"closed\":[" ALL "]}"), KL_ECANNOT, silent },
		{ RESULT(PASS WALL("-1", ALL)), KL_ECANNOT, silent },
		{ RESULT(PASS WALL("\"1\"", ALL)), KL_ECANNOT, silent },
		{ RESULT(PASS WALL("0", ALL)), KL_ECANNOT, "no host code ran confined" },
		{ RESULT(PASS WALL("1", "")), KL_ECANNOT, part },
		{ RESULT(FAIL WALL("1", "\"capabilities\",\"landlock\"")), KL_ECANNOT, "'seccomp'" },
		{ RESULT(PASS WALL("1", "\"capabilities\",\"seccomp\",\"land\"")), KL_ECANNOT, "'landlock'" },
		{ RESULT(PASS WALL("1", "1,null,{},\"landlock\",\"seccomp\"")), KL_ECANNOT, "'capabilities'" },
		{ RESULT(PASS ",\"wall\":{\"processes\":1,\"closed\":\"landlock\"}"), KL_ECANNOT, part },
	};
	/* clang-format on */

	each(rows, KL_ARRAY_SIZE(rows), kl_runner_check_wall);
}

/* Whatever the words, a worker that chose a device names it. */
static void test_device(void **state)
{
	/* clang-format off */
	static const struct { const char *result; bool lacks; } rows[] = {
		{ RESULT("\"status\":\"cannot\",\"message\":\"no driver\""), true },
		{ RESULT("\"status\":\"cannot\""), true },
		{ RESULT("\"status\":\"cannot\",\"device\":\"H100\",\"message\":\"no GPU memory\""),
		  false },
		{ RESULT(PASS), false },
		{ RESULT(FAIL), false },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(json_decrefp) json_t *doc = NULL;

		assert_ok(kl_json_parse(&doc, rows[i].result, strlen(rows[i].result)));
		if (kl_runner_lacks_device(doc) != rows[i].lacks)
			fail_msg("%s", rows[i].result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_form),
		cmocka_unit_test(test_wall),
		cmocka_unit_test(test_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
