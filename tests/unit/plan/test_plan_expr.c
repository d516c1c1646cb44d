/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "plan/expr.h"

static const char *const dim_names[] = { "M", "N", "K", "zero", "big" };
static const struct kl_expr_names names = { .name = dim_names, .n = KL_ARRAY_SIZE(dim_names) };
static const int64_t values[] = { 7, 3, 1024, 0, INT64_MAX };

struct row {
	const char *text;
	enum kl_expr_type type;
	int64_t value;
};

static void evaluates(void **state)
{
	static const struct row rows[] = {
		{ "42", KL_EXPR_NUMBER, 42 },
		{ "M", KL_EXPR_NUMBER, 7 },
		{ "M+N*2", KL_EXPR_NUMBER, 13 },
		{ "(M+N)*2", KL_EXPR_NUMBER, 20 },
		{ "M-N-1", KL_EXPR_NUMBER, 3 },
		{ "M/N", KL_EXPR_NUMBER, 2 },
		{ "M%N", KL_EXPR_NUMBER, 1 },
		{ "-M/N", KL_EXPR_NUMBER, -2 },
		{ "- -M", KL_EXPR_NUMBER, 7 },
		{ "cdiv(M, N)", KL_EXPR_NUMBER, 3 },
		{ "cdiv(6, N)", KL_EXPR_NUMBER, 2 },
		{ "cdiv(-7, 3)", KL_EXPR_NUMBER, -2 },
		{ "cdiv(-7, -3)", KL_EXPR_NUMBER, 3 },
		{ "min(M,N)+max(M, N)", KL_EXPR_NUMBER, 10 },
		{ "\tK / 2 ", KL_EXPR_NUMBER, 512 },
		{ "big", KL_EXPR_NUMBER, INT64_MAX },
		{ "-big - 1", KL_EXPR_NUMBER, INT64_MIN },
		{ "M > N", KL_EXPR_TRUTH, 1 },
		{ "M >= 7 && N == 3", KL_EXPR_TRUTH, 1 },
		{ "M < 7 || N != 3", KL_EXPR_TRUTH, 0 },
		{ "M <= 7 || N != 3 && M < 0", KL_EXPR_TRUTH, 1 },
		{ "!(M == 7)", KL_EXPR_TRUTH, 0 },
		{ "!(M == 7) || N == 3", KL_EXPR_TRUTH, 1 },
		/* the right side is not looked at */
		{ "zero == 0 || K / zero > 1", KL_EXPR_TRUTH, 1 },
		{ "zero != 0 && K / zero > 1", KL_EXPR_TRUTH, 0 },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_expr_freep) struct kl_expr *expr = NULL;
		int64_t value = -99;

		assert_ok(kl_expr_parse(&expr, rows[i].text, &names, rows[i].type, NULL));
		assert_ok(kl_expr_eval(&value, expr, values));
		if (value != rows[i].value)
			fail_msg("%s = %lld", rows[i].text, (long long)value);
	}
}

static void refuses_at_evaluation(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *message; } rows[] = {
		{ "big + 1", "overflow" }, { "-big - 2", "overflow" },
		{ "big * 2", "overflow" }, { "-(-big - 1)", "overflow" },
		{ "(-big - 1) / -1", "overflow" }, { "(-big - 1) % -1", "overflow" },
		{ "M / zero", "division by zero" }, { "M % zero", "division by zero" },
		{ "cdiv(M, zero)", "division by zero" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_expr_freep) struct kl_expr *expr = NULL;
		int64_t value;

		assert_ok(kl_expr_parse(&expr, rows[i].text, &names, KL_EXPR_NUMBER, NULL));
		assert_error(KL_EINVALID, rows[i].message, kl_expr_eval(&value, expr, values));
	}
}

static void refuses_at_parsing(void **state)
{
	static const struct {
		const char *text;
		enum kl_expr_type type;
		size_t at;
		const char *message;
	} rows[] = {
		{ "", KL_EXPR_NUMBER, 0, "the expression ends where a value is expected" },
		{ "M +", KL_EXPR_NUMBER, 3, "the expression ends where a value is expected" },
		{ "M N", KL_EXPR_NUMBER, 2, "after the expression" },
		{ "X", KL_EXPR_NUMBER, 0, "'X' is not a dim" },
		{ "M + foo(2)", KL_EXPR_NUMBER, 4, "'foo' is not a dim" },
		{ "(M", KL_EXPR_NUMBER, 2, "')'" },
		{ "min(M)", KL_EXPR_NUMBER, 5, "expected ','" },
		{ "min(M, N, K)", KL_EXPR_NUMBER, 8, "')'" },
		{ "M >= 1", KL_EXPR_NUMBER, 0, "found a condition where a number is expected" },
		{ "M + (N > 1)", KL_EXPR_NUMBER, 4,
		  "found a condition where a number is expected" },
		{ "M", KL_EXPR_TRUTH, 0, "found a number where a condition is expected" },
		{ "M && N > 1", KL_EXPR_TRUTH, 0, "found a number where a condition is expected" },
		{ "!M", KL_EXPR_TRUTH, 1, "found a number where a condition is expected" },
		{ "1 < M < 9", KL_EXPR_TRUTH, 6, "cannot be chained" },
		{ "9223372036854775808", KL_EXPR_NUMBER, 0, "64 bits" },
		{ "M = 1", KL_EXPR_TRUTH, 2, "after the expression" },
		{ "M ; N", KL_EXPR_NUMBER, 2, "after the expression" },
		{ "\"M\"", KL_EXPR_NUMBER, 0, "expected a value before '\"M\"'" },
		{ "M\x01", KL_EXPR_NUMBER, 1, "after the expression" },
		{ "1.5", KL_EXPR_NUMBER, 1, "after the expression" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		struct kl_expr *expr = NULL;
		size_t at = 999;

		assert_error(KL_EINVALID, rows[i].message,
			     kl_expr_parse(&expr, rows[i].text, &names, rows[i].type, &at));
		assert_null(expr);
		if (at != rows[i].at)
			fail_msg("'%s' goes wrong at %zu, not %zu", rows[i].text, at, rows[i].at);
	}
}

static void bounds_depth_and_length(void **state)
{
	char text[KL_EXPR_MAX_TEXT + 2];
	KL_AUTO(kl_expr_freep) struct kl_expr *expr = NULL;
	int64_t value;

	/* as long as may be, and left-deep */
	memset(text, '+', sizeof(text));
	for (size_t i = 0; i < KL_EXPR_MAX_TEXT; i += 2)
		text[i] = '1';
	text[KL_EXPR_MAX_TEXT - 1] = '\0';
	assert_ok(kl_expr_parse(&expr, text, &names, KL_EXPR_NUMBER, NULL));
	assert_ok(kl_expr_eval(&value, expr, values));
	assert_int_equal(value, KL_EXPR_MAX_TEXT / 2);

	memset(text, '1', sizeof(text));
	text[KL_EXPR_MAX_TEXT + 1] = '\0';
	assert_error(KL_EINVALID, "longer than",
		     kl_expr_parse(&expr, text, &names, KL_EXPR_NUMBER, NULL));
	memset(text, '(', 100);
	text[100] = '\0';
	assert_error(KL_EINVALID, "nested deeper",
		     kl_expr_parse(&expr, text, &names, KL_EXPR_NUMBER, NULL));
	memset(text, '-', 100);
	assert_error(KL_EINVALID, "nested deeper",
		     kl_expr_parse(&expr, text, &names, KL_EXPR_NUMBER, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(evaluates),
		cmocka_unit_test(refuses_at_evaluation),
		cmocka_unit_test(refuses_at_parsing),
		cmocka_unit_test(bounds_depth_and_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
