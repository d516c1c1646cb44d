/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_CTOKEN_H
#define KL_REWRITE_CTOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * ctoken - splits C source into tokens, so that it can be edited without parsing it.
 *
 * White space and comments are skipped. A preprocessor directive is one token, with its
 * continuation lines. Lexing never fails: bytes that are not C become one-byte punctuation.
 */
enum kl_ctok_kind {
	KL_CT_IDENT,
	KL_CT_NUMBER,
	KL_CT_STRING, /* a string or a character constant */
	KL_CT_PUNCT,  /* one byte each: "<<=" is three tokens */
	KL_CT_DIRECTIVE,
};

struct kl_ctok {
	enum kl_ctok_kind kind;
	size_t off, len;
	int line;  /* from 1 */
	int fn;    /* index into kl_ctokens.fn; -1 outside of functions */
	int match; /* of a bracket: index of the matching bracket; else -1 */
};

struct kl_cfn {
	size_t name_off, name_len;
	size_t first, last; /* tokens from the start of the declaration to the closing brace */
};

struct kl_ctokens {
	const char *text; /* borrowed */
	size_t len;
	struct kl_ctok *t;
	size_t n, alloc;
	struct kl_cfn *fn;
	size_t nfn, fn_alloc;
};

/** Split `text`, which is borrowed, into tokens. The caller releases `out`. */
void kl_ctoken_lex(struct kl_ctokens *out, const char *text, size_t len);
void kl_ctokens_release(struct kl_ctokens *tokens);

/** Check that the text of token `i` is `text`. Return false if there is no token `i`. */
bool kl_ctoken_is(const struct kl_ctokens *tokens, size_t i, const char *text);
/** Return the name of the function that contains token `i`, or "". Caller frees. */
char *kl_ctoken_function(const struct kl_ctokens *tokens, size_t i);
/** Return the name of the function that contains a line, or "". Caller frees. */
char *kl_ctoken_function_at(const struct kl_ctokens *tokens, int line);

/** A directive "#define NAME body": the offsets of its parts in the text, in bytes. */
struct kl_cdefine {
	size_t name, name_len;
	size_t body, end; /* all that follows the name; a macro with arguments has '(' at `body` */
};

/** Read directive `i`; false if it defines no macro. */
bool kl_ctoken_define(struct kl_cdefine *out, const struct kl_ctokens *tokens, size_t i);

/*
 * The replacement of a range of bytes. Edits with the same `site` must be applied together; each
 * site can be applied without the others.
 */
struct kl_cedit {
	size_t off, len;
	char *with; /* owned */
	int site;
	int line;
	int fn; /* index into kl_ctokens.fn; -1 outside of functions */
};

struct kl_cedits {
	struct kl_cedit *e;
	size_t n, alloc;
	int nsite; /* number of sites; the next site gets this number */
};

void kl_cedits_release(struct kl_cedits *cedits);
/** Replace tokens first ... last (inclusive) by `with`. */
void kl_cedits_tokens(struct kl_cedits *cedits, const struct kl_ctokens *tokens, size_t first,
		      size_t last, const char *with, int site);
/**
 * Append the text, changed by the edits for which `take` returns true (NULL for all edits). Of
 * overlapping edits only the first is applied. A line that becomes blank by a removal is removed.
 */
void kl_cedits_apply(struct kl_buf *out, const struct kl_ctokens *tokens,
		     const struct kl_cedits *cedits,
		     bool (*take)(const struct kl_cedit *cedits, void *payload), void *payload);

#endif
