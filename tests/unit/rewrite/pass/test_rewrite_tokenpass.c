/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "rewrite/pass/tokenpass.h"

/* pass `name` makes `want` of `src` */
static void check(const char *name, const char *src, const char *want)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_cedits_release) struct kl_cedits cedits = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	const char *end;

	kl_ctoken_lex(&tokens, src, strlen(src));
	kl_tokenpass_find(name)->find(&cedits, &tokens);
	kl_cedits_apply(&out, &tokens, &cedits, NULL, NULL);
	/* skip the functions that a pass adds at the top */
	end = strncmp(want, "...", 3) ? NULL : strstr(out.ptr, want + 3);
	assert_string_equal(end ? end : out.ptr, end ? want + 3 : want);
}

static void stays(const char *name, const char *src)
{
	check(name, src, src);
}

static void test_cache_hint(void **state)
{
	check("drop-cache-hint",
	      "void f() { a = __ldg(p + __ldcs(&q[i, j])); __stcs(p, g(x, y)); }",
	      "void f() { a = (*(p + (*(&q[i, j])))); (*(p) = ( g(x, y))); }");
	stays("drop-cache-hint", "void f() { ldg(p); x = __ldg; __stcs(p); }");
}

static void test_exact(void **state)
{
	check("exact-math", "void f() { x = __expf(-a) + __fdividef(b, c + d); }",
	      "void f() { x = expf(-a) + ((b) / ( c + d)); }");
	stays("exact-math", "void f() { x = expf(a) + __fdividef(a, b, c); /* __expf(x) */ }");
}

static void test_bits(void **state)
{
	check("count-by-loop",
	      "int f(unsigned x)\n{\n\treturn __builtin_popcount(x) + __builtin_clz(x);\n}\n",
	      "...int f(unsigned x)\n{\n\treturn kl_ones(x) + kl_leading_zeros(32, x);\n}\n");
	stays("count-by-loop", "int f(unsigned x) { return popcount(x); }");
}

static void test_unpad(void **state)
{
	check("unpad", "void f() { __shared__ float a[T][T + 1], b[8][N + 4]; a[i][j + 1] = 0; }",
	      "void f() { __shared__ float a[T][T ], b[8][N ]; a[i][j + 1] = 0; }");
	stays("unpad",
	      "void f() { __shared__ float a[T + 1], b[2][T + P], c[4][N + 1][2]; float d[2][N + 1]; }");
}

static void test_swizzle(void **state)
{
	check("drop-swizzle", "void f() { s[r][c ^ (r & 7)] = t[(c ^ r % 8) * 4]; u = a ^ b; }",
	      "void f() { s[r][c ] = t[(c ) * 4]; u = a ^ b; }");
	stays("drop-swizzle", "void f() { a ^= b; c = d ^ e; t[i]; }");
}

static void test_exchange(void **state)
{
	check("unshuffle",
	      "__device__ float f(float v)\n{\n\treturn v + __shfl_xor_sync(~0u, v, 16);\n}\n",
	      "...__device__ float f(float v)\n{\n\treturn v + kl_from_xor(~0u, v, 16);\n}\n");
	/* a width of its own */
	stays("unshuffle",
	      "void f() { a = __shfl_sync(m, v, 0); b = __shfl_xor_sync(m, v, 1, 8); }");
	check("unballot", "void f() { b = __ballot_sync(m, x > y); }",
	      "...void f() { b = kl_conditions(m, x > y); }");
	stays("unballot", "void f() { b = __any_sync(m, x); }");
}

static void test_copy(void **state)
{
	check("copy-at-once",
	      "void f() { cuda::memcpy_async(&s[i], &a[g(i, 2)], cuda::aligned_size_t<16>(sizeof(float4)), bar); }",
	      "void f() { *(float4 *)(&s[i]) = *(const float4 *)( &a[g(i, 2)]); }");
	check("copy-at-once",
	      "void f() { __pipeline_memcpy_async(s, a, 16); __pipeline_commit(); __pipeline_wait_prior(0); }",
	      "void f() { *(uint4 *)(s) = *(const uint4 *)( a); (void)0; (void)0; }");
	check("copy-at-once", "void f() { cuda::memcpy_async(s, a, n, bar); }",
	      "void f() { memcpy(s, a, n); }");
	stays("copy-at-once",
	      "void f() { cuda::memcpy_async(block, s, a, n, bar); memcpy_async(a, b, c, d); }");
	stays("copy-at-once", "void f() { __pipeline_memcpy_async(s, a, 16, 8); }");
}

static void test_reinterpret(void **state)
{
	check("scalar-load",
	      "void f() {\n\tfloat2 v = reinterpret_cast<const float2 *>(&a[i])[0];\n}\n",
	      "void f() {\n\tfloat2 v = make_float2(((const float *)(&a[i]))[0],\n"
	      "\t\t((const float *)(&a[i]))[1]);\n}\n");
	check("scalar-load", "void f() {\n\t*reinterpret_cast<float2 *>(p + 2) = v;\n}\n",
	      "void f() {\n\t{\n\t\tfloat2 kl_v = v;\n\n\t\t((float *)(p + 2))[0] = kl_v.x;\n"
	      "\t\t((float *)(p + 2))[1] = kl_v.y;\n\t}\n}\n");
	stays("scalar-load", "void f() { v = reinterpret_cast<float4 *>(p++)[0]; }");
	stays("scalar-load",
	      "void f() { v = reinterpret_cast<float4 *>(p)[1]; q = reinterpret_cast<float4 *>(p); }");
	stays("scalar-load", "void f() { v = reinterpret_cast<float4 *>(at(p))[0]; }");
}

static void test_guess(void **state)
{
	check("no-guess",
	      "static int f(int n) {\n\tint a = g(n);\n\n\tif (n < 8 || a)\n\t\treturn 0;\n\treturn better(a);\n}\n",
	      "static int f(int n) {\n\tint a = g(n);\n\n\treturn 0;\n}\n");
	/* others may call it, another answer, a loop before it, nothing after it */
	stays("no-guess", "int f(int n) { if (n < 8) return 0; return better(n); }");
	stays("no-guess", "static int f(int n) { if (n < 8) return n; return better(n); }");
	stays("no-guess",
	      "static int f(int n) { for (;;) if (n < 8) return 0; return better(n); }");
	stays("no-guess", "static int f(int n) { if (n < 8) return 0; else return better(n); }");
	stays("no-guess", "static int f(int n) { if (n < 8) return 0; return 1; }");
}

static void test_rebranch(void **state)
{
	check("rebranch", "void f() {\n\tn += key >= pivot;\n\tm += a->b == c[i + 1];\n}\n",
	      "void f() {\n\tif (key >= pivot) n++;\n\tif (a->b == c[i + 1]) m++;\n}\n");
	stays("rebranch",
	      "void f() { n += a << 2; n += p->q; n += a < b ? 1 : 2; n += a < b & c; n += a; }");
	stays("rebranch", "void f() { n -= a < b; n[i] += a < b; n += a < b < c; }");
}

static void test_reroll(void **state)
{
	check("reroll",
	      "void f() {\n\ts += x[i + 1] * y[2];\n\ts += x[i + 2] * y[4];\n\ts += x[i + 3] * y[6];\n\tg();\n}\n",
	      "void f() {\n\tfor (int kl_i = 0; kl_i < 3; kl_i++) "
	      "s += x[i + (1 + kl_i * 1)] * y[(2 + kl_i * 2)];\n\tg();\n}\n");
	check("reroll", "#define ROW(r) c[r] = 0\nvoid f() { ROW(0); ROW(1); ROW(2); }\n",
	      "#define ROW(r) c[r] = 0\nvoid f() { for (int kl_i = 0; kl_i < 3; kl_i++) "
	      "ROW((0 + kl_i * 1)); }\n");
	/* the macro makes names of its argument */
	stays("reroll", "#define ROW(r) do { \\\n\tc##r = 0; \\\n} while (0)\n"
			"void f() { ROW(0); ROW(1); ROW(2); }\n");
	/* two copies, steps that differ, another name, copies that are the same, falling numbers */
	stays("reroll", "void f() { a[0] = 1; a[1] = 1; g(); }");
	stays("reroll", "void f() { a[0] = b; a[1] = b; a[3] = b; }");
	stays("reroll", "void f() { a[0] = b; a[1] = b; c[2] = b; }");
	stays("reroll", "void f() { g(1); g(1); g(1); }");
	/* what scalar-lanes wrote */
	stays("reroll", "void lanes256_f() { r.f32[0] = a; r.f32[1] = a; r.f32[2] = a; }");
	stays("reroll", "void f() { g(3); g(2); g(1); }");
	stays("reroll", "void f() { a[0] = 1.5f; a[0] = 2.5f; a[0] = 3.5f; }");
}

/* each ends soon on a hundred thousand lines, and on brackets that are never closed */
static void test_long(void **state)
{
	static const char *const pass[] = { "scalar-lanes",   "count-by-loop", "no-guess",
					    "rebranch",       "reroll",        "plain-copy",
					    "scalar-product", "copy-at-once",  "drop-cache-hint",
					    "unpad",          "drop-swizzle",  "unshuffle",
					    "scalar-load" };
	KL_AUTO(kl_buf_release) struct kl_buf deep = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_buf_adds(&text, "#include <a.h>\nstatic int f(void) {\n");
	for (int i = 0; i < 100000; i++)
		kl_buf_addf(&text, "x[%d] = _mm_unknown(%d) ^ y;\n", i % 977 * i, i);
	kl_buf_adds(&text, "}\n");
	kl_buf_adds(&deep, "void f() { __shared__ ");
	for (int i = 0; i < 100000; i++)
		kl_buf_adds(&deep, i % 2 ? "a[(^" : "__ldg(");
	for (size_t i = 0; i < KL_ARRAY_SIZE(pass); i++) {
		KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
		KL_AUTO(kl_cedits_release) struct kl_cedits cedits = { 0 };

		kl_ctoken_lex(&tokens, text.ptr, text.len);
		kl_tokenpass_find(pass[i])->find(&cedits, &tokens);
		stays(pass[i], deep.ptr);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_hint), cmocka_unit_test(test_exact),
		cmocka_unit_test(test_bits),       cmocka_unit_test(test_unpad),
		cmocka_unit_test(test_swizzle),    cmocka_unit_test(test_exchange),
		cmocka_unit_test(test_guess),      cmocka_unit_test(test_rebranch),
		cmocka_unit_test(test_reroll),     cmocka_unit_test(test_long),
		cmocka_unit_test(test_copy),       cmocka_unit_test(test_reinterpret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
