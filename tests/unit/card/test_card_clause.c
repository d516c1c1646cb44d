/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "card/clause.h"
#include "card/predicate.h"

static void splits(void **state)
{
	/* clang-format off */
	static const struct { const char *test, *guard, *clauses; } rows[] = {
		{ "n % 8 == 0", "", "n % 8 == 0" },
		{ "n % 8 == 0 && m >= 4", "", "n % 8 == 0|m >= 4" },
		{ "op != 'topk' || (cols % 4 == 0)", "op != 'topk'", "cols % 4 == 0" },
		{ "op != 'gemm' || (M % 256 == 0) && (K % 64 == 0)", "op != 'gemm'", "M % 256 == 0|K % 64 == 0" },
		{ "op != 'a' || (x == 1 && (y == 2 && z == 3))", "op != 'a'", "x == 1|y == 2|z == 3" },
		{ "language != 'c' || cap('vec.256') && cap('fma')", "language != 'c'", "cap('vec.256')|cap('fma')" },
		{ "((n % 8 == 0) && (m == 1))", "", "n % 8 == 0|m == 1" },
		{ "(n == 1 || n == 2) && m == 1", "", "n == 1 || n == 2|m == 1" },
		/* no guard with one conjunction: one clause */
		{ "n == 1 && m == 1 || n == 2 && m == 2", "", "n == 1 && m == 1 || n == 2 && m == 2" },
		{ "(a + b) % 4 == 0 && (c + d) * (e) == 0", "", "(a + b) % 4 == 0|(c + d) * (e) == 0" },
		{ "dtype == 'f16' || dtype == 'bf16' || n % 2 == 0", "dtype == 'f16' || dtype == 'bf16'",
		  "n % 2 == 0" },
		{ "!(n == 1 && m == 1)", "", "!(n == 1 && m == 1)" },
		/* an alternative of alternatives is no conjunction, whatever it has inside */
		{ "op == 'a' || (x == 1 && y == 2 || z == 3)", "op == 'a'", "x == 1 && y == 2 || z == 3" },
		{ "(a == 1 || b == 1 && c == 1) || d == 1", "d == 1", "a == 1 || b == 1 && c == 1" },
		{ " ( ( n == 1 ) ) || ( (m == 2\t) && n > 3 ) ", "n == 1", "m == 2|n > 3" },
		{ "(n == 1 || m == 1) || k == 1", "n == 1 || m == 1", "k == 1" },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		struct kl_clauses other;
		KL_AUTO(kl_buf_release) struct kl_buf got = KL_BUF_INIT;

		assert_int_equal(kl_clauses_split(&other, rows[i].test), 0);
		for (size_t k = 0; k < other.v.n; k++)
			kl_buf_addf(&got, "%s%s", k ? "|" : "", other.v.v[k]);
		assert_string_equal(got.ptr, rows[i].clauses);
		assert_string_equal(other.guard, rows[i].guard);
		kl_clauses_release(&other);
	}
}

/* taken apart and put together it says the same, wherever it is asked */
static void joins(void **state)
{
	static const char *const tests[] = {
		"op != 'gemm' || (M % 256 == 0) && (K % 64 == 0)",
		"n % 8 == 0 && (m >= 4 || n == 1)",
		"(n == 1 && m == 2) || k == 3",
		"!(n == 1) && (m == 1 && k == 1)",
		"n == 1",
		"op == 'gemm' && n == 1 || op == 'x' && m == 2",
		"k == 1 || (n == 1 && m == 1 || k == 2)",
	};

	(void)state;
	for (size_t i = 0; i < KL_ARRAY_SIZE(tests); i++) {
		struct kl_clauses clauses;
		struct kl_predicate *was, *now;
		bool keep[8] = { true, true, true, true, true, true, true, true };

		assert_int_equal(kl_clauses_split(&clauses, tests[i]), 0);
		KL_AUTO(kl_freep) char *text = kl_clauses_join(&clauses, keep);

		assert_int_equal(kl_predicate_parse(&was, tests[i], NULL), 0);
		assert_int_equal(kl_predicate_parse(&now, text, NULL), 0);
		for (int value = 0; value < 4 * 4 * 4 * 2; value++) {
			struct kl_known known = KL_KNOWN_INIT;

			kl_known_int(&known, "n", value % 4);
			kl_known_int(&known, "m", value / 4 % 4);
			kl_known_int(&known, "k", value / 16 % 4);
			kl_known_int(&known, "M", 256 * (value % 3));
			kl_known_int(&known, "K", 32 * (value % 5));
			kl_known_text(&known, "op", value / 64 ? "gemm" : "x");
			assert_int_equal(kl_predicate_eval(was, &known),
					 kl_predicate_eval(now, &known));
			kl_known_release(&known);
		}
		kl_predicate_free(was);
		kl_predicate_free(now);
		kl_clauses_release(&clauses);
	}
}

static void keeps_some(void **state)
{
	struct kl_clauses clauses;
	bool keep[3] = { true, false, true };

	(void)state;
	assert_int_equal(kl_clauses_split(&clauses, "op != 'x' || a == 1 && b == 2 && c == 3"), 0);
	KL_AUTO(kl_freep) char *two = kl_clauses_join(&clauses, keep);
	KL_AUTO(kl_freep) char *one = kl_clauses_one(&clauses, 1);

	assert_string_equal(two, "op != 'x' || (a == 1) && (c == 3)");
	assert_string_equal(one, "op != 'x' || (b == 2)");
	keep[0] = keep[2] = false;
	assert_null(kl_clauses_join(&clauses, keep));
	kl_clauses_release(&clauses);
}

static void refuses(void **state)
{
	struct kl_clauses clauses;

	(void)state;
	assert_int_equal(kl_clauses_split(&clauses, "n % "), KL_EINVALID);
	assert_int_equal(kl_clauses_split(&clauses, "(n == 1"), KL_EINVALID);
	assert_int_equal(kl_clauses_split(&clauses, "n + 1"), KL_EINVALID);
	kl_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits),
		cmocka_unit_test(joins),
		cmocka_unit_test(keeps_some),
		cmocka_unit_test(refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
