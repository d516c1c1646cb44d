/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "rewrite/pass/tokenpass.h"

/* what pass `name` makes of `src` */
static char *run(const char *name, const char *src)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_cedits_release) struct kl_cedits cedits = { 0 };
	struct kl_buf out = KL_BUF_INIT;

	kl_ctoken_lex(&tokens, src, strlen(src));
	kl_tokenpass_find(name)->find(&cedits, &tokens);
	kl_cedits_apply(&out, &tokens, &cedits, NULL, NULL);
	return kl_buf_detach(&out);
}

/* every part of `want`, which a '|' separates, is in the result, and `gone` is not */
static void becomes(const char *name, const char *src, const char *want, const char *gone)
{
	KL_AUTO(kl_freep) char *got = run(name, src);
	KL_AUTO(kl_freep) char *parts = kl_strdup(want);
	char *save;

	for (char *part = strtok_r(parts, "|", &save); part; part = strtok_r(NULL, "|", &save))
		assert_contains(got, part);
	assert_null(strstr(got, gone));
}

static void stays(const char *name, const char *src)
{
	KL_AUTO(kl_freep) char *got = run(name, src);

	assert_string_equal(got, src);
}

static void test_registers(void **state)
{
	becomes("even-registers",
		"void f() { asm volatile(\"setmaxnreg.inc.sync.aligned.u32 %0;\" :: \"n\"(N)); g(); }",
		"void f() { ; g(); }", "setmaxnreg");
	stays("even-registers", "void f() { asm(\"mov.u32 %0, %1;\" : \"=r\"(a) : \"r\"(b)); }");
	stays("even-registers",
	      "#define GIVE asm(\"setmaxnreg.dec.sync.aligned.u32 24;\")\n"
	      "void f() { asm(\"setmaxnreg.inc.sync.aligned.u32 240;\"); GIVE; }");
}

static void test_copy(void **state)
{
	becomes("plain-copy",
		"void f() {\n\tasm volatile(\"cp.async.cg.shared.global [%0], [%1], 16;\\n\"\n"
		"\t\t:: \"r\"(to + 1), \"l\"(g(x, y)) : \"memory\");\n"
		"\tasm volatile(\"cp.async.commit_group;\");\n\tasm(\"cp.async.wait_group %0;\" :: \"n\"(1));\n"
		"\t__syncthreads();\n}",
		"kl_word = *(const uint4 *)(g(x, y));|__cvta_shared_to_generic((size_t)(to + 1)) = kl_word;|"
		"\t;\n\t;\n\t__syncthreads();",
		"cp.async");
	becomes("plain-copy",
		"void f() { asm(\"cp.async.ca.shared.global [%0], [%1], 4, %2;\" :: \"r\"(p), \"l\"(q), "
		"\"r\"(in ? 4 : 0)); }",
		"unsigned kl_word = {};|memcpy(&kl_word, (const void *)(q), (size_t)(in ? 4 : 0));",
		"cp.async");
	/* barriers that count copies; a bulk copy; a form that is not known; a macro */
	stays("plain-copy",
	      "void f() { asm(\"cp.async.wait_all;\"); "
	      "asm(\"cp.async.mbarrier.arrive.noinc.shared.b64 [%0];\" :: \"r\"(b)); }");
	stays("plain-copy", "void f() { asm(\"cp.async.bulk.commit_group;\"); }");
	stays("plain-copy",
	      "void f() { asm(\"cp.async.ca.shared.global [%0+8], [%1], 4;\" :: \"r\"(p), "
	      "\"l\"(q)); }");
	stays("plain-copy",
	      "#define C asm(\"cp.async.ca.shared.global [%0], [%1], 4;\" :: \"r\"(p))\n"
	      "void f() { asm(\"cp.async.wait_all;\"); C; }");
}

static void test_matrix(void **state)
{
	becomes("plain-operand",
		"__device__ void f(int n)\n{\n\tasm(\"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];\""
		" : \"=r\"(a[0]), \"=r\"(a[1]) : \"r\"(at));\n}\n",
		"unsigned kl_word(unsigned row, int m)|__device__ void f(int n)\n{\n|"
		"{ unsigned kl_row = (unsigned)(at); a[0] = kl_word(kl_row, 0); a[1] = kl_word(kl_row, 1); }",
		"ldmatrix");
	becomes("plain-operand",
		"void f() { asm(\"ldmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 {%0}, [%1];\" : \"=r\"(a) : "
		"\"r\"(p)); }",
		"a = kl_turned_word(kl_row, 0);", "ldmatrix");
	stays("plain-operand",
	      "void f() { asm(\"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%0}, [%1];\" : "
	      "\"=r\"(a) : \"r\"(p)); }");
	stays("plain-operand",
	      "void f() { asm(\"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0}, [%1];\" : "
	      "\"=r\"(a) : \"r\"(p)); }");
	becomes("scatter-store",
		"void f() { asm(\"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};\" :: \"r\"(p), \"r\"(v)); }",
		"void kl_put(|kl_put(kl_row, 0, v);", "stmatrix");
	stays("scatter-store",
	      "void f() { asm(\"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};\" :: "
	      "\"r\"(p)); }");
}

static void test_product(void **state)
{
	static const char half[] =
		"void f() { asm(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
		"{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\" : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), "
		"\"+f\"(d[3]) : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1])); }";
	static const char integer[] =
		"void f() { asm(\"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0}, {%1}, {%2}, {%0};\" "
		": \"+r\"(d) : \"r\"(a), \"r\"(b)); }";

	becomes("scalar-product", half,
		"kl_low_bf16(|kl_multiply_bf16<2>(kl_d, kl_a, kl_b); d[0] = kl_d[0];|"
		"const unsigned kl_b[2] = { b[0], b[1] };",
		"mma.sync");
	stays("scalar-product", integer);
}

/* the operands are in a macro that uses another; the predicate comes from an operand */
static void test_group_product(void **state)
{
	static const char src[] =
		"#define F2(i) \"+f\"(d[i]), \"+f\"(d[i + 1])\n#define F4(i) F2(i), F2(i + 2)\n"
		"template <int N> void f() {\n\tasm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
		"\tasm volatile(\"{ .reg .pred p; setp.ne.b32 p, %6, 0;\\n\"\n"
		"\t\t\"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }\"\n"
		"\t\t: F4(0) : \"l\"(a), \"l\"(b), \"r\"(keep) : \"memory\");\n"
		"\tasm volatile(\"wgmma.wait_group.sync.aligned %0;\" :: \"n\"(N));\n}\n";
	KL_AUTO(kl_freep) char *turned = kl_strdup(src);
	char *at = strstr(turned, "0, 0; }");

	becomes("scalar-group-product", src,
		"float kl_d[4] = { d[0], d[0 + 1], d[0 + 2], d[0 + 2 + 1] };|"
		"kl_multiply_f16_group<8>(kl_d, a, b, keep); d[0] = kl_d[0];|bar.sync %0, 128;|"
		"}\n\n\ntemplate <int N> void f() {\n\t;\n",
		"wgmma");
	*at = '1'; /* an operand that lies the other way */
	stays("scalar-group-product", turned);
}

/* a macro that expands to itself, and many statements, end */
static void test_hostile(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf many = KL_BUF_INIT;

	stays("plain-operand",
	      "#define M(x) M(x), M(x)\nvoid f() { asm(\"ldmatrix.sync.aligned.m8n8.x1.shared.b16 "
	      "{%0}, [%1];\" : M(1) : \"r\"(p)); }");
	stays("plain-operand", "void f() { asm(\"ldmatrix. : (((; asm( asm(\"a\" : ; }");
	kl_buf_adds(&many, "void f() {\n");
	for (int i = 0; i < 100000; i++)
		kl_buf_adds(&many, "asm(\"cp.async.wait_all;\");\n");
	kl_buf_adds(&many, "}\n");
	stays("plain-copy", many.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers),     cmocka_unit_test(test_copy),
		cmocka_unit_test(test_matrix),        cmocka_unit_test(test_product),
		cmocka_unit_test(test_group_product), cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
