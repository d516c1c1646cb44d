/* SPDX-License-Identifier: Apache-2.0 */
/* tokenpass_flow - token passes that change which statements run: guesses, choices, repetitions */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rewrite/pass/tokenpass_parts.h"

#define MOST_COPIES 1024 /* statements of one repetition */

static bool begins_statement(const struct kl_ctokens *tokens, size_t i)
{
	return i > 0 && (kl_ctoken_is(tokens, i - 1, ";") || kl_ctoken_is(tokens, i - 1, "{") ||
			 kl_ctoken_is(tokens, i - 1, "}"));
}

/* Return the ';' that ends the simple statement at `i`, or 0 if it is not one. */
static size_t statement_end(const struct kl_ctokens *tokens, size_t i)
{
	for (; i < tokens->n; i++) {
		if (kl_ctoken_is(tokens, i, ";"))
			return i;
		if (kl_ctoken_is(tokens, i, "{") || kl_ctoken_is(tokens, i, "}") ||
		    tokens->t[i].kind == KL_CT_DIRECTIVE)
			return 0;
		if (tokens->t[i].match > (int)i)
			i = (size_t)tokens->t[i].match;
	}
	return 0;
}

static char *copy_tokens(const struct kl_ctokens *tokens, size_t first, size_t last)
{
	return kl_strndup(tokens->text + tokens->t[first].off,
			  tokens->t[last].off + tokens->t[last].len - tokens->t[first].off);
}

/* --- guesses ----------------------------------------------------------------------------------- */

/* Check that token `i` begins "return <number>;". */
static bool returns_number(const struct kl_ctokens *tokens, size_t i)
{
	return kl_ctoken_is(tokens, i, "return") && i + 2 < tokens->n &&
	       tokens->t[i + 1].kind == KL_CT_NUMBER && kl_ctoken_is(tokens, i + 2, ";");
}

/*
 * A function that may answer a number at once, "if (n < 8) return 0;", and works for a better
 * answer otherwise: let it always answer the number. Only a static function can be one whose
 * callers are all here.
 */
void kl_tokenpass_no_guess(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	for (size_t func = 0; func < tokens->nfn; func++) {
		const struct kl_cfn *cfn = &tokens->fn[func];
		size_t open = cfn->last, i;

		if (!kl_ctoken_is(tokens, cfn->first, "static") || tokens->t[cfn->last].match < 0)
			continue;
		open = (size_t)tokens->t[cfn->last].match;
		for (i = open + 1; i < cfn->last && !kl_ctoken_is(tokens, i, "if"); i++)
			if (tokens->t[i].kind == KL_CT_DIRECTIVE ||
			    kl_ctoken_is(tokens, i, "for") || kl_ctoken_is(tokens, i, "while") ||
			    kl_ctoken_is(tokens, i, "do"))
				i = cfn->last;
		if (i + 1 < cfn->last && kl_ctoken_is(tokens, i + 1, "(") &&
		    tokens->t[i + 1].match > 0 && begins_statement(tokens, i)) {
			size_t then = (size_t)tokens->t[i + 1].match + 1;
			KL_AUTO(kl_freep) char *text = NULL;

			if (!returns_number(tokens, then) || then + 3 >= cfn->last ||
			    returns_number(tokens, then + 3) ||
			    kl_ctoken_is(tokens, then + 3, "else"))
				continue;
			text = copy_tokens(tokens, then, then + 2);
			kl_cedits_tokens(out, tokens, i, cfn->last - 1, text, out->nsite);
		}
	}
}

/* --- choices ----------------------------------------------------------------------------------- */

/* Check that tokens first ... last compare two values, and do nothing more at the top level. */
static bool is_comparison(const struct kl_ctokens *tokens, size_t first, size_t last)
{
	size_t found = 0;

	for (size_t i = first; i <= last; i++) {
		if (tokens->t[i].match > (int)i) {
			i = (size_t)tokens->t[i].match;
			continue;
		}
		if (kl_ctoken_is(tokens, i, "?") || kl_ctoken_is(tokens, i, ",") ||
		    kl_ctoken_is(tokens, i, "&") || kl_ctoken_is(tokens, i, "|") ||
		    kl_ctoken_is(tokens, i, "^") || kl_ctoken_is(tokens, i, "!"))
			return false;
		if (!kl_ctoken_is(tokens, i, "<") && !kl_ctoken_is(tokens, i, ">") &&
		    !kl_ctoken_is(tokens, i, "="))
			continue;
		/* "->", "<<" and ">>" compare nothing; "<=", ">=" and "==" are two tokens */
		if (i > first && kl_ctoken_is(tokens, i - 1, "-") && kl_ctoken_is(tokens, i, ">"))
			continue;
		if (!kl_ctoken_is(tokens, i, "=") && i < last &&
		    kl_ctoken_is(tokens, i + 1, kl_ctoken_is(tokens, i, "<") ? "<" : ">")) {
			i++;
			continue;
		}
		i += i < last && kl_ctoken_is(tokens, i + 1, "=");
		found++;
	}
	return found == 1;
}

/* Replace "n += key >= pivot;" by "if (key >= pivot) n++;". */
void kl_tokenpass_rebranch(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	for (size_t i = 1; i + 4 < tokens->n; i++) {
		KL_AUTO(kl_freep) char *name = NULL;
		KL_AUTO(kl_freep) char *value = NULL;
		KL_AUTO(kl_freep) char *text = NULL;
		size_t end;

		if (tokens->t[i].fn < 0 || tokens->t[i].kind != KL_CT_IDENT ||
		    !begins_statement(tokens, i) || !kl_ctoken_is(tokens, i + 1, "+") ||
		    !kl_ctoken_is(tokens, i + 2, "=") || !(end = statement_end(tokens, i + 3)) ||
		    end == i + 3 || !is_comparison(tokens, i + 3, end - 1))
			continue;
		name = copy_tokens(tokens, i, i);
		value = copy_tokens(tokens, i + 3, end - 1);
		text = kl_asprintf("if (%s) %s++;", value, name);
		kl_cedits_tokens(out, tokens, i, end, text, out->nsite);
	}
}

/* --- repetitions ------------------------------------------------------------------------------- */

/* Read a small decimal number. Return false if it has another form. */
static bool read_number(long *out, const struct kl_ctokens *tokens, size_t i)
{
	const struct kl_ctok *token = &tokens->t[i];

	*out = 0;
	for (size_t k = 0; k < token->len; k++) {
		char ch = tokens->text[token->off + k];

		if (ch < '0' || ch > '9' || token->len > 6 || (k == 1 && *out == 0))
			return false;
		*out = *out * 10 + (ch - '0');
	}
	return token->kind == KL_CT_NUMBER;
}

static bool same_token(const struct kl_ctokens *tokens, size_t a, size_t b)
{
	return tokens->t[a].kind == tokens->t[b].kind && tokens->t[a].len == tokens->t[b].len &&
	       !memcmp(tokens->text + tokens->t[a].off, tokens->text + tokens->t[b].off,
		       tokens->t[a].len);
}

/*
 * Check that the `n` tokens at `b` are those at `a`, except that each number that differs is higher
 * by `copy` times its step. The first copy gives the steps. Count the numbers that differ.
 */
static bool follows(const struct kl_ctokens *tokens, size_t a, size_t b, size_t n, long copy,
		    long *step, size_t *differ)
{
	*differ = 0;
	for (size_t i = 0; i < n; i++) {
		long left, right;

		if (copy > 1 && step[i]) {
			if (!read_number(&left, tokens, a + i) ||
			    !read_number(&right, tokens, b + i) || right - left != copy * step[i])
				return false;
			(*differ)++;
			continue;
		}
		if (same_token(tokens, a + i, b + i))
			continue;
		if (copy > 1 || !read_number(&left, tokens, a + i) ||
		    !read_number(&right, tokens, b + i) || right <= left)
			return false;
		step[i] = right - left;
		(*differ)++;
	}
	return true;
}

/* Replace `copies` statements from `first` on, `n` tokens each, by a loop. */
static void add_loop(struct kl_cedits *out, const struct kl_ctokens *tokens, size_t first, size_t n,
		     long copies, const long *step)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	size_t at = tokens->t[first].off;

	kl_buf_addf(&text, "for (int kl_i = 0; kl_i < %ld; kl_i++) ", copies);
	for (size_t i = 0; i < n; i++) {
		const struct kl_ctok *token = &tokens->t[first + i];
		long value;

		if (!step[i] || !read_number(&value, tokens, first + i))
			continue;
		kl_buf_add(&text, tokens->text + at, token->off - at);
		kl_buf_addf(&text, "(%ld + kl_i * %ld)", value, step[i]);
		at = token->off + token->len;
	}
	kl_buf_add(&text, tokens->text + at,
		   tokens->t[first + n - 1].off + tokens->t[first + n - 1].len - at);
	kl_cedits_tokens(out, tokens, first, first + (size_t)copies * n - 1, text.ptr, out->nsite);
}

/* Check whether token `i` is in a function that pass scalar-lanes wrote: its copies are lanes. */
static bool is_generated(const struct kl_ctokens *tokens, size_t i)
{
	const struct kl_cfn *cfn = &tokens->fn[tokens->t[i].fn];

	return cfn->name_len > 8 && !memcmp(tokens->text + cfn->name_off, "lanes", 5);
}

/*
 * Return true if directive `i` defines a macro whose name is token `name` and whose body contains a
 * '#'.
 */
static bool is_pasting(const struct kl_ctokens *tokens, size_t i, size_t name)
{
	struct kl_cdefine macro;

	return tokens->t[i].kind == KL_CT_DIRECTIVE && kl_ctoken_define(&macro, tokens, i) &&
	       macro.name_len == tokens->t[name].len &&
	       !memcmp(tokens->text + macro.name, tokens->text + tokens->t[name].off,
		       macro.name_len) &&
	       memchr(tokens->text + macro.body, '#', macro.end - macro.body);
}

/*
 * Return true if tokens first ... last call a macro that makes a name or a string from an argument,
 * as "c##r = 0" does. An argument of such a macro must stay a number: it cannot be replaced by an
 * expression.
 */
static bool calls_pasting(const struct kl_ctokens *tokens, size_t first, size_t last)
{
	for (size_t name = first; name < last; name++)
		for (size_t i = 0; tokens->t[name].kind == KL_CT_IDENT &&
				   kl_ctoken_is(tokens, name + 1, "(") && i < first;
		     i++)
			if (is_pasting(tokens, i, name))
				return true;
	return false;
}

/*
 * Replace copies of a statement that differ only in numbers which rise by the same steps, at least
 * three, by a loop: "s += x[i + 1]; s += x[i + 2]; s += x[i + 3];".
 */
void kl_tokenpass_reroll(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	size_t i = 1;

	while (i + 3 < tokens->n) {
		KL_AUTO(kl_freep) long *step = NULL;
		size_t end, n, differ;
		long copies = 1;

		if (tokens->t[i].fn < 0 || tokens->t[i].kind != KL_CT_IDENT ||
		    !begins_statement(tokens, i) || !(end = statement_end(tokens, i)) ||
		    kl_ctoken_is(tokens, i, "return") || kl_ctoken_is(tokens, i, "case")) {
			i++;
			continue;
		}
		n = end - i + 1;
		step = kl_calloc(n, sizeof(*step));
		while (copies < MOST_COPIES && i + (size_t)(copies + 1) * n <= tokens->n &&
		       follows(tokens, i, i + (size_t)copies * n, n, copies, step, &differ) &&
		       differ)
			copies++;
		if (copies >= 3 && !is_generated(tokens, i) && !calls_pasting(tokens, i, end)) {
			add_loop(out, tokens, i, n, copies, step);
			i += (size_t)copies * n;
		} else {
			i = end + 1;
		}
	}
}
