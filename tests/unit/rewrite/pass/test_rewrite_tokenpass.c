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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_hint), cmocka_unit_test(test_exact),
		cmocka_unit_test(test_bits),       cmocka_unit_test(test_unpad),
		cmocka_unit_test(test_swizzle),    cmocka_unit_test(test_exchange),
		cmocka_unit_test(test_copy),       cmocka_unit_test(test_reinterpret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
