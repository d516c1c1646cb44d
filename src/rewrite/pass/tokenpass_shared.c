/* SPDX-License-Identifier: Apache-2.0 */
/* tokenpass_shared - token passes for CUDA about places in shared memory and values across a warp */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rewrite/pass/tokenpass_parts.h"

/* --- places ------------------------------------------------------------------------------------ */

/*
 * Remove the padding of an array's row: "__shared__ float x[32][32 + 1]" loses "+ 1". Only the
 * innermost dimension is padding, and only in an array of at least two.
 */
static void unpad_declarator(struct kl_cedits *out, const struct kl_ctokens *tokens, size_t i,
			     size_t end)
{
	for (; i + 4 < end && !kl_ctoken_is(tokens, i, ";"); i++) {
		size_t close, next;

		if (!kl_ctoken_is(tokens, i, "]") || !kl_ctoken_is(tokens, i + 1, "[") ||
		    tokens->t[i + 1].match < 0)
			continue;
		close = (size_t)tokens->t[i + 1].match;
		next = close + 1;
		if (kl_ctoken_is(tokens, next, "[") || close < i + 5 ||
		    tokens->t[close - 1].kind != KL_CT_NUMBER ||
		    !kl_ctoken_is(tokens, close - 2, "+"))
			continue;
		kl_cedits_tokens(out, tokens, close - 2, close - 1, "", out->nsite);
	}
}

void kl_tokenpass_unpad(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	for (size_t i = 0; i < tokens->n; i++)
		if (kl_ctoken_is(tokens, i, "__shared__") && tokens->t[i].fn >= 0)
			unpad_declarator(out, tokens, i, tokens->n);
}

/* Check that token `i` is a '^' between two operands, and not "^=". */
static bool is_xor(const struct kl_ctokens *tokens, size_t i)
{
	return kl_ctoken_is(tokens, i, "^") && i + 1 < tokens->n &&
	       !kl_ctoken_is(tokens, i + 1, "=");
}

/*
 * Return the token after the operand of '^' that begins at `i`: operators that bind more tightly
 * than '^' belong to it.
 */
static size_t operand_stop(const struct kl_ctokens *tokens, size_t i, size_t end)
{
	while (i < end && !strchr("^|?:,;)]}", tokens->text[tokens->t[i].off]) &&
	       !(kl_ctoken_is(tokens, i, "&") && kl_ctoken_is(tokens, i + 1, "&")))
		i = tokens->t[i].match > (int)i ? (size_t)tokens->t[i].match + 1 : i + 1;
	return i < end ? i : end;
}

/*
 * Remove "^ b" from "x[... (a ^ b) ...]". All are one site, because values that are written at
 * permuted places are read from permuted places.
 */
void kl_tokenpass_drop_swizzle(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	size_t stop = 0; /* the end of the outermost brackets around token `i` */

	for (size_t i = 1; i < tokens->n; i++) {
		size_t end;

		if (i > stop && kl_ctoken_is(tokens, i, "[") && tokens->t[i].match > 0 &&
		    tokens->t[i].fn >= 0)
			stop = (size_t)tokens->t[i].match;
		if (i >= stop || !is_xor(tokens, i))
			continue;
		end = operand_stop(tokens, i + 1, stop);
		if (end > i + 1)
			kl_cedits_tokens(out, tokens, i, end - 1, "", 0);
		i = end - 1;
	}
}

/* --- values across a warp ---------------------------------------------------------------------- */

static const char exchange_text[] =
	"/* the value that lane `from` of the warp gives */\n"
	"template <typename T> static __device__ T kl_exchange(unsigned mask, T value, int from)\n"
	"{\n"
	"\t__shared__ T box[32][32];\n"
	"\tint thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
	"\tT got;\n"
	"\n"
	"\t__syncwarp(mask);\n"
	"\tbox[thread / 32][thread % 32] = value;\n"
	"\t__syncwarp(mask);\n"
	"\tgot = box[thread / 32][from & 31];\n"
	"\t__syncwarp(mask);\n"
	"\treturn got;\n"
	"}\n"
	"\n"
	"static __device__ int kl_lane(void)\n"
	"{\n"
	"\treturn (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;\n"
	"}\n"
	"\n"
	"template <typename T> static __device__ T kl_from(unsigned mask, T value, int from)\n"
	"{\n\treturn kl_exchange(mask, value, from);\n}\n"
	"\n"
	"template <typename T> static __device__ T kl_from_xor(unsigned mask, T value, int bits)\n"
	"{\n\treturn kl_exchange(mask, value, kl_lane() ^ bits);\n}\n"
	"\n"
	"template <typename T> static __device__ T kl_from_below(unsigned mask, T value, unsigned by)\n"
	"{\n\treturn kl_exchange(mask, value, kl_lane() < (int)by ? kl_lane() : kl_lane() - (int)by);\n}\n"
	"\n"
	"template <typename T> static __device__ T kl_from_above(unsigned mask, T value, unsigned by)\n"
	"{\n\tint from = kl_lane() + (int)by;\n\n"
	"\treturn kl_exchange(mask, value, from > 31 ? kl_lane() : from);\n}\n";

static const char ballot_text[] =
	"/* one bit a lane of the warp: whether its condition holds */\n"
	"static __device__ unsigned kl_conditions(unsigned mask, int holds)\n"
	"{\n"
	"\t__shared__ unsigned char box[32][32];\n"
	"\tint thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
	"\tunsigned bits = 0;\n"
	"\n"
	"\t__syncwarp(mask);\n"
	"\tbox[thread / 32][thread % 32] = holds != 0;\n"
	"\t__syncwarp(mask);\n"
	"\tfor (int lane = 0; lane < 32; lane++)\n"
	"\t\tif (mask >> lane & 1)\n"
	"\t\t\tbits |= (unsigned)box[thread / 32][lane] << lane;\n"
	"\t__syncwarp(mask);\n"
	"\treturn bits;\n"
	"}\n";

struct exchange {
	const char *name, *with;
};

/* Check that the call at token `i` has `n` arguments. */
static bool has_arguments(const struct kl_ctokens *tokens, size_t i, size_t n)
{
	size_t close = (size_t)tokens->t[i + 1].match, count = 1;

	for (size_t k = i + 2; k < close; k++) {
		if (tokens->t[k].match > (int)k)
			k = (size_t)tokens->t[k].match;
		else if (kl_ctoken_is(tokens, k, ","))
			count++;
	}
	return count == n;
}

/* Rename the calls, as one site. Do nothing if one has another number of arguments. */
static void rename_calls(struct kl_cedits *out, const struct kl_ctokens *tokens,
			 const struct exchange *known, size_t n, size_t arguments, const char *text)
{
	KL_AUTO(kl_cedits_release) struct kl_cedits edits = { 0 };
	KL_AUTO(kl_freep) char *word = NULL;
	KL_AUTO(kl_freep) char *with = NULL;
	size_t first = tokens->nfn ? tokens->fn[0].first : 0;

	for (size_t i = 0; i + 1 < tokens->n; i++)
		for (size_t k = 0; k < n; k++) {
			if (!kl_ctoken_is(tokens, i, known[k].name))
				continue;
			if (!kl_ctoken_is(tokens, i + 1, "(") || tokens->t[i + 1].match < 0 ||
			    tokens->t[i].fn < 0 || !has_arguments(tokens, i, arguments))
				return;
			kl_cedits_tokens(&edits, tokens, i, i, known[k].with, 0);
		}
	if (!edits.n)
		return;
	word = kl_strndup(tokens->text + tokens->t[first].off, tokens->t[first].len);
	with = kl_asprintf("%s\n%s", text, word);
	kl_cedits_tokens(&edits, tokens, first, first, with, 0);
	*out = edits;
	edits = (struct kl_cedits){ 0 };
}

void kl_tokenpass_unshuffle(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const struct exchange known[] = {
		{ "__shfl_sync", "kl_from" },
		{ "__shfl_xor_sync", "kl_from_xor" },
		{ "__shfl_up_sync", "kl_from_below" },
		{ "__shfl_down_sync", "kl_from_above" },
	};

	rename_calls(out, tokens, known, KL_ARRAY_SIZE(known), 3, exchange_text);
}

void kl_tokenpass_unballot(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const struct exchange known[] = { { "__ballot_sync", "kl_conditions" } };

	rename_calls(out, tokens, known, KL_ARRAY_SIZE(known), 2, ballot_text);
}
