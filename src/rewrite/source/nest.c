/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/source/nest.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* maximum number of levels of nested statements; loops in deeper code are not found */
#define MAX_DEPTH 200

void kl_nest_release(struct kl_nest *nest)
{
	free(nest->v);
	*nest = (struct kl_nest){ 0 };
}

static bool is_open(const struct kl_ctokens *tokens, size_t i)
{
	return i < tokens->n && tokens->t[i].match > (int)i;
}

static bool has_head(const struct kl_ctokens *tokens, size_t i)
{
	return (kl_ctoken_is(tokens, i, "for") || kl_ctoken_is(tokens, i, "while") ||
		kl_ctoken_is(tokens, i, "if") || kl_ctoken_is(tokens, i, "switch")) &&
	       kl_ctoken_is(tokens, i + 1, "(") && is_open(tokens, i + 1);
}

static size_t find_end(const struct kl_ctokens *tokens, size_t i, int depth)
{
	if (depth > MAX_DEPTH || i >= tokens->n)
		return tokens->n ? tokens->n - 1 : 0;
	while (tokens->t[i].kind == KL_CT_DIRECTIVE && i + 1 < tokens->n)
		i++;
	if (kl_ctoken_is(tokens, i, "{") && is_open(tokens, i))
		return (size_t)tokens->t[i].match;
	if (has_head(tokens, i)) {
		bool choice = kl_ctoken_is(tokens, i, "if");
		size_t end = find_end(tokens, (size_t)tokens->t[i + 1].match + 1, depth + 1);

		return choice && kl_ctoken_is(tokens, end + 1, "else") ?
			       find_end(tokens, end + 2, depth + 1) :
			       end;
	}
	if (kl_ctoken_is(tokens, i, "do"))
		i = find_end(tokens, i + 1, depth + 1) + 1;
	while (i + 1 < tokens->n && !kl_ctoken_is(tokens, i, ";") && !kl_ctoken_is(tokens, i, "}"))
		i = is_open(tokens, i) ? (size_t)tokens->t[i].match : i + 1;
	return i < tokens->n ? i : tokens->n - 1;
}

size_t kl_nest_statement_end(const struct kl_ctokens *tokens, size_t i)
{
	return find_end(tokens, i, 0);
}

size_t kl_nest_semicolon(const struct kl_ctokens *tokens, size_t i, size_t end)
{
	while (i < end && !kl_ctoken_is(tokens, i, ";"))
		i = is_open(tokens, i) ? (size_t)tokens->t[i].match + 1 : i + 1;
	return i < end ? i : end;
}

static long number_at(const struct kl_ctokens *tokens, size_t i)
{
	char text[24];
	size_t n = tokens->t[i].len;

	if (tokens->t[i].kind != KL_CT_NUMBER || n >= sizeof(text))
		return 0;
	memcpy(text, tokens->text + tokens->t[i].off, n);
	text[n] = '\0';
	return strtol(text, NULL, 0);
}

/* Read "i++", "++i", "i += 4" or "i = i + 4" at tokens first ... end - 1. */
static void read_step(struct kl_nest_loop *loop, const struct kl_ctokens *tokens, size_t first,
		      size_t end)
{
	size_t i = first;

	while (i < end && tokens->t[i].kind != KL_CT_IDENT)
		i++;
	if (i >= end)
		return;
	loop->counter = (long)i;
	loop->step = 1;
	for (size_t k = i + 1; k + 1 < end && !kl_ctoken_is(tokens, k, ","); k++)
		if (kl_ctoken_is(tokens, k, "=")) {
			size_t at = k + 1;

			if (at + 2 < end && tokens->t[at].kind == KL_CT_IDENT &&
			    tokens->t[at].len == tokens->t[i].len &&
			    !memcmp(tokens->text + tokens->t[at].off,
				    tokens->text + tokens->t[i].off, tokens->t[i].len))
				at += 2;
			loop->step_at = (long)at;
			loop->step = number_at(tokens, at);
			return;
		}
}

static void read_loop(struct kl_nest_loop *loop, const struct kl_ctokens *tokens, size_t i)
{
	size_t close = (size_t)tokens->t[i + 1].match, first, second;

	*loop = (struct kl_nest_loop){ .head = i,
				       .open = i + 1,
				       .up = -1,
				       .counter = -1,
				       .step_at = -1,
				       .cond = i + 2,
				       .cond_end = close,
				       .first = close + 1 };
	loop->last = kl_nest_statement_end(tokens, close + 1);
	if (!kl_ctoken_is(tokens, i, "for"))
		return;
	first = kl_nest_semicolon(tokens, i + 2, close);
	second = kl_nest_semicolon(tokens, first + 1, close);
	loop->cond = first < close ? first + 1 : close;
	loop->cond_end = second;
	if (second < close)
		read_step(loop, tokens, second + 1, close);
}

void kl_nest_find(struct kl_nest *out, const struct kl_ctokens *tokens)
{
	*out = (struct kl_nest){ 0 };
	for (size_t i = 0; i + 2 < tokens->n && out->n < KL_NEST_MOST; i++) {
		struct kl_nest_loop *loop;
		bool after_do = i && kl_ctoken_is(tokens, i, "while") &&
				kl_ctoken_is(tokens, i - 1, "}");

		if (!has_head(tokens, i) || after_do ||
		    !(kl_ctoken_is(tokens, i, "for") || kl_ctoken_is(tokens, i, "while")) ||
		    (size_t)tokens->t[i + 1].match + 1 >= tokens->n)
			continue;
		KL_GROW(out->v, out->n + 1, out->alloc);
		loop = &out->v[out->n++];
		read_loop(loop, tokens, i);
		for (size_t k = out->n - 1; k-- > 0;)
			if (out->v[k].first <= i && i <= out->v[k].last) {
				out->v[k].inside++;
				if (loop->up < 0)
					loop->up = (int)k;
			}
	}
}

int kl_nest_at(const struct kl_nest *nest, size_t i)
{
	for (size_t k = nest->n; k-- > 0;)
		if (nest->v[k].first <= i && i <= nest->v[k].last)
			return (int)k;
	return -1;
}
