/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_DIGEST_H
#define KL_TEXT_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* digest - computes SHA-256 digests (OpenSSL) as 64 lower-case hex digits. */
#define KL_DIGEST_HEX 65 /* number of bytes of a digest in hex, with the NUL */

struct kl_digest;

/** Start a digest. kl_digest_end() frees it. */
struct kl_digest *kl_digest_new(void);
void kl_digest_add(struct kl_digest *digest, const void *data, size_t n);
/** Add a text with its NUL, so that "ab", "c" and "a", "bc" give different digests. */
void kl_digest_adds(struct kl_digest *digest, const char *text);
/** Write the digest to `hex` and free `digest`. */
void kl_digest_end(struct kl_digest *digest, char hex[KL_DIGEST_HEX]);

/**
 * Convert 2 * `n` lower-case hex digits to `n` bytes. Return false if `hex` has another character.
 */
bool kl_digest_bytes(uint8_t *out, size_t n, const char *hex);
/** Write the digest of `n` bytes to `hex`. */
void kl_digest_hex(char hex[KL_DIGEST_HEX], const void *data, size_t n);

#endif
