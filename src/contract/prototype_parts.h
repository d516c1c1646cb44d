/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_PROTOTYPE_PARTS_H
#define KL_CONTRACT_PROTOTYPE_PARTS_H

#include "plan/lexer.h"

/*
 * prototype_parts - represents the function definitions of a source as indices of its tokens.
 * Shared by the files that read a prototype.
 */

/*
 * A function definition, as indices of tokens: [from, name] '(' [open, close) ')' '{' [body, end).
 */
struct kl_found {
	size_t from, name, open, close, body, end;
	size_t given; /* for a template: index of the "<" of its parameters */
	char *scope;  /* the namespaces that the function is in: "ns::" */
	/* is_static: static, or inline in C, so that other files cannot call it */
	bool is_static, is_template;
	bool is_inline, is_kernel, plain_name; /* __global__; extern "C" */
};

/* The definitions of a source, and its tokens, which are borrowed. */
struct kl_founds {
	const struct kl_tokens *tokens;
	struct kl_tokens *macro; /* the tokens of each text in tokens->macros */
	struct kl_found *f;
	size_t n, alloc;
};

/** Return true if the token at `i` is a word of letters, digits and _. */
static inline bool kl_found_is_word(const struct kl_tokens *tokens, size_t i)
{
	return i < tokens->n && tokens->t[i].kind == KL_TOKEN_WORD;
}

/**
 * Find the definitions in `tokens`, which must outlive `out`. The caller must have set `out` to
 * zeros.
 */
void kl_founds_read(struct kl_founds *out, const struct kl_tokens *tokens);
void kl_founds_release(struct kl_founds *founds);

/**
 * Return the index after __attribute__((...)), __launch_bounds__(...) or the like at `i`, or `i` if
 * there is none.
 */
size_t kl_found_skip_attribute(const struct kl_tokens *tokens, size_t i);
/** Return the index after the ">" that ends the template list whose "<" is at `i`. */
size_t kl_found_skip_angles(const struct kl_tokens *tokens, size_t i);
/**
 * Return the end of the template parameter or argument that begins at `i`: the index of its comma,
 * or `close`.
 */
size_t kl_found_given_end(const struct kl_tokens *tokens, size_t i, size_t close);
/** Return true if the token at `i` is static, __global__ or the like. */
bool kl_found_is_storage(const struct kl_tokens *tokens, size_t i);
/** Return true if [from, to) contains a type. */
bool kl_found_has_type(const struct kl_tokens *tokens, size_t from, size_t to);
/** Return true if the token at `i` is const, restrict or another qualifier. */
bool kl_found_is_qualifier(const struct kl_tokens *tokens, size_t i);
/** Return the end of the parameter that begins at `i`: the index of its comma, or `close`. */
size_t kl_found_param_end(const struct kl_tokens *tokens, size_t i, size_t close);
/**
 * Return the index of the name (the last word) of the parameter [from, to), or `to` if it has no
 * name.
 */
size_t kl_found_param_name(const struct kl_tokens *tokens, size_t from, size_t to);

#endif
