/* SPDX-License-Identifier: Apache-2.0 */
/* transform_scope - limits a transformation to the functions that a kernel can reach */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "rewrite/transform/transform_parts.h"

static bool is_named(const struct kl_ctokens *tokens, size_t fn, const char *name)
{
	const struct kl_cfn *cfn = &tokens->fn[fn];

	return strlen(name) == cfn->name_len &&
	       !memcmp(name, tokens->text + cfn->name_off, cfn->name_len);
}

/* Mark the functions that token `i` names; true: one was not marked before. */
static bool mark_token(bool *reached, const struct kl_ctokens *tokens, size_t i)
{
	const struct kl_ctok *token = &tokens->t[i];
	KL_AUTO(kl_freep) char *text = NULL;
	bool any = false;

	if (token->kind != KL_CT_IDENT)
		return false;
	text = kl_strndup(tokens->text + token->off, token->len);
	for (size_t fn = 0; fn < tokens->nfn; fn++)
		if (!reached[fn] && is_named(tokens, fn, text))
			reached[fn] = any = true;
	return any;
}

/* Mark the functions whose names stand in a marked function; true: one was not marked before. */
static bool mark_named(bool *reached, const struct kl_ctokens *tokens)
{
	bool any = false;

	for (size_t i = 0; i < tokens->n; i++)
		if (tokens->t[i].fn >= 0 && reached[tokens->t[i].fn])
			any |= mark_token(reached, tokens, i);
	return any;
}

static bool is_word_char(char ch)
{
	return isalnum((unsigned char)ch) || ch == '_';
}

/* Mark the functions that the text of a macro names. */
static void mark_macro(bool *reached, const struct kl_ctokens *tokens, size_t directive)
{
	struct kl_cdefine macro;

	if (!kl_ctoken_define(&macro, tokens, directive))
		return;
	for (size_t at = macro.body, n; at < macro.end; at += n ? n : 1) {
		KL_AUTO(kl_freep) char *word = NULL;

		for (n = 0; at + n < macro.end && is_word_char(tokens->text[at + n]);)
			n++;
		word = kl_strndup(tokens->text + at, n);
		for (size_t fn = 0; n && fn < tokens->nfn; fn++)
			reached[fn] |= is_named(tokens, fn, word);
	}
}

/*
 * Mark what may be called from anywhere: the functions that macros name, and those that the value of
 * a global variable names, such as a table of functions.
 */
static void mark_indirect(bool *reached, const struct kl_ctokens *tokens)
{
	for (size_t i = 0; i < tokens->n; i++)
		if (tokens->t[i].kind == KL_CT_DIRECTIVE)
			mark_macro(reached, tokens, i);
		else if (tokens->t[i].fn < 0 && !kl_ctoken_is(tokens, i + 1, "("))
			mark_token(reached, tokens, i);
}

bool *kl_transform_scope(const struct kl_ctokens *tokens, const char *const *entries)
{
	bool *reached = kl_calloc(tokens->nfn + 1, sizeof(*reached)), any = false;

	for (const char *const *entry = entries; entry && *entry; entry++)
		for (size_t fn = 0; fn < tokens->nfn; fn++)
			if (is_named(tokens, fn, *entry))
				reached[fn] = any = true;
	if (any)
		mark_indirect(reached, tokens);
	while (any && mark_named(reached, tokens))
		;
	for (size_t fn = 0; !any && fn < tokens->nfn; fn++)
		reached[fn] = true;
	return reached;
}
