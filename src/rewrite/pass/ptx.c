/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/pass/ptx.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/prefix.h"

/*
 * Append a helper function, unless the text has it already. `name` is a name that no other function
 * has.
 */
static void need(struct kl_ptx *out, const char *name, const char *text)
{
	KL_AUTO(kl_freep) char *call = kl_asprintf(" %s(", name);

	if (!strstr(out->helpers.ptr, call))
		kl_buf_addf(&out->helpers, "%s\n", text);
}

#define LANE "\tunsigned lane;\n\n\tasm(\"mov.u32 %0, %%laneid;\" : \"=r\"(lane));\n"

/* --- copies ------------------------------------------------------------------------------------ */

bool kl_ptx_copy(struct kl_ptx *out, const struct kl_asm *statement,
		 const struct kl_asm_arguments *arguments, const char *whole)
{
	KL_AUTO(kl_freep) char *to = NULL;
	KL_AUTO(kl_freep) char *from = NULL;
	KL_AUTO(kl_freep) char *size = NULL;
	KL_AUTO(kl_freep) char *part = NULL;
	const char *word;

	if (arguments->n < 3 || arguments->n > 4 || strstr(whole, "cache_hint"))
		return false;
	to = kl_asm_address(statement, arguments->v[0]);
	from = kl_asm_address(statement, arguments->v[1]);
	size = kl_asm_value(statement, arguments->v[2]);
	if (arguments->n == 4 && !(part = kl_asm_value(statement, arguments->v[3])))
		return false;
	if (!to || !from || !size)
		return false;
	word = !strcmp(size, "16") ? "uint4" : !strcmp(size, "8") ? "uint2" : "unsigned";
	if (!strcmp(word, "unsigned") && strcmp(size, "4") != 0) {
		/* a size that the source computes: 16 is the only one that cp.async.cg has */
		if (!kl_prefix_has(whole, "cp.async.cg."))
			return false;
		word = "uint4";
	}
	kl_buf_addf(&out->code, "{ %s kl_word = {}; ", word);
	if (part)
		kl_buf_addf(&out->code, "memcpy(&kl_word, (const void *)(%s), (size_t)(%s)); ",
			    from, part);
	else
		kl_buf_addf(&out->code, "kl_word = *(const %s *)(%s); ", word, from);
	kl_buf_addf(&out->code, "*(%s *)__cvta_shared_to_generic((size_t)(%s)) = kl_word; }", word,
		    to);
	return true;
}

/* --- matrices in shared memory ----------------------------------------------------------------- */

/* Return the number of matrices, such as 4 for ".x4.", or 0 for any other form. */
static int matrices(const char *whole)
{
	const char *at = strstr(whole, ".m8n8.x");

	if (!at || !strstr(whole, ".b16") || !strchr("124", at[7]))
		return 0;
	return at[7] - '0';
}

bool kl_ptx_load_matrix(struct kl_ptx *out, const struct kl_asm *statement,
			const struct kl_asm_arguments *arguments, const char *whole)
{
	bool turned = strstr(whole, ".trans");
	int n = matrices(whole);
	KL_AUTO(kl_freep) char *from = NULL;

	if (!n || arguments->n != 2 || !(from = kl_asm_address(statement, arguments->v[1])))
		return false;
	if (turned)
		need(out, "kl_turned_word",
		     "/* two elements of a column of matrix `m`; lane l has the address of row l */\n"
		     "static __device__ unsigned kl_turned_word(unsigned row, int m)\n"
		     "{\n"
		     "\tunsigned low, high;\n" LANE
		     "\tlow = __shfl_sync(~0u, row, m * 8 + lane % 4 * 2) + lane / 4 * 2;\n"
		     "\thigh = __shfl_sync(~0u, row, m * 8 + lane % 4 * 2 + 1) + lane / 4 * 2;\n"
		     "\treturn *(const unsigned short *)__cvta_shared_to_generic(low) |\n"
		     "\t       (unsigned)*(const unsigned short *)__cvta_shared_to_generic(high) << 16;\n"
		     "}\n");
	else
		need(out, "kl_word",
		     "/* two elements of a row of matrix `m`; lane l has the address of row l */\n"
		     "static __device__ unsigned kl_word(unsigned row, int m)\n"
		     "{\n" LANE "\trow = __shfl_sync(~0u, row, m * 8 + lane / 4);\n"
		     "\treturn *(const unsigned *)__cvta_shared_to_generic(row + lane % 4 * 4);\n"
		     "}\n");
	kl_buf_addf(&out->code, "{ unsigned kl_row = (unsigned)(%s);", from);
	for (int i = 0; i < n; i++) {
		KL_AUTO(kl_freep) char *to = kl_asm_element(statement, arguments->v[0], (size_t)i);

		if (!to)
			return false;
		kl_buf_addf(&out->code, " %s = %s(kl_row, %d);", to,
			    turned ? "kl_turned_word" : "kl_word", i);
	}
	kl_buf_adds(&out->code, " }");
	return true;
}

bool kl_ptx_store_matrix(struct kl_ptx *out, const struct kl_asm *statement,
			 const struct kl_asm_arguments *arguments, const char *whole)
{
	bool turned = strstr(whole, ".trans");
	int n = matrices(whole);
	KL_AUTO(kl_freep) char *to = NULL;

	if (!n || arguments->n != 2 || !(to = kl_asm_address(statement, arguments->v[0])))
		return false;
	if (turned)
		need(out, "kl_put_turned",
		     "/* store two elements of a column of matrix `m`; lane l has the address of row l */\n"
		     "static __device__ void kl_put_turned(unsigned row, int m, unsigned word)\n"
		     "{\n"
		     "\tunsigned low, high;\n" LANE
		     "\tlow = __shfl_sync(~0u, row, m * 8 + lane % 4 * 2) + lane / 4 * 2;\n"
		     "\thigh = __shfl_sync(~0u, row, m * 8 + lane % 4 * 2 + 1) + lane / 4 * 2;\n"
		     "\t*(unsigned short *)__cvta_shared_to_generic(low) = (unsigned short)word;\n"
		     "\t*(unsigned short *)__cvta_shared_to_generic(high) = (unsigned short)(word >> 16);\n"
		     "}\n");
	else
		need(out, "kl_put",
		     "/* store two elements of a row of matrix `m`; lane l has the address of row l */\n"
		     "static __device__ void kl_put(unsigned row, int m, unsigned word)\n"
		     "{\n" LANE "\trow = __shfl_sync(~0u, row, m * 8 + lane / 4);\n"
		     "\t*(unsigned *)__cvta_shared_to_generic(row + lane % 4 * 4) = word;\n"
		     "}\n");
	kl_buf_addf(&out->code, "{ unsigned kl_row = (unsigned)(%s);", to);
	for (int i = 0; i < n; i++) {
		KL_AUTO(kl_freep) char *from = kl_asm_element(statement, arguments->v[1],
							      (size_t)i);

		if (!from)
			return false;
		kl_buf_addf(&out->code, " %s(kl_row, %d, %s);", turned ? "kl_put_turned" : "kl_put",
			    i, from);
	}
	kl_buf_adds(&out->code, " }");
	return true;
}
