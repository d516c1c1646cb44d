/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_KEY_H
#define KL_BASE_KEY_H

#include <stddef.h>
#include <stdint.h>

/*
 * key - secret keys of random streams (rng.h), each derived from another key under a label. A
 * derived key reveals neither the original key nor the key of any other label.
 *
 *	kl_key_master(&master, job->seed);
 *	inputs = kl_key_derive(&master, "inputs");
 *	kl_rng_key(&rng, &inputs, 0);
 *
 * Derivation is HMAC-SHA-256 (RFC 2104) of the label.
 */
struct kl_key {
	unsigned char byte[32];
};

/**
 * Make a master key, which is not derived from another key. If `seed` is 0, the key is random bytes
 * from the operating system. Otherwise the key is computed from `seed`, so that a replay gets the
 * same key again.
 */
void kl_key_master(struct kl_key *key, uint64_t seed);
struct kl_key kl_key_derive(const struct kl_key *from, const char *label);

/** Fill `data` with random bytes from the operating system; aborts if getrandom(2) fails. */
void kl_key_random(void *data, size_t n);
/**
 * Compute HMAC-SHA-256 of `n` bytes under a key of `nkey` bytes. Aborts (KL_BUG) if `nkey` is above
 * 64.
 */
void kl_key_hmac(struct kl_key *out, const void *key, size_t nkey, const void *data, size_t n);

#endif
