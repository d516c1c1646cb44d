/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_TOKEN_DIGEST_H
#define KL_REWRITE_TOKEN_DIGEST_H

#include "base/map.h"
#include "contract/surface.h"

/*
 * token_digest - a digest of the tokens of C sources, without comments and white space. Sources
 * with equal digests compile to the same code, unless they use __LINE__, so that a compiler need
 * not be run to compare them. Sources with different digests may still compile to the same code.
 *
 * Of a kernel that is compiled from one file in C, functions that the entry cannot reach (reach.h)
 * do not count: a project's file has many functions, and most commits change others.
 */

/** Which functions of a surface count. */
struct kl_token_scope {
	char *entry;         /* NULL: all functions count */
	char *unit;          /* path of the file that is compiled */
	struct kl_map words; /* names in the other sources */
};
void kl_token_scope_of(struct kl_token_scope *out, const struct kl_surface *surface);
void kl_token_scope_release(struct kl_token_scope *scope);

/** Digest the tokens of the file `path` of a surface. `scope` NULL: all functions count. */
void kl_token_digest_file(char hex[KL_DIGEST_HEX], const char *path, const char *text, size_t len,
			  const struct kl_token_scope *scope);
/**
 * Add the token digest of a file to `digest`. The files must be added in the order of their paths.
 */
void kl_token_digest_add(struct kl_digest *digest, const char *path, const char *file);
/** Digest the tokens of all sources of a surface. */
void kl_token_digest(char hex[KL_DIGEST_HEX], const struct kl_surface *surface);

#endif
