/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/source/token_digest.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "rewrite/source/reach.h"

/* kl_ctoken_lex() makes one token of each byte of an operator; "a+ +b" and "a++b" must differ */
static const char *const operators[] = { "<<=", ">>=", "...", "->*", "++", "--", "<<", ">>",
					 "<=",  ">=",  "==",  "!=",  "&&", "||", "+=", "-=",
					 "*=",  "/=",  "%=",  "&=",  "|=", "^=", "->", "##",
					 "::",  "<:",  ":>",  "<%",  "%>", "%:", ".*" };

/* Return the number of bytes of the operator that begins at this byte. */
static size_t operator_length(const char *text, size_t len)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(operators); i++) {
		size_t n = strlen(operators[i]);

		if (n <= len && !memcmp(text, operators[i], n))
			return n;
	}
	return 1;
}

/* Return the number of bytes of a comment or of a backslash and newline; 0: there is neither. */
static size_t blank_length(const char *text, size_t len)
{
	const char *end;

	if (len >= 2 && text[0] == '\\' && text[1] == '\n')
		return 2;
	if (len >= 3 && text[0] == '\\' && text[1] == '\r' && text[2] == '\n')
		return 3;
	if (len < 2 || text[0] != '/' || (text[1] != '*' && text[1] != '/'))
		return 0;
	end = text[1] == '/' ? NULL : memmem(text + 2, len - 2, "*/", 2);
	return end ? (size_t)(end + 2 - text) : len;
}

/* Append the quoted part of a directive that begins at `text`. Return its number of bytes. */
static size_t copy_quoted(struct kl_buf *out, const char *text, size_t len)
{
	size_t n = 1;

	while (n < len && text[n] != *text)
		n += text[n] == '\\' ? 2 : 1;
	n = n < len ? n + 1 : len;
	kl_buf_add(out, text, n);
	return n;
}

/* Append a directive without its comments, with one blank for each run of blanks. */
static void add_directive(struct kl_buf *out, const char *text, size_t len)
{
	bool gap = false;

	for (size_t i = 0, n; i < len; i += n) {
		n = blank_length(text + i, len - i);
		if (n || isspace((unsigned char)text[i])) {
			n = n ? n : 1;
			gap = true;
			continue;
		}
		if (gap)
			kl_buf_addch(out, ' ');
		gap = false;
		n = 1;
		if (text[i] == '"' || text[i] == '\'')
			n = copy_quoted(out, text + i, len - i);
		else
			kl_buf_addch(out, text[i]);
	}
}

/* --- the functions that count ----------------------------------------------------------------- */

/* Return the only file of a surface that is compiled; NULL: there are several, or none. */
static const char *only_unit(const struct kl_surface *surface)
{
	const struct kl_strvec *units = &surface->contract->build.units;
	const char *unit = NULL;

	if (units->n)
		return units->n == 1 ? units->v[0] : NULL;
	for (size_t i = 0; i < surface->nfile; i++) {
		if (!kl_suffix_in(surface->file[i].path, surface->contract->language->mains))
			continue;
		if (unit)
			return NULL;
		unit = surface->file[i].path;
	}
	return unit;
}

void kl_token_scope_of(struct kl_token_scope *out, const struct kl_surface *surface)
{
	const struct kl_contract *contract = surface->contract;
	const char *unit = only_unit(surface);

	*out = (struct kl_token_scope){ .entry = NULL };
	/* an adapter can call any function of the kernel's sources */
	if (contract->language != &kl_language_c || contract->adapters.n || !unit)
		return;
	out->entry = kl_strdup(contract->entry);
	out->unit = kl_strdup(unit);
	for (size_t i = 0; i < surface->nfile; i++)
		if (strcmp(surface->file[i].path, unit) != 0)
			kl_reach_words(&out->words, surface->file[i].data, surface->file[i].len);
}

void kl_token_scope_release(struct kl_token_scope *scope)
{
	free(scope->entry);
	free(scope->unit);
	kl_map_release(&scope->words);
	*scope = (struct kl_token_scope){ .entry = NULL };
}

/*
 * Check that the tokens surely are a function with this name, not the use of a macro that defines
 * another one: a type stands before the name, which is not in capitals.
 */
static bool is_function(const struct kl_ctokens *tokens, const struct kl_cfn *fn)
{
	static const char *const other[] = { "static", "inline", "extern", NULL };
	bool small = false, typed = false;

	for (size_t i = 0; i < fn->name_len; i++)
		small |= islower((unsigned char)tokens->text[fn->name_off + i]) != 0;
	for (size_t i = fn->first; tokens->t[i].off < fn->name_off; i++) {
		bool type = tokens->t[i].kind == KL_CT_IDENT;

		for (const char *const *word = other; type && *word; word++)
			type = !kl_ctoken_is(tokens, i, *word);
		typed |= type;
	}
	return small && typed;
}

/* Mark the functions that count, one element for each of tokens->fn; the caller frees. */
static bool *mark_counting(const struct kl_ctokens *tokens, const char *path,
			   const struct kl_token_scope *scope)
{
	bool whole = !scope || !scope->entry || strcmp(scope->unit, path) != 0;
	const char *const entries[] = { whole ? NULL : scope->entry, NULL };
	bool *counts = kl_reach_mark(tokens, entries, whole ? NULL : &scope->words);

	for (size_t fn = 0; fn < tokens->nfn; fn++)
		counts[fn] |= !is_function(tokens, &tokens->fn[fn]);
	return counts;
}

/* --- digests ---------------------------------------------------------------------------------- */

void kl_token_digest_file(char hex[KL_DIGEST_HEX], const char *path, const char *text, size_t len,
			  const struct kl_token_scope *scope)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf plain = KL_BUF_INIT;
	KL_AUTO(kl_freep) bool *counts = NULL;

	kl_ctoken_lex(&tokens, text, len);
	counts = mark_counting(&tokens, path, scope);
	for (size_t i = 0; i < tokens.n;) {
		const struct kl_ctok *token = &tokens.t[i];
		size_t n = 1;

		/* a directive counts wherever it is: what follows may depend on it */
		if (token->kind == KL_CT_DIRECTIVE)
			add_directive(&plain, text + token->off, token->len);
		else if (token->fn >= 0 && !counts[token->fn]) {
			i++;
			continue;
		} else if (token->kind == KL_CT_PUNCT)
			n = operator_length(text + token->off, tokens.len - token->off);
		if (token->kind != KL_CT_DIRECTIVE)
			kl_buf_add(&plain, text + token->off,
				   token->kind == KL_CT_PUNCT ? n : token->len);
		kl_buf_addch(&plain, '\n');
		i += n;
	}
	kl_digest_hex(hex, plain.len ? plain.ptr : "", plain.len);
}

void kl_token_digest_add(struct kl_digest *digest, const char *path, const char *file)
{
	kl_digest_adds(digest, path);
	kl_digest_adds(digest, file);
}

void kl_token_digest(char hex[KL_DIGEST_HEX], const struct kl_surface *surface)
{
	struct kl_digest *digest = kl_digest_new();
	struct kl_token_scope scope;

	kl_token_scope_of(&scope, surface);
	for (size_t i = 0; i < surface->nfile; i++) {
		char file[KL_DIGEST_HEX];

		kl_token_digest_file(file, surface->file[i].path, surface->file[i].data,
				     surface->file[i].len, &scope);
		kl_token_digest_add(digest, surface->file[i].path, file);
	}
	kl_digest_end(digest, hex);
	kl_token_scope_release(&scope);
}
