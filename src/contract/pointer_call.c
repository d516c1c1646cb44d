/* SPDX-License-Identifier: Apache-2.0 */
/* pointer_call - finds out what a call does with a pointer that is passed to it */
#include <string.h>

#include "base/mem.h"
#include "base/prefix.h"
#include "contract/pointer_use_parts.h"

/*
 * Return the index of the argument that contains the token `i`; the bracket of the call is at
 * `open`.
 */
static size_t count_arguments(const struct pointer_range *range, size_t open, size_t i)
{
	size_t n = 0, depth = 0;

	while (--i > open) {
		if (kl_token_is(range->tokens, i, ")") || kl_token_is(range->tokens, i, "]"))
			depth++;
		else if (depth &&
			 (kl_token_is(range->tokens, i, "(") || kl_token_is(range->tokens, i, "[")))
			depth--;
		else if (kl_token_is(range->tokens, i, "(") || kl_token_is(range->tokens, i, "["))
			n = 0; /* the token is in inner brackets, whose commas do not count */
		else
			n += !depth && kl_token_is(range->tokens, i, ",");
	}
	return n;
}

/*
 * Set *out to the use that a function of the C library or a compiler makes of an argument. Return
 * false if the function is unknown.
 */
static bool use_library(enum kl_pointer_use *out, const char *callee, size_t argument)
{
	static const char *const writers[] = { "memset",  "memcpy",           "memmove",
					       "strncpy", "__builtin_memcpy", "__builtin_memset",
					       NULL };
	static const char *const readers[] = {
		"memcmp", "memchr", "strlen", "_mm_prefetch", "__builtin_prefetch", NULL
	};
	bool vector = kl_prefix_has(callee, "_mm"),
	     neon = kl_prefix_has(callee, "vld") || kl_prefix_has(callee, "vst");

	*out = KL_POINTER_READ;
	for (size_t i = 0; readers[i]; i++)
		if (!strcmp(callee, readers[i]))
			return true;
	for (size_t i = 0; writers[i]; i++) {
		if (strcmp(callee, writers[i]))
			continue;
		*out = argument ? KL_POINTER_READ : KL_POINTER_WRITTEN;
		return true;
	}
	if (!vector && !neon)
		return false;
	if (kl_prefix_has(callee, "vst") || strstr(callee, "store") || strstr(callee, "scatter") ||
	    (strstr(callee, "stream") && !strstr(callee, "load")))
		*out = argument ? KL_POINTER_READ : KL_POINTER_WRITTEN;
	else if (vector && !strstr(callee, "load") && !strstr(callee, "gather") &&
		 !strstr(callee, "broadcast") && !strstr(callee, "lddqu"))
		return false;
	return true;
}

static const struct kl_found *find_function(const struct kl_founds *all, const char *name)
{
	for (size_t i = 0; i < all->n; i++)
		if (kl_token_is(all->tokens, all->f[i].name, name))
			return &all->f[i];
	return NULL;
}

bool kl_pointer_has_const(const struct kl_tokens *tokens, size_t from, size_t to)
{
	for (size_t i = from; i < to && !kl_token_is(tokens, i, "*"); i++)
		if (kl_token_is(tokens, i, "const"))
			return true;
	return false;
}

/* Count the stars and pairs of brackets of a parameter. */
static size_t count_axes(const struct kl_tokens *tokens, size_t from, size_t to)
{
	size_t n = 0;

	while (from < to) {
		bool bracket = kl_token_is(tokens, from, "[");

		n += bracket || kl_token_is(tokens, from, "*");
		from = bracket ? kl_token_skip(tokens, from) : from + 1;
	}
	return n;
}

/* Follow the pointer into a function that the source defines. */
static void use_parameter(struct pointer_search *search, const struct kl_found *callee,
			  size_t argument)
{
	const struct kl_tokens *tokens = search->all->tokens;
	size_t from = callee->open, to = kl_found_param_end(tokens, from, callee->close), name;
	KL_AUTO(kl_freep) char *text = NULL;
	struct pointer_range range = { .tokens = tokens, .from = callee->body, .to = callee->end };

	for (; argument && to < callee->close; argument--) {
		from = to + 1;
		to = kl_found_param_end(tokens, from, callee->close);
	}
	name = kl_found_param_name(tokens, from, to);
	if (argument || name == to || search->depth == KL_POINTER_DEEPEST) {
		search->unknown = true;
		return;
	}
	text = kl_strndup(tokens->t[name].s, tokens->t[name].n);
	range.name = text;
	range.axes = count_axes(tokens, from, to);
	range.is_const = kl_pointer_has_const(tokens, from, to);
	search->depth++;
	kl_pointer_search(search, &range);
	search->depth--;
}

/*
 * Return true if an unknown function cannot write through the argument at `i`, because the argument
 * is a pointer to const and passed without a cast. This does not hold for a macro of the source.
 */
static bool is_promised(const struct pointer_range *range, size_t open, size_t i)
{
	if (kl_pointer_macro(range->tokens, open - 1))
		return false;
	return range->is_const && (i == open + 1 || kl_token_is(range->tokens, i - 1, ","));
}

void kl_pointer_call(struct pointer_search *search, const struct pointer_range *range, size_t open,
		     size_t i)
{
	const struct kl_token *word = &range->tokens->t[open - 1];
	KL_AUTO(kl_freep) char *name = kl_strndup(word->s, word->n);
	const struct kl_found *callee = find_function(search->all, name);
	size_t argument = count_arguments(range, open, i);
	enum kl_pointer_use use;

	search->read += search->all->n + range->tokens->macros.n;
	search->seen = true;
	if (callee) {
		use_parameter(search, callee, argument);
	} else if (use_library(&use, name, argument)) {
		search->written |= use == KL_POINTER_WRITTEN;
		/* memset(p, 0, n) writes first, but store(p, add(load(p), x)) reads first */
		kl_pointer_note_first(search,
				      use == KL_POINTER_READ ||
					      kl_pointer_mentions(search, range, i + 1, ";"));
	} else if (is_promised(range, open, i)) {
		kl_pointer_note_first(search, true);
	} else {
		search->unknown = true;
	}
}
