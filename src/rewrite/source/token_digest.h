/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_TOKEN_DIGEST_H
#define KL_REWRITE_TOKEN_DIGEST_H

#include "contract/surface.h"

/*
 * token_digest - a digest of the tokens of C sources, without comments and white space. Sources
 * with equal digests compile to the same code, unless they use __LINE__, so that a compiler need
 * not be run to compare them. Sources with different digests may still compile to the same code.
 */

/** Digest the tokens of one file. */
void kl_token_digest_file(char hex[KL_DIGEST_HEX], const char *text, size_t len);
/**
 * Add the token digest of a file to `digest`. The files must be added in the order of their paths.
 */
void kl_token_digest_add(struct kl_digest *digest, const char *path, const char *file);
/** Digest the tokens of all sources of a surface. */
void kl_token_digest(char hex[KL_DIGEST_HEX], const struct kl_surface *surface);

#endif
