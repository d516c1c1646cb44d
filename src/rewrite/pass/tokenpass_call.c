/* SPDX-License-Identifier: Apache-2.0 */
/* tokenpass_call - token passes that replace calls of the language's own functions by plainer ones */
#include <string.h>

#include "base/mem.h"
#include "rewrite/pass/tokenpass_parts.h"

/* The text that replaces a call; '@' is the first argument, '$' the second. */
struct call {
	const char *name;
	size_t arguments;
	const char *with;
};

/* Return the end of the argument at token `i`, which is a ',' or the token `end`. */
static size_t argument_end(const struct kl_ctokens *tokens, size_t i, size_t end)
{
	while (i < end && !kl_ctoken_is(tokens, i, ","))
		i = tokens->t[i].match > (int)i ? (size_t)tokens->t[i].match + 1 : i + 1;
	return i < end ? i : end;
}

/*
 * Replace the call at token `i`, piece by piece, so that calls in its arguments can be replaced by
 * edits of their own. `with` is "before @ between $ after".
 */
static void replace_call(struct kl_cedits *out, const struct kl_ctokens *tokens, size_t i,
			 const struct call *call)
{
	size_t open = i + 1, close = (size_t)tokens->t[open].match;
	size_t comma = argument_end(tokens, open + 1, close);
	const char *first = strchr(call->with, '@'), *second = strchr(call->with, '$');
	KL_AUTO(kl_freep) char *before = kl_strndup(call->with, first - call->with);
	KL_AUTO(kl_freep) char *between = NULL;
	int site = out->nsite;

	if (close == open + 1 || (call->arguments == 1) != (comma == close) ||
	    (call->arguments == 2 && argument_end(tokens, comma + 1, close) != close))
		return;
	kl_cedits_tokens(out, tokens, i, open, before, site);
	if (second) {
		between = kl_strndup(first + 1, second - first - 1);
		kl_cedits_tokens(out, tokens, comma, comma, between, site);
	}
	kl_cedits_tokens(out, tokens, close, close, (second ? second : first) + 1, site);
}

static void replace_calls(struct kl_cedits *out, const struct kl_ctokens *tokens,
			  const struct call *calls, size_t n)
{
	for (size_t i = 0; i + 2 < tokens->n; i++) {
		if (tokens->t[i].kind != KL_CT_IDENT || !kl_ctoken_is(tokens, i + 1, "(") ||
		    tokens->t[i + 1].match < 0 || tokens->t[i].fn < 0)
			continue;
		for (size_t k = 0; k < n; k++)
			if (kl_ctoken_is(tokens, i, calls[k].name))
				replace_call(out, tokens, i, &calls[k]);
	}
}

void kl_tokenpass_drop_cache_hint(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const struct call calls[] = {
		{ "__ldg", 1, "(*(@))" },        { "__ldca", 1, "(*(@))" },
		{ "__ldcg", 1, "(*(@))" },       { "__ldcs", 1, "(*(@))" },
		{ "__ldlu", 1, "(*(@))" },       { "__stcg", 2, "(*(@) = ($))" },
		{ "__stcs", 2, "(*(@) = ($))" }, { "__stwb", 2, "(*(@) = ($))" },
		{ "__stwt", 2, "(*(@) = ($))" },
	};

	replace_calls(out, tokens, calls, KL_ARRAY_SIZE(calls));
}

void kl_tokenpass_exact_math(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const struct call calls[] = {
		{ "__expf", 1, "expf(@)" },     { "__exp10f", 1, "exp10f(@)" },
		{ "__logf", 1, "logf(@)" },     { "__log2f", 1, "log2f(@)" },
		{ "__log10f", 1, "log10f(@)" }, { "__sinf", 1, "sinf(@)" },
		{ "__cosf", 1, "cosf(@)" },     { "__tanf", 1, "tanf(@)" },
		{ "__powf", 2, "powf(@,$)" },   { "__fdividef", 2, "((@) / ($))" },
		{ "__tanhf", 1, "tanhf(@)" },
	};

	replace_calls(out, tokens, calls, KL_ARRAY_SIZE(calls));
}

/* --- bits -------------------------------------------------------------------------------------- */

/* Insert text before the first function of the file, as part of `site`. */
static void insert_first(struct kl_cedits *out, const struct kl_ctokens *tokens, const char *text,
			 int site)
{
	size_t first = tokens->fn[0].first;
	KL_AUTO(kl_freep) char *word = kl_strndup(tokens->text + tokens->t[first].off,
						  tokens->t[first].len);
	KL_AUTO(kl_freep) char *with = kl_asprintf("%s\n%s", text, word);

	kl_cedits_tokens(out, tokens, first, first, with, site);
}

/* All calls are one site, with the functions that count by loops. */
void kl_tokenpass_count_by_loop(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const struct {
		const char *name, *with;
		int part; /* index into `function` */
	} known[] = {
		{ "__builtin_popcount", "kl_ones(", 0 },
		{ "__builtin_popcountl", "kl_ones(", 0 },
		{ "__builtin_popcountll", "kl_ones(", 0 },
		{ "_mm_popcnt_u32", "kl_ones(", 0 },
		{ "_mm_popcnt_u64", "kl_ones(", 0 },
		{ "__builtin_ctz", "kl_trailing_zeros(", 1 },
		{ "__builtin_ctzl", "kl_trailing_zeros(", 1 },
		{ "__builtin_ctzll", "kl_trailing_zeros(", 1 },
		{ "_tzcnt_u32", "kl_trailing_zeros(1ull << 32 | ", 1 },
		{ "__builtin_clz", "kl_leading_zeros(32, ", 2 },
		{ "__builtin_clzll", "kl_leading_zeros(64, ", 2 },
	};
	static const char *const function[] = {
		"static int kl_ones(unsigned long long bits)\n{\n\tint n = 0;\n\n"
		"\tfor (int i = 0; i < 64; i++)\n\t\tif (bits >> i & 1)\n\t\t\tn++;\n"
		"\treturn n;\n}\n",
		"static int kl_trailing_zeros(unsigned long long bits)\n{\n\tint n = 0;\n\n"
		"\twhile (n < 64 && !(bits >> n & 1))\n\t\tn++;\n\treturn n;\n}\n",
		"static int kl_leading_zeros(int width, unsigned long long bits)\n{\n\tint n = 0;\n\n"
		"\twhile (n < width && !(bits >> (width - 1 - n) & 1))\n\t\tn++;\n\treturn n;\n}\n",
	};
	bool needed[KL_ARRAY_SIZE(function)] = { false };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	for (size_t i = 0; i + 1 < tokens->n; i++)
		for (size_t k = 0; k < KL_ARRAY_SIZE(known); k++)
			if (kl_ctoken_is(tokens, i, known[k].name) && tokens->t[i].fn >= 0 &&
			    kl_ctoken_is(tokens, i + 1, "(")) {
				kl_cedits_tokens(out, tokens, i, i + 1, known[k].with, 0);
				needed[known[k].part] = true;
			}
	for (size_t i = 0; i < KL_ARRAY_SIZE(function); i++)
		if (needed[i])
			kl_buf_addf(&text, "%s%s", text.len ? "\n" : "", function[i]);
	if (text.len)
		insert_first(out, tokens, text.ptr, 0);
}

/* --- asynchronous copies ----------------------------------------------------------------------- */

/*
 * Return the type that a size implies: T for "sizeof(T)", a vector of 16 bytes for 16; NULL for any
 * other size.
 */
static char *copied_type(const struct kl_ctokens *tokens, size_t first, size_t last)
{
	static const char *const words[][2] = { { "16", "uint4" },
						{ "8", "uint2" },
						{ "4", "unsigned" } };

	for (size_t k = 0; first == last && k < KL_ARRAY_SIZE(words); k++)
		if (kl_ctoken_is(tokens, first, words[k][0]))
			return kl_strdup(words[k][1]);
	for (size_t i = first; i + 3 <= last; i++)
		if (kl_ctoken_is(tokens, i, "sizeof") && kl_ctoken_is(tokens, i + 1, "(") &&
		    tokens->t[i + 1].match == (int)i + 3 && tokens->t[i + 2].kind == KL_CT_IDENT)
			return kl_strndup(tokens->text + tokens->t[i + 2].off,
					  tokens->t[i + 2].len);
	return NULL;
}

/*
 * Replace tokens first ... of the call whose parenthesis is `open`, "copy(to, from, size ...", by
 * an assignment or, if the size implies no type, by memcpy(). Do nothing unless the call has `n`
 * arguments.
 */
static void replace_copy(struct kl_cedits *out, const struct kl_ctokens *tokens, size_t first,
			 size_t open, size_t n)
{
	size_t close = (size_t)tokens->t[open].match, from, size, end;
	KL_AUTO(kl_freep) char *type = NULL;
	KL_AUTO(kl_freep) char *to = NULL;
	KL_AUTO(kl_freep) char *value = NULL;

	from = argument_end(tokens, open + 1, close);
	size = argument_end(tokens, from + 1, close);
	end = argument_end(tokens, size + 1, close);
	if (from == close || size == close || size + 1 == end ||
	    (n == 3 ? end != close : end == close || argument_end(tokens, end + 1, close) != close))
		return;
	if (!(type = copied_type(tokens, size + 1, end - 1))) {
		kl_cedits_tokens(out, tokens, first, open - 1, "memcpy", 0);
		if (end < close)
			kl_cedits_tokens(out, tokens, end, close - 1, "", 0);
		return;
	}
	to = kl_asprintf("*(%s *)(", type);
	value = kl_asprintf(") = *(const %s *)(", type);
	kl_cedits_tokens(out, tokens, first, open, to, 0);
	kl_cedits_tokens(out, tokens, from, from, value, 0);
	kl_cedits_tokens(out, tokens, size, close, ")", 0);
}

/*
 * Copies of the library that a barrier or a count of groups waits for become assignments. All are
 * one site, with the calls that wait for the groups.
 */
void kl_tokenpass_copy_at_once(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	for (size_t i = 3; i + 1 < tokens->n; i++) {
		if (tokens->t[i].fn < 0 || !kl_ctoken_is(tokens, i + 1, "(") ||
		    tokens->t[i + 1].match < 0)
			continue;
		if (kl_ctoken_is(tokens, i, "memcpy_async") && kl_ctoken_is(tokens, i - 3, "cuda"))
			replace_copy(out, tokens, i - 3, i + 1, 4);
		else if (kl_ctoken_is(tokens, i, "__pipeline_memcpy_async"))
			replace_copy(out, tokens, i, i + 1, 3);
		else if (kl_ctoken_is(tokens, i, "__pipeline_commit") ||
			 kl_ctoken_is(tokens, i, "__pipeline_wait_prior"))
			kl_cedits_tokens(out, tokens, i, (size_t)tokens->t[i + 1].match, "(void)0",
					 0);
	}
}
