/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_CHACHA_H
#define KL_BASE_CHACHA_H

#include <stddef.h>
#include <stdint.h>

/*
 * chacha - the keystream of ChaCha20 (RFC 8439). Parts of it reveal neither the key nor any other
 * part. This is an implementation of our own because klineage-worker does not link OpenSSL. It works
 * on little-endian machines only, like the worker.
 */
#define KL_CHACHA_BYTES 64 /* number of bytes in a block */
#define KL_CHACHA_WIDE 8   /* number of blocks that are computed together */

struct kl_chacha {
	uint32_t key[8];
	uint32_t counter; /* number of the next block; one key and nonce give 2^32 blocks */
	uint32_t nonce[3];
};

/** Write the next `n` blocks of the keystream to `out` and advance the counter. */
void kl_chacha_blocks(struct kl_chacha *chacha, void *out, size_t n);

#endif
