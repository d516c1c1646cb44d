/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_multiply - products of matrices as plain code: mma.sync and wgmma.mma_async */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/prefix.h"
#include "rewrite/pass/ptx.h"

/* The type of the factors, and how the factors in a word become numbers. */
struct factor {
	const char *name; /* part of the instruction's name */
	const char *word; /* part of the names of functions */
	const char *text; /* device functions kl_low_@ and kl_high_@; '@' stands for `word` */
};

static const struct factor factors[] = {
	{ ".f32.bf16.bf16", "bf16",
	  "static __device__ __forceinline__ float kl_low_@(unsigned word)\n"
	  "{\n\treturn __uint_as_float(word << 16);\n}\n\n"
	  "static __device__ __forceinline__ float kl_high_@(unsigned word)\n"
	  "{\n\treturn __uint_as_float(word & 0xffff0000u);\n}\n" },
	{ ".f32.f16.f16", "f16",
	  "static __device__ __forceinline__ float kl_low_@(unsigned word)\n"
	  "{\n\tfloat value;\n\n"
	  "\tasm(\"{.reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h;}\" : \"=f\"(value) : "
	  "\"r\"(word));\n"
	  "\treturn value;\n}\n\n"
	  "static __device__ __forceinline__ float kl_high_@(unsigned word)\n"
	  "{\n\treturn kl_low_@(word >> 16);\n}\n" },
	{ ".f32.tf32.tf32", "tf32",
	  "static __device__ __forceinline__ float kl_low_@(unsigned word)\n"
	  "{\n\treturn __uint_as_float(word & 0xffffe000u);\n}\n\n"
	  "static __device__ __forceinline__ float kl_high_@(unsigned word)\n"
	  "{\n\treturn 0.0f;\n}\n" },
};

/*
 * Append the functions of a type of factors, and `text`, which uses them, unless they are there.
 * `use` tells apart functions of one type of factors.
 */
static void need(struct kl_ptx *out, const struct factor *factor, const char *use, const char *text)
{
	KL_AUTO(kl_freep) char *first = kl_asprintf(" kl_low_%s%s(", factor->word, use);
	const char *part[] = { factor->text, "\n", text, "\n" };

	if (strstr(out->helpers.ptr, first))
		return;
	for (size_t i = 0; i < KL_ARRAY_SIZE(part); i++)
		for (const char *at = part[i]; *at; at++)
			if (*at == '@')
				kl_buf_addf(&out->helpers, "%s%s", factor->word, use);
			else
				kl_buf_addch(&out->helpers, *at);
}

static const struct factor *find_factor(const char *whole)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(factors); i++)
		if (strstr(whole, factors[i].name))
			return &factors[i];
	return NULL;
}

/* Append array `name` of `n` elements of a vector operand. */
static bool add_array(struct kl_ptx *out, const struct kl_asm *statement, const char *argument,
		      const char *type, const char *name, size_t n)
{
	kl_buf_addf(&out->code, " %s %s[%zu] = { ", type, name, n);
	for (size_t i = 0; i < n; i++) {
		KL_AUTO(kl_freep) char *value = kl_asm_element(statement, argument, i);

		if (!value)
			return false;
		kl_buf_addf(&out->code, "%s%s", i ? ", " : "", value);
	}
	kl_buf_adds(&out->code, " };");
	return true;
}

/* Append the assignments of array `name` to the elements of a vector operand. */
static bool add_results(struct kl_ptx *out, const struct kl_asm *statement, const char *argument,
			const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		KL_AUTO(kl_freep) char *value = kl_asm_element(statement, argument, i);

		if (!value)
			return false;
		kl_buf_addf(&out->code, " %s = %s[%zu];", value, name, i);
	}
	return true;
}

/* --- a warp ------------------------------------------------------------------------------------- */

/*
 * Lane l has rows l / 4 and l / 4 + 8 of A, column l / 4 of B, and of the sums rows l / 4 and
 * l / 4 + 8 at columns l % 4 * 2 and the next.
 */
static const char pairs_text[] =
	"/* d += A B: 16 x 8 sums of a warp, 8 products each for every word of b */\n"
	"template <int WORDS>\n"
	"static __device__ void kl_multiply_@(float (&d)[4], const unsigned (&a)[2 * WORDS],\n"
	"\t\t\t\t\t\t\t const unsigned (&b)[WORDS])\n"
	"{\n"
	"\tunsigned lane;\n"
	"\n"
	"\tasm(\"mov.u32 %0, %%laneid;\" : \"=r\"(lane));\n"
	"#pragma unroll 1\n"
	"\tfor (unsigned from = 0; from < 4; from++)\n"
	"#pragma unroll\n"
	"\t\tfor (int w = 0; w < WORDS; w++) {\n"
	"\t\t\tunsigned a0 = __shfl_sync(0xffffffffu, a[2 * w], (lane & ~3u) | from);\n"
	"\t\t\tunsigned a1 = __shfl_sync(0xffffffffu, a[2 * w + 1], (lane & ~3u) | from);\n"
	"\n"
	"#pragma unroll\n"
	"\t\t\tfor (int c = 0; c < 2; c++) {\n"
	"\t\t\t\tunsigned b0 = __shfl_sync(0xffffffffu, b[w], (lane % 4 * 2 + c) * 4 + from);\n"
	"\n"
	"\t\t\t\td[c] += kl_low_@(a0) * kl_low_@(b0) + kl_high_@(a0) * kl_high_@(b0);\n"
	"\t\t\t\td[2 + c] += kl_low_@(a1) * kl_low_@(b0) + kl_high_@(a1) * kl_high_@(b0);\n"
	"\t\t\t}\n"
	"\t\t}\n"
	"}\n";

bool kl_ptx_multiply(struct kl_ptx *out, const struct kl_asm *statement,
		     const struct kl_asm_arguments *arguments, const char *whole)
{
	const struct factor *factor = find_factor(whole);
	bool single = factor && !strcmp(factor->word, "tf32");
	bool wide = strstr(whole, ".m16n8k16.row.col.f32."), half;
	size_t words;

	half = strstr(whole, ".m16n8k8.row.col.f32.");
	if (arguments->n != 4 || !factor || !(half || (wide && !single)))
		return false;
	words = wide || single ? 2 : 1;
	need(out, factor, "", pairs_text);
	kl_buf_addch(&out->code, '{');
	if (!add_array(out, statement, arguments->v[3], "float", "kl_d", 4) ||
	    !add_array(out, statement, arguments->v[1], "const unsigned", "kl_a", 2 * words) ||
	    !add_array(out, statement, arguments->v[2], "const unsigned", "kl_b", words))
		return false;
	kl_buf_addf(&out->code, " kl_multiply_%s<%zu>(kl_d, kl_a, kl_b);", factor->word, words);
	if (!add_results(out, statement, arguments->v[0], "kl_d", 4))
		return false;
	kl_buf_adds(&out->code, " }");
	return true;
}

/* --- a warpgroup -------------------------------------------------------------------------------- */

static const char group_text[] =
	"/* two elements of a row of an operand in shared memory, at column k, which is even */\n"
	"static __device__ __forceinline__ unsigned\n"
	"kl_factor_@(unsigned long long operand, unsigned row, unsigned k)\n"
	"{\n"
	"\tunsigned mode = (unsigned)(operand >> 62), start = (unsigned)(operand & 0x3fff) << 4;\n"
	"\tunsigned group = (unsigned)(operand >> 32 & 0x3fff) << 4;\n"
	"\tunsigned next = (unsigned)(operand >> 16 & 0x3fff) << 4;\n"
	"\tunsigned wide = mode ? 256u >> mode : 16u;\n"
	"\tunsigned at = start + row / 8 * group + row % 8 * wide;\n"
	"\n"
	"\tat += mode ? k * 2 : k / 8 * next + k % 8 * 2;\n"
	"\tif (mode)\n"
	"\t\tat ^= (at >> 7 & (8u >> (mode - 1)) - 1) << 4;\n"
	"\treturn *(const unsigned *)__cvta_shared_to_generic(at);\n"
	"}\n"
	"\n"
	"/* d = A B^T + (keep ? d : 0): 64 x N sums of four warps over 16 products */\n"
	"template <int N>\n"
	"static __device__ void kl_multiply_@(float (&d)[N / 2], unsigned long long a,\n"
	"\t\t\t\t\t\t\t  unsigned long long b, int keep)\n"
	"{\n"
	"\tunsigned row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4, col = threadIdx.x % 4 * 2;\n"
	"\n"
	"\tif (!keep)\n"
	"#pragma unroll\n"
	"\t\tfor (int i = 0; i < N / 2; i++)\n"
	"\t\t\td[i] = 0.0f;\n"
	"#pragma unroll 1\n"
	"\tfor (unsigned k = 0; k < 16; k += 2) {\n"
	"\t\tunsigned a0 = kl_factor_@(a, row, k), a1 = kl_factor_@(a, row + 8, k);\n"
	"\n"
	"#pragma unroll\n"
	"\t\tfor (int i = 0; i < N / 4; i++) {\n"
	"\t\t\tunsigned word = kl_factor_@(b, i / 2 * 8 + col + i % 2, k);\n"
	"\t\t\tint at = i / 2 * 4 + i % 2;\n"
	"\n"
	"\t\t\td[at] += kl_low_@(a0) * kl_low_@(word) + kl_high_@(a0) * kl_high_@(word);\n"
	"\t\t\td[at + 2] += kl_low_@(a1) * kl_low_@(word) + kl_high_@(a1) * kl_high_@(word);\n"
	"\t\t}\n"
	"\t}\n"
	"}\n";

/*
 * Return the expression that is true if the sums are kept: "1", or the value that "setp.ne.b32 p,
 * %3, 0" compares for predicate `name`. Return NULL for any other form. The caller frees it.
 */
static char *keep_value(const struct kl_asm *statement, const char *name)
{
	struct kl_asm_arguments compared = { 0 };
	KL_AUTO(kl_freep) char *whole = NULL;
	char *value = NULL;

	if (!strcmp(name, "0") || !strcmp(name, "1"))
		return kl_strdup(name);
	if (kl_asm_find(&compared, &whole, statement, "setp.ne.b32") && compared.n == 3 &&
	    !strcmp(compared.v[0], name) && !strcmp(compared.v[2], "0"))
		value = kl_asm_value(statement, compared.v[1]);
	kl_asm_arguments_release(&compared);
	return value;
}

bool kl_ptx_multiply_group(struct kl_ptx *out, const struct kl_asm *statement,
			   const struct kl_asm_arguments *arguments, const char *whole)
{
	const struct factor *factor = find_factor(whole);
	const char *shape = strstr(whole, ".m64n");
	long cols = shape ? strtol(shape + 5, NULL, 10) : 0;
	static const char *const plain[] = { "1", "1", "0", "0" };
	KL_AUTO(kl_freep) char *left = NULL;
	KL_AUTO(kl_freep) char *right = NULL;
	KL_AUTO(kl_freep) char *keep = NULL;

	/* d, a, b, keep, signs of a and b, and whether they lie with k outermost */
	if (!factor || !strcmp(factor->word, "tf32") || cols < 8 || cols > 256 || cols % 8 ||
	    !strstr(shape, "k16.") || arguments->n != 8)
		return false;
	for (size_t i = 0; i < KL_ARRAY_SIZE(plain); i++)
		if (strcmp(arguments->v[4 + i], plain[i]) != 0)
			return false;
	left = kl_asm_value(statement, arguments->v[1]);
	right = kl_asm_value(statement, arguments->v[2]);
	keep = keep_value(statement, arguments->v[3]);
	if (!left || !right || !keep)
		return false;
	need(out, factor, "_group", group_text);
	kl_buf_addch(&out->code, '{');
	if (!add_array(out, statement, arguments->v[0], "float", "kl_d", (size_t)cols / 2))
		return false;
	kl_buf_addf(&out->code, " kl_multiply_%s_group<%ld>(kl_d, %s, %s, %s);", factor->word, cols,
		    left, right, keep);
	if (!add_results(out, statement, arguments->v[0], "kl_d", (size_t)cols / 2))
		return false;
	kl_buf_adds(&out->code, " }");
	return true;
}

bool kl_ptx_wait_group(struct kl_ptx *out, const struct kl_asm *statement,
		       const struct kl_asm_arguments *arguments, const char *whole)
{
	kl_buf_adds(&out->code,
		    "asm volatile(\"bar.sync %0, 128;\" :: \"r\"(8 + threadIdx.x / 128) : "
		    "\"memory\");");
	return true;
}
