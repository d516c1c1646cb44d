/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_TOKEN_DIGEST_H
#define KL_REWRITE_TOKEN_DIGEST_H

#include "base/map.h"
#include "contract/surface.h"

/*
 * token_digest - digests the tokens of C sources, without comments and white space. Sources with
 * equal digests compile to the same code, unless they use __LINE__, so they can be compared without
 * a compiler. Sources with different digests may still compile to the same code.
 *
 * For a kernel in C, functions that the entry cannot reach do not count, because the files of a
 * project have many functions and most commits change functions that the kernel does not use. A
 * function counts if its name occurs in a function that counts, in any source, or in a macro, the
 * value of a global variable, or an adapter. Everything outside of functions always counts.
 *
 *	kl_token_scope_of(&scope, surface);
 *	file[i] = kl_token_file_read(&scope, text, len);	once for each text
 *	kl_token_state(hex, &scope, paths, file, n);
 */

/** Which functions of a kernel count, and the names in the sources that were read. */
struct kl_token_scope {
	char *entry;               /* NULL if all functions count */
	struct kl_strvec adapters; /* the texts of the adapters */
	struct kl_map ids;         /* name -> uint32_t *, owned: its number */
};
void kl_token_scope_of(struct kl_token_scope *out, const struct kl_surface *surface);
void kl_token_scope_release(struct kl_token_scope *scope);

/** The tokens of a source, and which names its functions have and use. */
struct kl_token_file;
struct kl_token_file *kl_token_file_read(struct kl_token_scope *scope, const char *text,
					 size_t len);
/** Return the number of bytes that the file takes in memory. */
size_t kl_token_file_bytes(const struct kl_token_file *file);
void kl_token_file_free(struct kl_token_file *file);

/**
 * The digests of a state. Two states with equal `reached` have the same kernel, but one of them may
 * not compile because of a function that does not count. If two states have equal `whole`, either
 * both compile or neither does.
 */
struct kl_token_digests {
	char reached[KL_DIGEST_HEX]; /* digest of all tokens that count */
	char whole[KL_DIGEST_HEX];   /* digest of all tokens */
};
/**
 * Digest the sources of a state, in the order of their paths; a file is NULL if the state does not
 * have it.
 */
void kl_token_state(struct kl_token_digests *out, struct kl_token_scope *scope,
		    const struct kl_strvec *paths, const struct kl_token_file *const *file);
/** Digest the tokens of all sources of a surface. */
void kl_token_digest(struct kl_token_digests *out, const struct kl_surface *surface);

#endif
