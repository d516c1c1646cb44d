/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PLAN_LEXER_H
#define KL_PLAN_LEXER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

/*
 * lexer - splits C source into tokens that point into it. Comments, white space and preprocessor
 * directives are left out, but the names of #include "..." and the texts of #define are collected.
 * Any bytes are accepted; bytes that are not C become tokens of one byte. Operators have at most
 * two bytes: "<<=" is "<<" and "=".
 */
enum kl_token_kind { KL_TOKEN_WORD, KL_TOKEN_NUMBER, KL_TOKEN_STRING, KL_TOKEN_SIGN };

struct kl_token {
	enum kl_token_kind kind;
	const char *s; /* points into the source, to `n` bytes that do not end with a NUL */
	size_t n;
	int line; /* counted from 1 */
};

struct kl_tokens {
	struct kl_token *t;
	size_t n, alloc;
	struct kl_strvec headers; /* names of #include "..." */
	struct kl_strvec macros;  /* texts of #define, beginning with the macro's name */
};

/**
 * Append the tokens of `text`, which must outlive the tokens. `out` must be set to zeros before the
 * first call.
 */
void kl_lexer_read(struct kl_tokens *out, const char *text, size_t len);
void kl_tokens_release(struct kl_tokens *tokens);

/** Return true if the token at `i` is `text`; false if `i` is beyond the last token. */
bool kl_token_is(const struct kl_tokens *tokens, size_t i, const char *text);
/** Return true if the token at `i` is one of `words`, which end with NULL. */
bool kl_token_is_any(const struct kl_tokens *tokens, size_t i, const char *const *words);
/** Return true if two tokens, which can be from different texts, have the same bytes. */
bool kl_token_same(const struct kl_token *left, const struct kl_token *right);
/**
 * Return the index after the bracket that closes the bracket at `i`; tokens->n if no bracket closes
 * it.
 */
size_t kl_token_skip(const struct kl_tokens *tokens, size_t i);

#endif
