/* SPDX-License-Identifier: Apache-2.0 */
/* shape_place - places in memory and assignments to them, for shape */
#include <string.h>

#include "rewrite/naming/shape_parts.h"

#define NEAR 4000 /* tokens before and after a variable that are searched for its uses */

/* Check that token `i` is a '*' that reads through a pointer, not a product. */
static bool is_deref(const struct kl_ctokens *tokens, size_t i)
{
	if (!kl_ctoken_is(tokens, i, "*") || i + 1 >= tokens->n)
		return false;
	return !i || kl_shape_one_of(tokens, i - 1, "; { } ( = + - , return & | else * / ? :") ||
	       tokens->t[i - 1].kind == KL_CT_DIRECTIVE;
}

static bool is_macro(const struct kl_shape_reader *reader, const struct kl_ctokens *tokens,
		     size_t i)
{
	KL_AUTO(kl_freep) char *name = kl_shape_text(tokens, i, i + 1);

	return kl_ctoken_is(tokens, i + 1, "(") && kl_strvec_has(&reader->macros, name);
}

static size_t skip_subscripts(const struct kl_ctokens *tokens, size_t i)
{
	while (i < tokens->n) {
		if (kl_ctoken_is(tokens, i, "[") && tokens->t[i].match > (int)i)
			i = (size_t)tokens->t[i].match + 1;
		else if (kl_ctoken_is(tokens, i, ".") && i + 1 < tokens->n &&
			 tokens->t[i + 1].kind == KL_CT_IDENT)
			i += 2;
		else if (kl_ctoken_is(tokens, i, "-") && kl_ctoken_is(tokens, i + 1, ">"))
			i += 3;
		else
			break;
	}
	return i;
}

static size_t deref_end(const struct kl_ctokens *tokens, size_t i)
{
	size_t at = i + 1;

	if (kl_ctoken_is(tokens, at, "(") && tokens->t[at].match > (int)at)
		return (size_t)tokens->t[at].match + 1;
	if (tokens->t[at].kind != KL_CT_IDENT)
		return i;
	at++;
	if ((kl_ctoken_is(tokens, at, "+") && kl_ctoken_is(tokens, at + 1, "+")) ||
	    (kl_ctoken_is(tokens, at, "-") && kl_ctoken_is(tokens, at + 1, "-")))
		at += 2;
	return at;
}

size_t kl_shape_place(const struct kl_shape_reader *reader, const struct kl_shape_source *source,
		      size_t i)
{
	const struct kl_ctokens *tokens = &source->tokens;

	if (i >= tokens->n)
		return 0;
	if (is_deref(tokens, i))
		return deref_end(tokens, i) - i;
	if (tokens->t[i].kind != KL_CT_IDENT)
		return 0;
	if (is_macro(reader, tokens, i) && tokens->t[i + 1].match > 0)
		return (size_t)tokens->t[i + 1].match + 1 - i;
	return kl_ctoken_is(tokens, i + 1, "[") ? skip_subscripts(tokens, i + 1) - i : 0;
}

/* Skip the type of a declaration: "register double *restrict p" has four tokens before its name. */
static size_t skip_type(const struct kl_ctokens *tokens, size_t i)
{
	size_t at = i;

	while (at + 1 < tokens->n && tokens->t[at].kind == KL_CT_IDENT) {
		size_t next = at + 1;

		while (kl_ctoken_is(tokens, next, "*"))
			next++;
		if (next >= tokens->n || tokens->t[next].kind != KL_CT_IDENT ||
		    (next > at + 1 && !kl_shape_one_of(tokens, next + 1, "= ; , [") &&
		     tokens->t[next + 1].kind != KL_CT_IDENT))
			break;
		at = next;
	}
	return at;
}

static bool same_place(const struct kl_ctokens *tokens, size_t first, size_t end, size_t other)
{
	for (size_t i = first; i < end; i++, other++)
		if (other >= tokens->n || !kl_shape_same(tokens, i, other))
			return false;
	return true;
}

/* Check that the place occurs in the value: "x = x + ...", "x = fma(a, b, x)". */
static bool value_has(const struct kl_ctokens *tokens, const struct kl_shape_assignment *one)
{
	size_t n = one->place_end - one->place;

	for (size_t i = one->value; i + n <= one->value_end; i++)
		if (same_place(tokens, one->place, one->place_end, i) &&
		    !kl_ctoken_is(tokens, i + n, "["))
			return true;
	return false;
}

bool kl_shape_is_pointer(const struct kl_shape_source *source, size_t i)
{
	const struct kl_ctokens *tokens = &source->tokens;
	size_t first, last;
	int fn = tokens->t[i].fn;

	if (fn < 0)
		return false;
	first = tokens->fn[fn].first + NEAR > i ? tokens->fn[fn].first : i - NEAR;
	last = i + NEAR < tokens->fn[fn].last ? i + NEAR : tokens->fn[fn].last;
	for (size_t k = first; k < last; k++)
		if (kl_shape_same(tokens, k, i) &&
		    ((kl_ctoken_is(tokens, k + 1, "[") && !kl_shape_array_at(source, k)) ||
		     (k && is_deref(tokens, k - 1))))
			return true;
	return false;
}

/* Check that token `i` is in the head of a loop, where ';' ends no statement. */
static bool is_in_head(const struct kl_nest *nest, size_t i)
{
	for (size_t k = 0; k < nest->n; k++)
		if (nest->v[k].open <= i && i < nest->v[k].first)
			return true;
	return false;
}

static bool begins_statement(const struct kl_ctokens *tokens, size_t i)
{
	return !i || kl_shape_one_of(tokens, i - 1, "; { } ) else do") ||
	       tokens->t[i - 1].kind == KL_CT_DIRECTIVE;
}

bool kl_shape_assignment(struct kl_shape_assignment *out, const struct kl_shape_reader *reader,
			 const struct kl_shape_source *source, size_t i)
{
	const struct kl_ctokens *tokens = &source->tokens;
	size_t at = i, n, op;

	*out = (struct kl_shape_assignment){ 0 };
	if (i + 3 >= tokens->n || !begins_statement(tokens, i) || is_in_head(&source->nest, i))
		return false;
	if (tokens->t[i].kind == KL_CT_IDENT)
		at = skip_type(tokens, i);
	else if (!is_deref(tokens, i))
		return false;
	n = kl_shape_place(reader, source, at);
	op = n ? at + n : skip_subscripts(tokens, at + 1);
	out->place = at;
	out->place_end = op;
	out->declared = at > i;
	out->array = n && tokens->t[at].kind == KL_CT_IDENT ? kl_shape_array_at(source, at) : NULL;
	out->memory = n && !out->array;
	if (kl_shape_one_of(tokens, op, "+ - * | ^ &") && kl_ctoken_is(tokens, op + 1, "="))
		out->adds = true;
	else if (!kl_ctoken_is(tokens, op, "=") || kl_ctoken_is(tokens, op + 1, "="))
		return false;
	out->value = op + 1 + out->adds;
	out->value_end = kl_nest_statement_end(tokens, out->value);
	out->adds |= !out->declared && value_has(tokens, out);
	return out->value < out->value_end;
}
