/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "rewrite/source/loop.h"

struct found {
	struct kl_ctokens tokens;
	struct kl_loops loops;
};

static void find(struct found *out, const char *text)
{
	kl_ctoken_lex(&out->tokens, text, strlen(text));
	kl_loops_find(&out->loops, &out->tokens);
}

static void release(struct found *found)
{
	kl_loops_release(&found->loops);
	kl_ctokens_release(&found->tokens);
}

/* the accesses of the first loop as "A[i*lda+j] r; y[i] w; ", or "?" if they are not known */
static char *accesses_of(const char *text)
{
	KL_AUTO(release) struct found found;
	struct kl_cstmts stmts = { 0 };
	struct kl_accesses accesses = { 0 };
	struct kl_buf out = KL_BUF_INIT;

	find(&found, text);
	assert_true(found.loops.n > 0);
	if (!kl_loop_body(&stmts, &found.loops, &found.loops.v[0]) ||
	    !kl_accesses_read(&accesses, &found.loops, &stmts))
		accesses.n = 0, kl_buf_adds(&out, "?");
	for (size_t i = 0; i < accesses.n; i++) {
		const struct kl_access *access = &accesses.v[i];

		kl_buf_addf(&out, "%s%s[", i ? "; " : "", access->root->name);
		for (size_t k = 0; k < access->index.n; k++)
			kl_buf_addf(&out, "%s%lld*%s", k ? " " : "",
				    (long long)access->index.term[k].factor,
				    access->index.term[k].product);
		kl_buf_addf(&out, "] %s%s", access->read ? "r" : "", access->write ? "w" : "");
	}
	kl_cstmts_release(&stmts);
	kl_accesses_release(&accesses);
	return kl_buf_detach(&out);
}

#define SGEMV(row, at)                                                                          \
	"void f(int64_t m, int64_t n, int64_t lda, const float *A, const float *x, float *y)\n" \
	"{\n\tfor (int64_t i = 0; i < m; i++) {\n" row                                          \
	"\t\tfloat s = 0;\n\t\tfor (int64_t j = 0; j < n; ++j)\n\t\t\ts += " at                 \
	" * x[j];\n\t\ty[i] = s;\n\t}\n}\n"

static void test_addresses(void **state)
{
	static const struct {
		const char *text;
		bool taken;
	} row[] = {
		{ "f(&x)", true },      { "p = &x;", true },   { "(char *)&x", true },
		{ "return &x;", true }, { "a && &x", true },   { "a &&&x", true },
		{ "a && x", false },    { "a & x", false },    { "a[1] & x", false },
		{ "3 & x", false },     { "a[1] &&x", false }, { "x", false },
		{ "&x", true },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
		size_t at = 0;

		kl_ctoken_lex(&tokens, row[i].text, strlen(row[i].text));
		while (!kl_ctoken_is(&tokens, at, "x"))
			at++;
		if (kl_loop_takes_address(&tokens, at) != row[i].taken)
			fail_msg("%s", row[i].text);
	}
}

static void test_nest(void **state)
{
	KL_AUTO(release) struct found found;
	const struct kl_loop *loop;

	find(&found, SGEMV("", "A[i * lda + j]"));
	assert_int_equal(found.loops.n, 2);
	loop = &found.loops.v[0];
	assert_string_equal(loop->counter, "i");
	assert_string_equal(loop->type, "int64_t");
	assert_true(loop->declares && loop->braces && loop->from_zero && !loop->innermost);
	assert_int_equal(loop->parent, -1);
	loop = &found.loops.v[1];
	assert_string_equal(loop->counter, "j");
	assert_true(loop->declares && !loop->braces && loop->innermost && !loop->remainder);
	assert_int_equal(loop->parent, 0);
	assert_int_equal(loop->step, 1);
}

static void test_heads(void **state)
{
	static const struct {
		const char *head;
		int64_t step; /* 0: this is no loop */
	} head[] = {
		{ "for (i = 0; i < n; i++)", 1 },
		{ "for (int k = 2; k < n - 1; k += 8)", 8 },
		{ "for (size_t k = n / 4 * 4; k < n; ++k)", 1 },
		{ "for (int k = 0; k + 4 <= n; k += 4)", 4 },
		{ "for (int k = 0; k + 4 < n; k += 4)", 0 },
		{ "for (i = 0; i <= n; i++)", 0 },
		{ "for (i = n; i > 0; i--)", 0 },
		{ "for (i = 0; i < n; i *= 2)", 0 },
		{ "for (i = 0; i < n; i += n)", 0 },
		{ "for (i = 0, m = 1; i < n; i++)", 0 },
		{ "for (float t = 0; t < n; t++)", 0 },
		{ "for (i = 0; i < next(); i++)", 0 },
		{ "for (; i < n; i++)", 0 },
		{ "for (;;)", 0 },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(head); i++) {
		KL_AUTO(release) struct found found;
		KL_AUTO(kl_freep)
		char *text = kl_asprintf("void f(int n, float *x)\n{\n\tint i, m;\n\t%s\n"
					 "\t\tx[0] = 1;\n}\n",
					 head[i].head);

		find(&found, text);
		assert_int_equal(found.loops.n, head[i].step != 0);
		if (head[i].step)
			assert_int_equal(found.loops.v[0].step, head[i].step);
	}
}

static void test_not_sure(void **state)
{
	static const char *const body[] = {
		"{ if (x[i] > 0) break; }",
		"{ x[i] = 0; i++; }",
		"{ n--; x[i] = 0; }",
		"{ x[i] = 0; g(&n); }",
		"{ x[i] = 0; goto out; }",
		"{ x[i] = 0; return; }",
		"{\n#if A\n\tx[i] = 0;\n#endif\n}",
		"x[i] = ELEMENT(i);",
		"if (x[i]) x[i] = 1;",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(body); i++) {
		KL_AUTO(release) struct found found;
		KL_AUTO(kl_freep)
		char *text = kl_asprintf("#define ELEMENT(k) y[k]\n#define N 4\nvoid f(int n, "
					 "float *x)\n{\n\tfor (int i = 0; i < n; i++)\n\t\t%s\n"
					 "out:;\n}\n",
					 body[i]);

		find(&found, text);
		assert_int_equal(found.loops.n, 0);
	}
}

static void test_accesses(void **state)
{
	static const struct {
		const char *text, *want;
	} row[] = {
		{ SGEMV("", "A[i * lda + j]"), "A[1*i*lda 1*j] r; x[1*j] r; y[1*i] w" },
		{ SGEMV("", "A[j + lda * (int64_t)i]"), "A[1*i*lda 1*j] r; x[1*j] r; y[1*i] w" },
		{ SGEMV("\t\tconst float *a = A + i * lda;\n", "a[j]"),
		  "A[1*i*lda 1*j] r; x[1*j] r; y[1*i] w" },
		{ SGEMV("\t\tint64_t at = (i + 1) * lda - 2;\n", "A[at + 3 * j]"),
		  "A[-2* 1*i*lda 3*j 1*lda] r; x[1*j] r; y[1*i] w" },
		{ SGEMV("\t\tint64_t at = i * lda; at = 7;\n", "A[at + j]"), "?" },
		{ SGEMV("\t\tint64_t at = i / 2;\n", "A[at + j]"), "?" },
		{ SGEMV("\t\tconst float *a = A + i * lda; a++;\n", "a[j]"), "?" },
		{ SGEMV("", "A[i * lda + x[j]]"), "?" },
		{ SGEMV("", "*A"), "?" },
		{ SGEMV("", "unknown(j)"), "?" },
		{ SGEMV("", "(m = 3)"), "?" },
		{ SGEMV("", "sqrtf(A[j])"), "A[1*j] r; x[1*j] r; y[1*i] w" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		KL_AUTO(kl_freep) char *got = accesses_of(row[i].text);

		assert_string_equal(got, row[i].want);
	}
}

static void test_hostile(void **state)
{
	static const char *const text[] = {
		"for",
		"for (",
		"void f() { for (",
		"void f() { for (;",
		"void f(){for(int i=0;i<n;i++)",
		"void f(){for(int i=0;i<n;i++){",
		"void f(){for(int i=0;i<n;i++)}",
		"void f(int){int",
		"void f(float *restrict",
		"void f(){int a=",
		"void f(){int a[",
		"#define",
		"void f(){for(int i=;i<;i++);}",
		"void f(){for(int i=0;i<n;i++);}",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(text); i++) {
		KL_AUTO(release) struct found found;

		find(&found, text[i]);
		assert_true(found.loops.n <= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses), cmocka_unit_test(test_nest),
		cmocka_unit_test(test_heads),     cmocka_unit_test(test_not_sure),
		cmocka_unit_test(test_accesses),  cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
