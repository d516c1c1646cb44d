/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_SHA256_H
#define KL_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

/*
 * sha256 - SHA-256 (FIPS 180-4) for klineage-worker. The worker does not link OpenSSL, but must
 * check that its input arrived intact and must derive keys (key.h). git-klineage itself uses
 * text/digest.h.
 */
#define KL_SHA256_BYTES 32
#define KL_SHA256_HEX 65 /* 64 lower-case hex digits and the NUL */

struct kl_sha256 {
	uint32_t h[8];
	uint64_t len;
	unsigned char part[64];
};

void kl_sha256_begin(struct kl_sha256 *sha256);
void kl_sha256_add(struct kl_sha256 *sha256, const void *data, size_t n);
void kl_sha256_end(struct kl_sha256 *sha256, char hex[KL_SHA256_HEX]);
/** Like kl_sha256_end(), but return the digest as bytes. */
void kl_sha256_bytes(struct kl_sha256 *sha256, unsigned char digest[KL_SHA256_BYTES]);

/** Write the digest of `data` to `hex` in one call. */
void kl_sha256_hex(char hex[KL_SHA256_HEX], const void *data, size_t n);

#endif
