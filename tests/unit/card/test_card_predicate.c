/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/rng.h"
#include "card/predicate.h"
#include "plan/expr.h"

static void what_is_known(struct kl_known *known)
{
	kl_known_int(known, "K", 4096);
	kl_known_int(known, "zero", 0);
	kl_known_int(known, "big", INT64_MAX);
	kl_known_int(known, "extent(reduction)", 100);
	kl_known_int(known, "stride_bytes(A,K)", 8192);
	kl_known_text(known, "dtype", "f16");
	kl_known_ratio(known, "sol.dram", 700000);
	kl_known_member(known, "cap", "cp.async");
	kl_known_close(known, "cap");
	kl_known_member(known, "has", "ldg.128");
	kl_known_truth(known, "trait(tiled)", KL_FALSE);
	kl_known_truth(known, "trait(packed)", KL_UNKNOWN);
	kl_known_truth(known, "deterministic", KL_TRUE);
}

static void evaluates(void **state)
{
	/* clang-format off */
	static const struct { const char *text; enum kl_truth is; } rows[] = {
		{ "K == 4096", KL_TRUE },
		{ "K % 64 == 0 && K / 64 >= 64", KL_TRUE },
		{ "K - 1 - 1 == 4094", KL_TRUE },
		{ "-K + 2*3 == -4090", KL_TRUE },
		{ "2 * (K + 1) == 8194", KL_TRUE },
		{ "cdiv(extent(reduction), 64) == 2", KL_TRUE },
		{ "max(min(K, 5), 3) == 5", KL_TRUE },
		{ "stride_bytes(A, K) % 16 == 0", KL_TRUE },
		{ "stride_bytes(A , 'K') % 16 == 0", KL_TRUE },
		{ "stride_bytes(B, K) % 16 == 0", KL_UNKNOWN },
		{ "dtype == 'f16'", KL_TRUE },
		{ "dtype != 'f16'", KL_FALSE },
		{ "dtype == 'bf16' || dtype == 'f16'", KL_TRUE },
		{ "op == 'gemm'", KL_UNKNOWN },
		{ "cap('cp.async')", KL_TRUE },
		{ "cap(cp.async)", KL_TRUE },
		{ "cap('tma.load')", KL_FALSE },		/* all capabilities are listed */
		{ "has('ldg.128')", KL_TRUE },
		{ "has('wgmma')", KL_UNKNOWN },			/* not all features are */
		{ "trait('tiled')", KL_FALSE },
		{ "!trait('packed')", KL_UNKNOWN },
		{ "sol.dram < 0.7", KL_FALSE },
		{ "sol.dram <= 0.7", KL_TRUE },
		{ "sol.dram < 1", KL_TRUE },
		{ "0.000001 > 0", KL_TRUE },
		{ "deterministic", KL_TRUE },
		{ "!deterministic", KL_FALSE },
		{ "deterministic == deterministic", KL_TRUE },
		/* Kleene */
		{ "M > 1 && K == 1", KL_FALSE },
		{ "M > 1 && K == 4096", KL_UNKNOWN },
		{ "M > 1 || K == 4096", KL_TRUE },
		{ "M > 1 || K == 1", KL_UNKNOWN },
		{ "!(M > 1)", KL_UNKNOWN },
		{ "M == M", KL_UNKNOWN },
		{ "K == 1 || K == 2 && M > 1", KL_FALSE },
		{ "K == 4096 || K == 2 && M > 1", KL_TRUE },
		/* values that cannot be computed */
		{ "K / zero == 1", KL_UNKNOWN },
		{ "K % zero == 1", KL_UNKNOWN },
		{ "big + 1 > 0", KL_UNKNOWN },
		{ "big * 2 > 0 || K > 1", KL_TRUE },
		{ "(-big - 1) / -1 > 0", KL_UNKNOWN },
		{ "dtype > 'f1'", KL_UNKNOWN },
		{ "dtype == K", KL_UNKNOWN },
		{ "K && deterministic", KL_UNKNOWN },
		{ "sol.dram * 2 < 2", KL_UNKNOWN },
	};
	/* clang-format on */
	KL_AUTO(kl_known_release) struct kl_known known = KL_KNOWN_INIT;

	what_is_known(&known);
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_predicate_freep) struct kl_predicate *predicate = NULL;
		enum kl_truth is;

		/* an order of texts is refused when it is read */
		if (!strcmp(rows[i].text, "dtype > 'f1'"))
			continue;
		assert_ok(kl_predicate_parse(&predicate, rows[i].text, NULL));
		is = kl_predicate_eval(predicate, &known);
		if (is != rows[i].is)
			fail_msg("%s is %s", rows[i].text, kl_truth_name(is));
	}
}

static void refuses_with_its_place(void **state)
{
	/* clang-format off */
	static const struct { const char *text; size_t at; const char *says; } rows[] = {
		{ "", 0, "the expression ends where a value is expected" },
		{ "K", 0, "" },
		{ "4", 0, "found a number where a condition is expected" },
		{ "'a'", 0, "found a text where a condition is expected" },
		{ "K + 1", 0, "found a number where a condition is expected" },
		{ "K == ", 5, "the expression ends where a value is expected" },
		{ "K = 1", 2, "unexpected '= 1' after the expression" },
		{ "K == 1 )", 7, "unexpected ')' after the expression" },
		{ "(K == 1", 7, "the expression ends where ')' is expected" },
		{ "1 < K < 5", 6, "comparisons cannot be chained" },
		{ "K > 1 && 3", 9, "found a number where a condition is expected" },
		{ "(K > 1) + 1 > 0", 0, "found a condition where a number is expected" },
		{ "dtype > 'f1'", 8, "found a text where a number is expected" },
		{ "'a' == 3", 7, "found a number where a text is expected" },
		{ "!3", 1, "found a number where a condition is expected" },
		{ "-cap('x') > 1", 1, "found a condition where a number is expected" },
		{ "cap('x', 'y')", 12, "cap() takes 1 name" },
		{ "cap()", 4, "expected a name before ')'" },
		{ "cap('x", 0, "a quoted text is not closed" },
		{ "has('a b')", 0, "can contain only letters" },
		{ "has('')", 0, "a quoted text is empty" },
		{ "K == 99999999999999999999", 5, "does not fit into 64 bits" },
		{ "K > 0.1234567", 4, "more than six decimal places" },
		{ "K == 3x", 5, "a name cannot begin with a digit" },
		{ "a. == 1", 0, "a name cannot end with '.'" },
		{ "K == 1; rm", 6, "unexpected '; rm' after the expression" },
		{ "system($(x)) == 1", 7, "expected a name before '$(x)) == 1'" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		struct kl_predicate *predicate = NULL;
		size_t at = 99;

		if (!*rows[i].says) {
			assert_ok(kl_predicate_parse(&predicate, rows[i].text, &at));
			kl_predicate_free(predicate);
			continue;
		}
		assert_error(KL_EINVALID, rows[i].says,
			     kl_predicate_parse(&predicate, rows[i].text, &at));
		if (strncmp(rows[i].text, "has", 3) && strcmp(rows[i].text, "cap('x") &&
		    at != rows[i].at)
			fail_msg("%s: goes wrong at %zu", rows[i].text, at);
	}
}

static void is_bounded(void **state)
{
	struct kl_predicate *predicate = NULL;
	char deep[KL_PREDICATE_MAX_TEXT + 2];

	memset(deep, '(', sizeof(deep));
	deep[200] = '\0';
	assert_error(KL_EINVALID, "is nested deeper than 32 levels",
		     kl_predicate_parse(&predicate, deep, NULL));
	memset(deep, '!', 300);
	deep[300] = '\0';
	assert_error(KL_EINVALID, "is nested deeper than 32 levels",
		     kl_predicate_parse(&predicate, deep, NULL));
	memset(deep, ' ', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	assert_error(KL_EINVALID, "longer than", kl_predicate_parse(&predicate, deep, NULL));
}

static void explains(void **state)
{
	KL_AUTO(kl_known_release) struct kl_known known = KL_KNOWN_INIT;
	KL_AUTO(kl_predicate_freep) struct kl_predicate *predicate = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	what_is_known(&known);
	assert_ok(kl_predicate_parse(
		&predicate, "cap('cp.async') && K > M && dtype == 'f16' && K > sol.dram", NULL));
	kl_predicate_explain(&buf, predicate, &known);
	assert_string_equal(
		buf.ptr,
		"K = 4096, M is not known, cap(cp.async) is true, dtype = 'f16', sol.dram = 0.7");
}

/* --- properties ---------------------------------------------------------------------------- */

static const char *const names[] = { "a", "b", "c", "d" };

static void gen_number(struct kl_buf *buf, struct kl_rng *rng, int depth)
{
	static const char *const ops[] = { "+", "-", "*", "/", "%" };

	if (depth <= 0 || !kl_rng_below(rng, 3)) {
		if (kl_rng_below(rng, 2))
			kl_buf_adds(buf, names[kl_rng_below(rng, 4)]);
		else
			kl_buf_addf(buf, "%d", (int)kl_rng_below(rng, 5));
		return;
	}
	kl_buf_addch(buf, '(');
	gen_number(buf, rng, depth - 1);
	kl_buf_adds(buf, ops[kl_rng_below(rng, 5)]);
	gen_number(buf, rng, depth - 1);
	kl_buf_addch(buf, ')');
}

static void gen_condition(struct kl_buf *buf, struct kl_rng *rng, int depth)
{
	static const char *const compare[] = { "==", "!=", "<", "<=", ">", ">=" };
	uint64_t kind = kl_rng_below(rng, 5);

	if (depth <= 0 || kind == 0) {
		gen_number(buf, rng, 2);
		kl_buf_adds(buf, compare[kl_rng_below(rng, 6)]);
		gen_number(buf, rng, 2);
	} else if (kind == 1) {
		kl_buf_adds(buf, "!(");
		gen_condition(buf, rng, depth - 1);
		kl_buf_addch(buf, ')');
	} else {
		kl_buf_addch(buf, '(');
		gen_condition(buf, rng, depth - 1);
		kl_buf_adds(buf, kind == 2 ? ") && (" : ") || (");
		gen_condition(buf, rng, depth - 1);
		kl_buf_addch(buf, ')');
	}
}

static enum kl_truth ask(const char *text, const struct kl_known *known)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *predicate = NULL;

	assert_ok(kl_predicate_parse(&predicate, text, NULL));
	return kl_predicate_eval(predicate, known);
}

static enum kl_truth not(enum kl_truth truth) {
	return truth == KL_UNKNOWN ? truth :
	       truth == KL_TRUE    ? KL_FALSE :
				     KL_TRUE;
}

/* a predicate that is true or false stays so when more facts become known */
static void knowing_more_never_changes_an_answer(void **state)
{
	size_t decided = 0;
	struct kl_rng rng;

	kl_rng_seed(&rng, 11);
	for (int i = 0; i < 20000; i++) {
		KL_AUTO(kl_known_release) struct kl_known known = KL_KNOWN_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf negated = KL_BUF_INIT;
		enum kl_truth before = KL_UNKNOWN;

		gen_condition(&text, &rng, 3);
		if (text.len > KL_PREDICATE_MAX_TEXT - 4)
			continue;
		kl_buf_addf(&negated, "!(%s)", text.ptr);
		for (size_t n = 0; n <= 4; n++) {
			enum kl_truth now = ask(text.ptr, &known);

			if (before != KL_UNKNOWN && now != before)
				fail_msg("%s: %s, then %s", text.ptr, kl_truth_name(before),
					 kl_truth_name(now));
			assert_int_equal(ask(negated.ptr, &known), not(now));
			decided += n < 4 && before == KL_UNKNOWN && now != KL_UNKNOWN;
			before = now;
			if (n < 4)
				kl_known_int(&known, names[n], (int64_t)kl_rng_below(&rng, 6) - 2);
		}
	}
	assert_true(decided > 1000); /* or nothing was tested */
}

/*
 * if all facts are known and nothing overflows, a predicate means the same as in a contract's
 * domain
 */
static void agrees_with_contracts(void **state)
{
	static const struct kl_expr_names expr_names = { .name = names, .n = 4 };
	size_t compared = 0;
	struct kl_rng rng;

	kl_rng_seed(&rng, 12);
	for (int i = 0; i < 20000; i++) {
		KL_AUTO(kl_known_release) struct kl_known known = KL_KNOWN_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		KL_AUTO(kl_expr_freep) struct kl_expr *expr = NULL;
		int64_t values[4], want;
		enum kl_truth is;

		gen_condition(&text, &rng, 2);
		if (text.len > KL_EXPR_MAX_TEXT)
			continue;
		for (size_t n = 0; n < 4; n++) {
			values[n] = (int64_t)kl_rng_below(&rng, 6) - 2;
			kl_known_int(&known, names[n], values[n]);
		}
		assert_ok(kl_expr_parse(&expr, text.ptr, &expr_names, KL_EXPR_TRUTH, NULL));
		is = ask(text.ptr, &known);
		if (is == KL_UNKNOWN || kl_expr_eval(&want, expr, values) < 0)
			continue;
		assert_int_equal(is, want ? KL_TRUE : KL_FALSE);
		compared++;
	}
	assert_true(compared > 5000);
}

/* --- comparing ------------------------------------------------------------------------------ */

static enum kl_relation relate(const char *old, const char *now, struct kl_strvec *lost)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *left = NULL, *right = NULL;

	assert_ok(kl_predicate_parse(&left, old, NULL));
	assert_ok(kl_predicate_parse(&right, now, NULL));
	return kl_predicate_relation(left, right, lost);
}

static void tells_weaker_from_stronger(void **state)
{
	/* clang-format off */
	static const struct { const char *old, *now; enum kl_relation is; const char *lost; } rows[] = {
		{ "K % 64 == 0", "K % 64 == 0", KL_RELATION_SAME, "" },
		{ "a > 1 && cap('x')", "cap('x') && 1 < a", KL_RELATION_SAME, "" },
		{ "K % 64 == 0", "K % 32 == 0", KL_RELATION_WEAKER, "K % 64 == 0" },
		{ "K % 32 == 0", "K % 64 == 0", KL_RELATION_STRONGER, "" },
		{ "K % 64 == 0", "K % 48 == 0", KL_RELATION_OTHER, "K % 64 == 0" },
		{ "K == 128", "K % 64 == 0", KL_RELATION_WEAKER, "K == 128" },
		{ "K >= 128", "K >= 64", KL_RELATION_WEAKER, "K >= 128" },
		{ "128 <= K", "K > 64", KL_RELATION_WEAKER, "128 <= K" },
		{ "K > 64", "K >= 64", KL_RELATION_WEAKER, "K > 64" },
		{ "K < 64", "K <= 64.5", KL_RELATION_WEAKER, "K < 64" },
		{ "K < 64", "K > 64", KL_RELATION_OTHER, "K < 64" },
		{ "K > -2", "K >= -3", KL_RELATION_WEAKER, "K > -2" },
		{ "a >= 1 && b >= 1", "a >= 1", KL_RELATION_WEAKER, "b >= 1" },
		{ "a >= 1", "a >= 1 && b >= 1", KL_RELATION_STRONGER, "" },
		{ "a >= 1", "a >= 1 || b >= 1", KL_RELATION_WEAKER, "a >= 1" },
		{ "a >= 1 || b >= 1", "b > 2 || a == 5", KL_RELATION_STRONGER, "" },
		{ "a >= 1 && b >= 1", "a >= 2 && c >= 1", KL_RELATION_OTHER, "b >= 1" },
		{ "dtype == 'f16'", "dtype == 'f16' || dtype == 'bf16'", KL_RELATION_WEAKER, "dtype == 'f16'" },
		{ "dtype == 'f16'", "dtype != 'f32'", KL_RELATION_WEAKER, "dtype == 'f16'" },
		{ "!has('x')", "!(has('x') && has('y'))", KL_RELATION_WEAKER, "!has(x)" },
		{ "has('x')", "!has('x')", KL_RELATION_OTHER, "has(x)" },
		{ "cdiv(K, BK) >= 2*STAGES && a - (b - 1) > 0", "a - b - 1 > 0", KL_RELATION_OTHER,
		  "cdiv(K, BK) >= 2*STAGES a - (b - 1) > 0" },
		{ "STAGES*tile + other <= smem", "STAGES*tile <= smem", KL_RELATION_OTHER,
		  "STAGES*tile + other <= smem" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec lost = KL_STRVEC_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

		if (relate(rows[i].old, rows[i].now, &lost) != rows[i].is)
			fail_msg("'%s' to '%s': another relation", rows[i].old, rows[i].now);
		for (size_t n = 0; n < lost.n; n++)
			kl_buf_addf(&buf, "%s%s", n ? " " : "", lost.v[n]);
		assert_string_equal(buf.ptr, rows[i].lost);
	}
}

static void gen_atoms(struct kl_buf *buf, struct kl_rng *rng, int depth)
{
	const char *name = names[kl_rng_below(rng, 2)];
	uint64_t kind = kl_rng_below(rng, 5);
	int n = (int)kl_rng_below(rng, 6) + 1;

	if (depth > 0 && kl_rng_below(rng, 3)) {
		kl_buf_adds(buf, kl_rng_below(rng, 6) ? "(" : "!(");
		gen_atoms(buf, rng, depth - 1);
		kl_buf_adds(buf, kl_rng_below(rng, 2) ? " && " : " || ");
		gen_atoms(buf, rng, depth - 1);
		kl_buf_addch(buf, ')');
	} else if (kind == 2) {
		kl_buf_addf(buf, "%d == %s", n, name);
	} else {
		kl_buf_addf(buf,
			    kind == 4 ? "%s %% %d == 0" :
			    kind == 3 ? "%s != %d" :
			    kind      ? "%s < %d" :
					"%s >= %d",
			    name, n);
	}
}

/* a predicate that is called weaker holds wherever the other predicate holds */
static void no_relation_is_wrong(void **state)
{
	size_t related = 0;
	struct kl_rng rng;

	kl_rng_seed(&rng, 13);
	for (int i = 0; i < 20000; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf old = KL_BUF_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf now = KL_BUF_INIT;
		enum kl_relation is;

		gen_atoms(&old, &rng, 2);
		gen_atoms(&now, &rng, 2);
		is = relate(old.ptr, now.ptr, NULL);
		related += is != KL_RELATION_OTHER;
		for (int64_t at = 0; at < 81 && is != KL_RELATION_OTHER; at++) {
			KL_AUTO(kl_known_release) struct kl_known known = KL_KNOWN_INIT;
			bool before, after;

			kl_known_int(&known, names[0], at / 9 - 1);
			kl_known_int(&known, names[1], at % 9 - 1);
			before = ask(old.ptr, &known) == KL_TRUE;
			after = ask(now.ptr, &known) == KL_TRUE;
			if ((before && !after && is != KL_RELATION_STRONGER) ||
			    (after && !before && is != KL_RELATION_WEAKER))
				fail_msg("'%s' to '%s' is no %d", old.ptr, now.ptr, is);
		}
	}
	assert_true(related > 500); /* or nothing was tested */
}

static void a_proof_is_bounded(void **state)
{
	struct kl_buf all = KL_BUF_INIT, any = KL_BUF_INIT;

	for (int i = 0; i < 70; i++) {
		kl_buf_addf(&all, "%sa%d > 1", i ? "&&" : "", i);
		kl_buf_addf(&any, "%sb%d > 1", i ? "||" : "", i);
	}
	assert_int_equal(relate(all.ptr, any.ptr, NULL), KL_RELATION_OTHER);
	kl_buf_release(&all);
	kl_buf_release(&any);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(evaluates),
		cmocka_unit_test(refuses_with_its_place),
		cmocka_unit_test(is_bounded),
		cmocka_unit_test(explains),
		cmocka_unit_test(knowing_more_never_changes_an_answer),
		cmocka_unit_test(agrees_with_contracts),
		cmocka_unit_test(tells_weaker_from_stronger),
		cmocka_unit_test(no_relation_is_wrong),
		cmocka_unit_test(a_proof_is_bounded),
	};

	return cmocka_run_group_tests_name("skill_predicate", tests, NULL, NULL);
}
