/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "scratch.h"

#include "base/fs.h"
#include "base/mem.h"
#include "rewrite/pass/tokenpass.h"

/* what pass scalar-lanes makes of `src` */
static char *scalar(const char *src)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_cedits_release) struct kl_cedits cedits = { 0 };
	struct kl_buf out = KL_BUF_INIT;

	kl_ctoken_lex(&tokens, src, strlen(src));
	kl_tokenpass_find("scalar-lanes")->find(&cedits, &tokens);
	kl_cedits_apply(&out, &tokens, &cedits, NULL, NULL);
	return kl_buf_detach(&out);
}

static void test_fires(void **state)
{
	static const char src[] =
		"#include <immintrin.h>\n#define ADD(x) _mm256_add_ps(x, y)\n"
		"void f(float *p)\n{\n\t__m256 y = _mm256_loadu_ps(p);\n"
		"\t_mm_prefetch(p, _MM_HINT_T0);\n\t_mm256_storeu_ps(p, ADD(y));\n}\n";
	KL_AUTO(kl_freep) char *got = scalar(src);

	assert_contains(got, "#define ADD(x) lanes256_add_ps(x, y)\n");
	assert_contains(got, "\tr.f32[7] = a.f32[7] + b.f32[7];\n");
	assert_contains(got, "\tkl_lanes256 y = lanes256_loadu_ps(p);\n");
	assert_contains(got, "\t_mm_prefetch(p, _MM_HINT_T0);\n");
	assert_null(strstr(got, "_mm256"));
	assert_null(strstr(got, "kl_lanes512"));
}

/* an unknown intrinsic, a pasted name, no vector, and no place for the functions */
static void test_refuses(void **state)
{
	static const char *const left[] = {
		"#include <a.h>\n__m256i x; void f(void) { x = _mm256_unknown_epi32(x); }\n",
		"#include <a.h>\n#define OP(n) _mm256_##n##_ps(x)\n__m256 x;\n",
		"#include <a.h>\nvoid f(void) { _mm_prefetch(0, 0); }\n",
		"__m256 x; void f(void) { x = _mm256_setzero_ps(); }\n",
		"#ifdef A\n#include <a.h>\n#endif\n__m256 x = _mm256_setzero_ps();\n",
		"#include <a.h>\nchar *s = \"__m256 x = _mm256_setzero_ps();\";\n",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(left); i++) {
		KL_AUTO(kl_freep) char *got = scalar(left[i]);

		assert_string_equal(got, left[i]);
	}
}

/* prints what the intrinsics compute, on words that are numbers of all kinds */
static const char program[] =
	"#include <immintrin.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n"
	"static uint32_t word[4][8];\n"
	"static void show(const char *name, const void *v, int n)\n"
	"{\n\tuint32_t w[8];\n\n\tmemcpy(w, v, n);\n\tprintf(\"%s\", name);\n"
	"\tfor (int i = 0; i < n / 4; i++)\n\t\tprintf(\" %08x\", w[i]);\n\tprintf(\"\\n\");\n}\n"
	"#define P(op) do { __m256 r_ = op; show(\"\", &r_, 32); } while (0)\n"
	"#define D(op) do { __m256d r_ = op; show(\"\", &r_, 32); } while (0)\n"
	"#define I(op) do { __m256i r_ = op; show(\"\", &r_, 32); } while (0)\n"
	"#define X(op) do { __m128 r_ = op; show(\"\", &r_, 16); } while (0)\n"
	"#define Y(op) do { __m128i r_ = op; show(\"\", &r_, 16); } while (0)\n"
	"#define N(op) printf(\"%d\\n\", (int)(op))\n"
	"static void round_of(int k)\n{\n"
	"\tconst float *f = (const float *)word[k], *g = (const float *)word[(k + 1) % 4];\n"
	"\t__m256i a = _mm256_loadu_si256((const __m256i *)f);\n"
	"\t__m256i b = _mm256_loadu_si256((const __m256i *)g);\n"
	"\t__m256i c = _mm256_loadu_si256((const __m256i *)word[(k + 2) % 4]);\n"
	"\t__m256 p = _mm256_castsi256_ps(a), q = _mm256_castsi256_ps(b);\n"
	"\t__m256d d = _mm256_castsi256_pd(a), e = _mm256_castps_pd(q);\n"
	"\t__m128i x = _mm256_castsi256_si128(a), s = _mm_cvtsi32_si128(k * 9);\n"
	"\t__m128 u = _mm256_castps256_ps128(p), v = _mm256_extractf128_ps(q, 1);\n"
	"\tfloat m[8] = { 0 };\n\n"
	"\tP(_mm256_min_ps(p, q)); D(_mm256_max_pd(d, e)); P(_mm256_and_ps(p, q));\n"
	"\tI(_mm256_add_epi32(a, b)); I(_mm256_sub_epi8(a, b)); I(_mm256_mullo_epi32(a, b));\n"
	"\tI(_mm256_max_epu32(a, b)); I(_mm256_min_epi16(a, b)); I(_mm256_abs_epi32(a));\n"
	"\tI(_mm256_mul_epu32(a, b)); I(_mm256_madd_epi16(a, b)); I(_mm256_xor_si256(a, b));\n"
	"\tD(_mm256_andnot_pd(d, e)); I(_mm256_or_si256(a, b)); I(_mm256_slli_epi32(a, 5));\n"
	"\tI(_mm256_srli_epi64(a, 33)); I(_mm256_srai_epi32(a, 31)); I(_mm256_srai_epi16(a, 40));\n"
	"\tI(_mm256_sll_epi32(a, s)); I(_mm256_srl_epi64(a, s)); I(_mm256_sllv_epi32(a, b));\n"
	"\tI(_mm256_srlv_epi64(a, _mm256_and_si256(b, _mm256_set1_epi64x(127))));\n"
	"\tI(_mm256_cmpeq_epi8(a, b)); I(_mm256_cmpgt_epi32(a, b));\n"
	"\tP(_mm256_cmp_ps(p, q, 0)); P(_mm256_cmp_ps(p, q, 1)); P(_mm256_cmp_ps(p, q, 4));\n"
	"\tD(_mm256_cmp_pd(d, e, 13)); P(_mm256_cmp_ps(p, q, 14)); P(_mm256_cmp_ps(p, q, 21));\n"
	"\tP(_mm256_cmp_ps(p, q, 10)); P(_mm256_cmp_ps(p, q, 3)); P(_mm256_cmp_ps(p, q, 8));\n"
	"\tP(_mm256_cmp_ps(p, q, 6)); P(_mm256_cmp_ps(p, q, 2)); P(_mm256_cmp_ps(p, q, 7));\n"
	"\tP(_mm256_blendv_ps(p, q, _mm256_castsi256_ps(c))); I(_mm256_blendv_epi8(a, b, c));\n"
	"\tP(_mm256_blend_ps(p, q, 173)); I(_mm256_cvttps_epi32(p)); P(_mm256_cvtepi32_ps(a));\n"
	"\tI(_mm256_cvtepu8_epi32(x)); I(_mm256_cvtepi16_epi32(x)); I(_mm256_cvtepi8_epi16(x));\n"
	"\tI(_mm256_permutevar8x32_epi32(a, b)); I(_mm256_permute4x64_epi64(a, 57));\n"
	"\tP(_mm256_shuffle_ps(p, q, 201)); I(_mm256_shuffle_epi32(a, 27));\n"
	"\tP(_mm256_permute_ps(p, 177));\n"
	"\tI(_mm256_shuffle_epi8(a, b)); P(_mm256_unpacklo_ps(p, q)); P(_mm256_unpackhi_ps(p, q));\n"
	"\tI(_mm256_unpacklo_epi8(a, b)); D(_mm256_unpacklo_pd(d, e)); I(_mm256_unpackhi_epi64(a, b));\n"
	"\tP(_mm256_movehdup_ps(p)); P(_mm256_moveldup_ps(p)); P(_mm256_permute2f128_ps(p, q, 49));\n"
	"\tI(_mm256_permute2x128_si256(a, b, 130)); P(_mm256_insertf128_ps(p, v, 1));\n"
	"\tX(_mm_movehl_ps(u, v)); X(_mm_movelh_ps(u, v)); X(_mm_cmplt_ps(u, v)); Y(x);\n"
	"\tI(_mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, k)); P(_mm256_set_ps(1, 2, 3, 4, 5, 6, 7, k));\n"
	"\tI(_mm256_set1_epi16(-3)); Y(_mm_cvtsi64_si128(-5)); P(_mm256_broadcast_ss(f + 3));\n"
	"\tP(_mm256_maskload_ps(f, b)); _mm256_maskstore_ps(m, c, p); P(_mm256_loadu_ps(m));\n"
	"\tI(_mm256_i32gather_epi32((const int *)word, _mm256_and_si256(b, _mm256_set1_epi32(7)), 4));\n"
	"\tN(_mm256_movemask_ps(p)); N(_mm256_movemask_epi8(a)); N(_mm256_movemask_pd(e));\n"
	"\tN(_mm256_testz_si256(a, b)); N(_mm_cvtsi128_si32(x)); N(_mm_cvtsi128_si64(x) >> 7);\n"
	"\tp = _mm256_cvtepi32_ps(a); q = _mm256_cvtepi32_ps(b);\n"
	"\tP(_mm256_add_ps(p, q)); P(_mm256_sub_ps(p, q)); P(_mm256_mul_ps(p, q));\n"
	"\tP(_mm256_div_ps(p, q)); P(_mm256_hadd_ps(p, q)); u = _mm256_castps256_ps128(p);\n"
	"\tX(_mm_add_ss(u, _mm256_castps256_ps128(q))); X(_mm_max_ss(u, u));\n"
	"\tD(_mm256_cvtps_pd(u)); N(_mm_cvtss_f32(u)); _mm256_zeroupper();\n}\n"
	"int main(void)\n{\n"
	"\tstatic const uint32_t odd[] = { 0, 0x80000000u, 0x7f800000u, 0x7fc00000u, 0x3f800000u,\n"
	"\t\t\t\t\t0xffffffffu, 0x4f000000u, 0xcf000000u, 0x01020304u };\n"
	"\tuint32_t seed = 1;\n\n"
	"\tfor (int i = 0; i < 32; i++) {\n\t\tseed = seed * 1664525u + 1013904223u;\n"
	"\t\tword[i / 8][i % 8] = i % 3 ? seed : odd[seed >> 8 & 7];\n\t}\n"
	"\tmemcpy(word[3], word[0], 12);\n"
	"\tfor (int k = 0; k < 4; k++)\n\t\tround_of(k);\n\treturn 0;\n}\n";

/* each function computes what its intrinsic computes, bit by bit */
static void test_agrees(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("lanes");
	KL_AUTO(kl_freep) char *vector = kl_fs_join(dir, "vector.c");
	KL_AUTO(kl_freep) char *lanes = kl_fs_join(dir, "lanes.c");
	KL_AUTO(kl_freep) char *text = scalar(program);

	if (!__builtin_cpu_supports("avx2"))
		skip();
	assert_null(strstr(text, "_mm"));
	assert_ok(kl_fs_put(vector, program, strlen(program), 0644));
	assert_ok(kl_fs_put(lanes, text, strlen(text), 0644));
	sh(dir, "for p in vector lanes; do gcc -O2 -mavx2 -ffp-contract=off -w -o $p $p.c && "
		"./$p >$p.out || exit 1; done; cmp vector.out lanes.out && test -s lanes.out");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fires),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_agrees),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
