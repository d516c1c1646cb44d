/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_CTOKEN_H
#define KL_REWRITE_CTOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * ctoken - C source as tokens, enough to edit it without understanding it.
 * White space and comments lie between tokens; a preprocessor directive
 * is one token, continuation lines included. Any bytes lex without error:
 * what is no C becomes one-byte punctuation.
 */
enum kl_ctok_kind {
	KL_CT_IDENT,
	KL_CT_NUMBER,
	KL_CT_STRING, /* or a character constant */
	KL_CT_PUNCT,  /* one byte each, also of "<<=" */
	KL_CT_DIRECTIVE,
};

struct kl_ctok {
	enum kl_ctok_kind kind;
	size_t off, len;
	int line;  /* from 1 */
	int fn;    /* index into fn[], -1 outside of functions */
	int match; /* ( [ {: index of the closing token, and back; else -1 */
};

struct kl_cfn {
	size_t name_off, name_len;
	size_t first, last; /* tokens: of its name ... its closing brace */
};

struct kl_ctokens {
	const char *text; /* borrowed */
	size_t len;
	struct kl_ctok *t;
	size_t n, alloc;
	struct kl_cfn *fn;
	size_t nfn, fn_alloc;
};

void kl_ctoken_lex(struct kl_ctokens *out, const char *text, size_t len);
void kl_ctokens_release(struct kl_ctokens *tokens);

/** Is token `i` exactly `text`? False beyond the end. */
bool kl_ctoken_is(const struct kl_ctokens *tokens, size_t i, const char *text);
/** Name of the function that token `i` lies in, owned by the caller; "" outside. */
char *kl_ctoken_function(const struct kl_ctokens *tokens, size_t i);
/** The same for a line; "" outside. */
char *kl_ctoken_function_at(const struct kl_ctokens *tokens, int line);

/*
 * edits - replacements of byte ranges. Edits of one site belong together and have
 * the same number; sites may be applied alone or all at once.
 */
struct kl_cedit {
	size_t off, len;
	char *with; /* owned */
	int site;
	int line;
	int fn; /* index into kl_ctokens.fn, -1 */
};

struct kl_cedits {
	struct kl_cedit *e;
	size_t n, alloc;
	int nsite;
};

void kl_cedits_release(struct kl_cedits *cedits);
/** Replace tokens first ... last (inclusive) by `with`. */
void kl_cedits_tokens(struct kl_cedits *cedits, const struct kl_ctokens *tokens, size_t first,
		      size_t last, const char *with, int site);
/**
 * Apply the edits for which `take` answers true (NULL: all). Overlapping
 * edits: the first wins. A line that is left blank by a removal goes too.
 */
void kl_cedits_apply(struct kl_buf *out, const struct kl_ctokens *tokens,
		     const struct kl_cedits *cedits,
		     bool (*take)(const struct kl_cedit *cedits, void *payload), void *payload);

#endif
