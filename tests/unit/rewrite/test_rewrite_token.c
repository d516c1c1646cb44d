/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "rewrite/pass/cocci.h"
#include "rewrite/pass/tokenpass.h"
#include "rewrite/source/token_digest.h"

static bool one_site(const struct kl_cedit *edit, void *payload)
{
	return edit->site == *(int *)payload;
}

/* what pass `name` makes of `src`; site < 0: all sites */
static char *run(const char *name, const char *src, int site)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_cedits_release) struct kl_cedits cedits = { 0 };
	struct kl_buf out = KL_BUF_INIT;
	const struct kl_tokenpass *tokenpass = kl_tokenpass_find(name);

	assert_non_null(tokenpass);
	kl_ctoken_lex(&tokens, src, strlen(src));
	tokenpass->find(&cedits, &tokens);
	kl_cedits_apply(&out, &tokens, &cedits, site < 0 ? NULL : one_site, &site);
	return kl_buf_detach(&out);
}

static void check(const char *name, const char *src, const char *want)
{
	KL_AUTO(kl_freep) char *got = run(name, src, -1);

	assert_string_equal(got, want);
}

static void test_passes(void **state)
{
	check("drop-unroll", "a;\n#pragma GCC unroll 4\nfor (;;)\n\tb;\n", "a;\nfor (;;)\n\tb;\n");
	check("drop-unroll", "\t_Pragma(\"GCC unroll 8\")\n\tfor (;;);\n", "\tfor (;;);\n");
	check("drop-unroll", "#pragma once\n", "#pragma once\n");
	check("drop-unroll", "#pragma unroll\nx\n#pragma unroll 16\ny\n#pragma unroll N\n",
	      "x\ny\n");
	/* what forbids to unroll stays: roll-loop would only write it again */
	check("drop-unroll", "#pragma unroll 1\n#pragma unroll (1)\n#pragma GCC unroll 0\n",
	      "#pragma unroll 1\n#pragma unroll (1)\n#pragma GCC unroll 0\n");
	check("drop-unroll", "_Pragma(\"unroll 1\") _Pragma(\"clang loop unroll(disable)\") x\n",
	      "_Pragma(\"unroll 1\") _Pragma(\"clang loop unroll(disable)\") x\n");
	check("drop-ivdep", "#  pragma   GCC  ivdep\nx\n", "x\n");
	check("drop-ivdep", "#pragma   GCC \\\n ivdep\nx\n", "x\n");
	check("drop-restrict", "void f(float *restrict a, int *__restrict__ b);\n",
	      "void f(float *a, int *b);\n");
	check("drop-restrict", "/* restrict */ char *s = \"restrict\"; // restrict\n",
	      "/* restrict */ char *s = \"restrict\"; // restrict\n");
	check("drop-attribute", "static __attribute__((always_inline, hot)) int f(void);\n",
	      "static int f(void);\n");
	check("drop-attribute", "float x[8] __attribute__((aligned(32)));\n", "float x[8] ;\n");
	check("drop-attribute", "__attribute__((hot, target(\"avx2\"))) int f(void);\n",
	      "__attribute__((hot, target(\"avx2\"))) int f(void);\n");
	check("drop-expect", "if (__builtin_expect(f(a, b) > 0, 1))", "if ((f(a, b) > 0))");
	check("plain-store", "_mm256_stream_ps(p, v);\n_mm_sfence();\nreturn;\n",
	      "_mm256_storeu_ps(p, v);\nreturn;\n");
	check("unaligned", "_mm_load_ps(_mm256_loadu_ps)", "_mm_loadu_ps(_mm256_loadu_ps)");
	check("split-fma", "s = _mm256_fmadd_ps(_mm256_set1_ps(a[1]), f(x, y), s);",
	      "s = _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(a[1]), f(x, y)), s);");
	check("split-fma", "s = _mm256_fnmadd_ps(a, b, c);", "s = _mm256_fnmadd_ps(a, b, c);");
}

static void test_cuda_hints(void **state)
{
	check("drop-bounds", "__global__ void __launch_bounds__(T, f(2)) k(int n)\n",
	      "__global__ void k(int n)\n");
	check("drop-bounds", "__launch_bounds__ k(\n", "__launch_bounds__ k(\n");
	check("roll-loop", "void f()\n{\n\tfor (;;)\n\t\tx;\n}\n",
	      "void f()\n{\n\t#pragma unroll 1\n\tfor (;;)\n\t\tx;\n}\n");
	check("roll-loop", "void f() {\n#pragma unroll 4\n\tfor (;;) for (;;) x;\n}\n",
	      "void f() {\n#pragma unroll 1\n\tfor (;;) \n#pragma unroll 1\n\tfor (;;) x;\n}\n");
	/* rolled already, outside of functions, in an argument, in a macro */
	check("roll-loop", "void f() {\n#pragma  unroll 1\nfor (;;) x;\n}\n",
	      "void f() {\n#pragma  unroll 1\nfor (;;) x;\n}\n");
	check("roll-loop", "#define L for (;;)\nfor (;;) x;\nvoid f() { M(for (;;) x); }\n",
	      "#define L for (;;)\nfor (;;) x;\nvoid f() { M(for (;;) x); }\n");
}

static void test_scalar_load(void **state)
{
	static const char *const left[] = {
		"v = *(const float4 *)&x[i++];", /* evaluated twice it would step twice */
		"v = *(float4 *)f(x);",
		"v = *(float4 *)&x[at(i)];",
		"v = *(float4 *)(x = y);",
		"v = *(float4 *)(char *)p;",
		"v = a *(float4 *)p;",
		"v = *(double4 *)p;",
		"*(float2 *)p++ = v;",
		"*(float4 *)p += v;",
		"f(*(float4 *)p = v);",
		"*(float4 *)p = v",
		"v = *(float4 *)",
		"*(float4 *)p = g(a;",
	};

	check("scalar-load", "\tv = *(const float2 *)&x[i * 4];\n",
	      "\tv = make_float2(((const float *)&x[i * 4])[0],\n\t\t((const float *)&x[i * 4])[1]);\n");
	check("scalar-load", "\treturn *(uint2 *)s->a.b;\n",
	      "\treturn make_uint2(((unsigned *)s->a.b)[0],\n\t\t((unsigned *)s->a.b)[1]);\n");
	check("scalar-load", "if (*(int2 *)(p + 1) == q)",
	      "if (make_int2(((int *)(p + 1))[0],\n\t((int *)(p + 1))[1]) == q)");
	check("scalar-load", "\tif (c)\n\t\t*(float2 *)&y[i] = add(a, b);\n\telse\n\t\tz;\n",
	      "\tif (c)\n\t\t{\n\t\t\tfloat2 kl_v = add(a, b);\n\n\t\t\t((float *)&y[i])[0] = kl_v.x;\n"
	      "\t\t\t((float *)&y[i])[1] = kl_v.y;\n\t\t}\n\telse\n\t\tz;\n");
	for (size_t i = 0; i < KL_ARRAY_SIZE(left); i++)
		check("scalar-load", left[i], left[i]);
}

static void test_one_site(void **state)
{
	const char *src = "#pragma unroll 2\na\n#pragma unroll 4\nb\n";
	KL_AUTO(kl_freep) char *first = run("drop-unroll", src, 0);
	KL_AUTO(kl_freep) char *second = run("drop-unroll", src, 1);

	assert_string_equal(first, "a\n#pragma unroll 4\nb\n");
	assert_string_equal(second, "#pragma unroll 2\na\nb\n");
}

static void test_functions(void **state)
{
	static const char src[] = "struct s { int a; };\n"
				  "static inline int one(int x) __attribute__((hot));\n"
				  "static int one(int x)\n{\n\treturn x;\n}\n"
				  "int x[] = { 1, 2 };\n"
				  "void two(void) { if (x[0]) { x[1] = '}'; } }\n";
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_freep) char *at5 = NULL;
	KL_AUTO(kl_freep) char *at8 = NULL;
	KL_AUTO(kl_freep) char *at7 = NULL;

	kl_ctoken_lex(&tokens, src, strlen(src));
	assert_int_equal(tokens.nfn, 2);
	at5 = kl_ctoken_function_at(&tokens, 5);
	at7 = kl_ctoken_function_at(&tokens, 7);
	at8 = kl_ctoken_function_at(&tokens, 8);
	assert_string_equal(at5, "one");
	assert_string_equal(at7, "");
	assert_string_equal(at8, "two");
}

/* whatever bytes come, lexing ends and every token lies inside */
static void test_any_bytes(void **state)
{
	static const char *const odd[] = { "",
					   "\"",
					   "'\\",
					   "/*",
					   "/* *",
					   "#",
					   "#\\",
					   "{ ( ] }",
					   "\\\n",
					   "a\"b\n\"",
					   "0x1p-",
					   "1e+",
					   "__attribute__((",
					   "_Pragma(",
					   "__launch_bounds__(",
					   "*(float4 *)",
					   "=*(float4*)(",
					   "*(int2*)&a[",
					   ";*(int2*)a=",
					   "void f(){for(",
					   ";*(int2*)a=(b" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(odd); i++) {
		KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
		static const char *const pass[] = {
			"drop-unroll",    "drop-attribute", "split-fma",
			"drop-expect",    "plain-store",    "drop-bounds",
			"roll-loop",      "scalar-load",    "scalar-lanes",
			"count-by-loop",  "no-guess",       "rebranch",
			"reroll",         "plain-copy",     "plain-operand",
			"scatter-store",  "scalar-product", "scalar-group-product",
			"even-registers", "copy-at-once",   "drop-cache-hint",
			"exact-math",     "unpad",          "drop-swizzle",
			"unshuffle",      "unballot"
		};

		kl_ctoken_lex(&tokens, odd[i], strlen(odd[i]));
		for (size_t turn = 0; turn < tokens.n; turn++)
			assert_true(tokens.t[turn].len > 0 &&
				    tokens.t[turn].off + tokens.t[turn].len <= tokens.len);
		for (size_t at = 0; at < KL_ARRAY_SIZE(pass); at++)
			check(pass[at], odd[i], odd[i]);
	}
}

static void test_tiles(void **state)
{
	static const char src[] =
		"#define KC 256\n#define MR (6) /* rows */\n#define F(x) 8\n#define ONE 1\n"
		"#define UNUSED 64\n#define lower 32\n"
		"enum { NR = 16, LAST };\nstatic const int TILE = 32;\n"
		"#define MARGIN 16 /* only added: no size */\n"
		"int f(void) { int B = 4; int i, x[NR]; for (i = 0; i < KC; i++) x[0] += i * MR; "
		"return ONE * lower + x[0] % TILE + MARGIN; }\n";
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_tiles_release) struct kl_tiles tiles = { 0 };

	kl_ctoken_lex(&tokens, src, strlen(src));
	kl_tokenpass_tiles(&tiles, &tokens);
	assert_int_equal(tiles.n, 4);
	assert_string_equal(tiles.t[0].name, "KC");
	assert_int_equal(tiles.t[0].value, 256);
	assert_string_equal(tiles.t[1].name, "MR");
	assert_int_equal(tiles.t[1].value, 6);
	assert_string_equal(tiles.t[2].name, "NR");
	assert_string_equal(tiles.t[3].name, "TILE");
	assert_int_equal(tiles.t[3].line, 8);
}

static void test_cocci_audit(void **state)
{
	static const char *const bad[] = {
		"@initialize:python@\n@@\nimport os\n",
		"@ script : python depends on r @\nx << r.x;\n@@\nprint(x)\n",
		"@\nscript\n:ocaml@\n@@\n",
		"@script/* */:python@\n@@\n",
		"@finalize:ocaml@\n@@\n",
		"@r@\nidentifier x : script:python() { True };\n@@\nx\n",
		"#spatch --iso-file x\n@@\n@@\n- a\n",
		"  #include \"other.cocci\"\n",
		"using \"x.iso\"\n@@\n@@\n",
	};
	static const char good[] =
		"// a scripted description, using words\n@r@\nidentifier script_x;\n@@\n"
		"- #include <a.h>\n+ #include <b.h>\n- script_x();\n";

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_error(KL_EINVALID, "must not use",
			     kl_cocci_audit("p.cocci", bad[i], strlen(bad[i])));
	assert_error(KL_EINVALID, "p.cocci:2:", kl_cocci_audit("p.cocci", "\n@script:python@", 16));
	assert_ok(kl_cocci_audit("p.cocci", good, strlen(good)));
}

/* digest a text as file a.c, and `other` as file b.h, of a kernel whose entry is `entry` */
static void digest(char hex[KL_DIGEST_HEX], const char *entry, const char *text, const char *other)
{
	struct kl_token_scope scope = { .adapters = KL_STRVEC_INIT };
	struct kl_token_digests digests;
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;
	struct kl_token_file *file[2];

	scope.ids.free_value = free;
	scope.entry = entry ? kl_strdup(entry) : NULL;
	kl_strvec_push(&paths, "a.c");
	kl_strvec_push(&paths, "b.h");
	file[0] = kl_token_file_read(&scope, text, strlen(text));
	file[1] = kl_token_file_read(&scope, other, strlen(other));
	kl_token_state(&digests, &scope, &paths, (const struct kl_token_file *const *)file);
	memcpy(hex, entry ? digests.reached : digests.whole, KL_DIGEST_HEX);
	if (!entry)
		assert_string_equal(digests.reached, digests.whole);
	assert_true(kl_token_file_bytes(file[0]) > 0);
	kl_token_file_free(file[0]);
	kl_token_file_free(file[1]);
	kl_token_scope_release(&scope);
}

static void test_digest(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} row[] = {
		{ "int a;", "int  a ; // word\n", true },
		{ "int a;", "/* ; */ int\r\na;", true },
		{ "int a;", "int b;", false },
		{ "inta;", "int a;", false },
		{ "a++ + b", "a++ +b", true },
		{ "a++ + b", "a + ++b", false },
		{ "a >> b", "a > > b", false },
		{ "#define A(x) x\n", "#define  A(x)\tx /* word */\n", true },
		{ "#define A(x) x\n", "#define A (x) x\n", false },
		{ "#define A 1 \\\n + 2\n", "#define A 1 + 2 // more\r\n", true },
		{ "#define A \"a  b\"\n", "#define A \"a b\"\n", false },
		{ "#define A \"/* */\"\n", "#define A \"\"\n", false },
		{ "s = \"a  b\"", "s = \"a b\"", false },
		{ "#ifdef A\nint a;\n#endif\n", "#ifdef A int a;\n#endif\n", false },
		{ "", " /* nothing */\n", true },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		char a[KL_DIGEST_HEX], b[KL_DIGEST_HEX];

		digest(a, NULL, row[i].a, "");
		digest(b, NULL, row[i].b, "");
		if (!strcmp(a, b) != row[i].same)
			fail_msg("%s | %s", row[i].a, row[i].b);
	}
}

static void test_digest_of_a_function(void **state)
{
#define KERNEL "void k(int n)\n{\n\thelp(n);\n}\n"
#define HELP(body) "static int help(int n) { " body " }\n"
#define OTHER(body) "int other(int n) { " body " }\n"
	static const struct {
		const char *a, *b;
		bool same;
	} row[] = {
		{ OTHER("return 1;") KERNEL, OTHER("return 2 + n;") KERNEL, true },
		{ KERNEL, KERNEL OTHER("return 2 + n;"), true },
		{ HELP("return 1;") KERNEL, HELP("return 2;") KERNEL, false },
		{ OTHER("return 1;") HELP("return other(n);") KERNEL,
		  OTHER("return 2;") HELP("return other(n);") KERNEL, false },
		/* macros and tables of functions */
		{ "#define help other\n" OTHER("return 1;") KERNEL,
		  "#define help other\n" OTHER("return 2;") KERNEL, false },
		{ OTHER("return 1;") "int (*t[])(int) = { other };\n" KERNEL,
		  OTHER("return 2;") "int (*t[])(int) = { other };\n" KERNEL, false },
		/* what stands outside of functions, directives, and macros that define functions */
		{ "int size = 1;\n" KERNEL, "int size = 2;\n" KERNEL, false },
		{ OTHER("\n#define N 1\n") KERNEL, OTHER("\n#define N 2\n") KERNEL, false },
		{ "DEFINE(help) { return 1; }\n" KERNEL, "DEFINE(help) { return 2; }\n" KERNEL,
		  false },
		{ "static define(help) { return 1; }\n" KERNEL,
		  "static define(help) { return 2; }\n" KERNEL, false },
		/* the file does not have the entry */
		{ OTHER("return 1;"), OTHER("return 2;"), false },
	};
	static const char header[] =
		"int named(int);\nstatic inline int use(int n) { return named(n); }\n";

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		char a[KL_DIGEST_HEX], b[KL_DIGEST_HEX];

		digest(a, "k", row[i].a, "");
		digest(b, "k", row[i].b, "");
		if (!strcmp(a, b) != row[i].same)
			fail_msg("%s | %s", row[i].a, row[i].b);
		digest(a, NULL, row[i].a, "");
		digest(b, NULL, row[i].b, "");
		assert_string_not_equal(a, b);
	}
	/* a function of another source names it: one that counts, or one that does not */
	for (int counts = 0; counts < 2; counts++) {
		static const char *const kernel[] = { KERNEL, "void k(int n)\n{\n\tuse(n);\n}\n" };
		KL_AUTO(kl_freep) char *one = kl_asprintf("int named(int n) { return 1; }\n%s",
							  kernel[counts]);
		KL_AUTO(kl_freep) char *two = kl_asprintf("int named(int n) { return 2; }\n%s",
							  kernel[counts]);
		char a[KL_DIGEST_HEX], b[KL_DIGEST_HEX];

		digest(a, "k", one, header);
		digest(b, "k", two, header);
		assert_int_equal(!strcmp(a, b), !counts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passes),      cmocka_unit_test(test_cuda_hints),
		cmocka_unit_test(test_scalar_load), cmocka_unit_test(test_one_site),
		cmocka_unit_test(test_functions),   cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_tiles),       cmocka_unit_test(test_cocci_audit),
		cmocka_unit_test(test_digest),      cmocka_unit_test(test_digest_of_a_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
