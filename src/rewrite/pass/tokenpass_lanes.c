/* SPDX-License-Identifier: Apache-2.0 */
/* tokenpass_lanes - the token pass that replaces vector intrinsics by loops over the lanes */
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "rewrite/pass/lanes.h"
#include "rewrite/pass/tokenpass_parts.h"

/* What a file uses: the functions to add, each once. */
struct use {
	struct kl_map seen;       /* names of intrinsics */
	struct kl_strvec renamed; /* the functions of C, in the order of `seen` */
	struct kl_buf functions;  /* their text */
	bool unknown;             /* an intrinsic that has no function here */
};

static void release_use(struct use *use)
{
	kl_map_release(&use->seen);
	kl_strvec_release(&use->renamed);
	kl_buf_release(&use->functions);
}

/* Return the replacement of `word`, or NULL if the word stays. */
static const char *replacement(struct use *use, const char *word)
{
	const char *type = kl_lanes_type(word), *known;
	char *name;

	if (type)
		return type;
	if (!kl_lanes_intrinsic(word))
		return NULL;
	if ((known = kl_map_get(&use->seen, word)))
		return known;
	if (!kl_lanes_function(&use->functions, &name, word)) {
		use->unknown = true;
		return NULL;
	}
	kl_strvec_take(&use->renamed, name);
	kl_map_put(&use->seen, word, name);
	return name;
}

/*
 * Append directive `i`, which defines a macro, with the intrinsics of its body replaced; a body
 * without intrinsics stays as it is.
 */
static void replace_directive(struct kl_buf *out, struct use *use, const struct kl_ctokens *tokens,
			      size_t i)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens body = { 0 };
	KL_AUTO(kl_cedits_release) struct kl_cedits edits = { 0 };
	struct kl_cdefine macro;

	if (!kl_ctoken_define(&macro, tokens, i))
		return;
	kl_ctoken_lex(&body, tokens->text + macro.body, macro.end - macro.body);
	for (size_t k = 0; k < body.n; k++) {
		KL_AUTO(kl_freep) char *word = NULL;
		const char *with;

		if (body.t[k].kind != KL_CT_IDENT)
			continue;
		word = kl_strndup(body.text + body.t[k].off, body.t[k].len);
		if ((with = replacement(use, word)))
			kl_cedits_tokens(&edits, &body, k, k, with, 0);
	}
	if (!edits.n)
		return;
	kl_buf_add(out, tokens->text + tokens->t[i].off, macro.body - tokens->t[i].off);
	kl_cedits_apply(out, &body, &edits, NULL, NULL);
}

static bool is_include(const struct kl_ctokens *tokens, size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;

	if (tokens->t[i].kind != KL_CT_DIRECTIVE)
		return false;
	kl_tokenpass_directive(&words, tokens, i);
	return !strncmp(words.ptr, "#include", 8);
}

/*
 * Find the #include after which the functions are written: the last one before any code. Return
 * false if there is none, or if a conditional directive stands before it or follows it at once.
 */
static bool find_place(size_t *place, const struct kl_ctokens *tokens)
{
	bool found = false;

	for (size_t i = 0; i < tokens->n && tokens->t[i].kind == KL_CT_DIRECTIVE; i++)
		if (is_include(tokens, i)) {
			*place = i;
			found = true;
		}
	for (size_t i = 0; found && i < *place; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;

		kl_tokenpass_directive(&words, tokens, i);
		if (!strncmp(words.ptr, "#if", 3) || !strncmp(words.ptr, "#el", 3))
			return false;
	}
	return found;
}

/* Check whether one of the first `n` directives contains `text`. */
static bool has_include(const struct kl_ctokens *tokens, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;

		kl_tokenpass_directive(&words, tokens, i);
		if (strstr(words.ptr, text))
			return true;
	}
	return false;
}

/*
 * Write the types and the functions after the #include at token `place`. Without the pragmas the
 * compiler would make vectors of the lanes again.
 */
static void add_functions(struct kl_cedits *out, const struct use *use,
			  const struct kl_ctokens *tokens, size_t place)
{
	static const char *const needed[] = { "<stdint.h>", "<string.h>" };
	const struct kl_ctok *at = &tokens->t[place];
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf used = KL_BUF_INIT;

	kl_buf_add(&text, tokens->text + at->off, at->len);
	for (size_t i = 0; i < KL_ARRAY_SIZE(needed); i++)
		if (!has_include(tokens, place + 1, needed[i]))
			kl_buf_addf(&text, "\n#include %s", needed[i]);
	kl_buf_adds(&text,
		    "\n\n#pragma GCC optimize(\"no-tree-vectorize\", \"no-tree-slp-vectorize\")\n"
		    "#pragma GCC target(\"no-avx\")\n\n");
	for (size_t i = 0; i < out->n; i++)
		kl_buf_adds(&used, out->e[i].with);
	kl_buf_adds(&used, use->functions.ptr);
	kl_lanes_types(&text, used.ptr);
	kl_buf_add(&text, use->functions.ptr, use->functions.len);
	kl_cedits_tokens(out, tokens, place, place, text.ptr, 0);
}

/* All changes are one site, because a type and the functions on it only change together. */
void kl_tokenpass_scalar_lanes(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	struct use use = { .renamed = KL_STRVEC_INIT, .functions = KL_BUF_INIT };
	KL_AUTO(kl_cedits_release) struct kl_cedits edits = { 0 };
	size_t place;

	if (!find_place(&place, tokens))
		return;
	for (size_t i = 0; i < tokens->n && !use.unknown; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *word = NULL;
		const char *with = NULL;

		if (tokens->t[i].kind == KL_CT_DIRECTIVE) {
			replace_directive(&line, &use, tokens, i);
			with = line.len ? line.ptr : NULL;
		} else if (tokens->t[i].kind == KL_CT_IDENT) {
			word = kl_strndup(tokens->text + tokens->t[i].off, tokens->t[i].len);
			with = replacement(&use, word);
		}
		if (with)
			kl_cedits_tokens(&edits, tokens, i, i, with, 0);
	}
	if (!use.unknown && use.seen.n) {
		add_functions(&edits, &use, tokens, place);
		*out = edits;
		edits = (struct kl_cedits){ 0 };
	}
	release_use(&use);
}
