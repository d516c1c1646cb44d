/* SPDX-License-Identifier: Apache-2.0 */
#include "base/key.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/sha256.h"

#define PAD_BYTES 64 /* number of bytes in a block of SHA-256 */

void kl_key_random(void *data, size_t n)
{
	unsigned char *at = data;

	while (n) {
		ssize_t got = getrandom(at, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			KL_BUG("getrandom failed");
		at += got;
		n -= (size_t)got;
	}
}

static void hash_padded(unsigned char digest[KL_SHA256_BYTES], const unsigned char pad[PAD_BYTES],
			unsigned char mask, const void *data, size_t n)
{
	unsigned char masked[PAD_BYTES];
	struct kl_sha256 sha256;

	for (size_t i = 0; i < PAD_BYTES; i++)
		masked[i] = pad[i] ^ mask;
	kl_sha256_begin(&sha256);
	kl_sha256_add(&sha256, masked, sizeof(masked));
	kl_sha256_add(&sha256, data, n);
	kl_sha256_bytes(&sha256, digest);
}

void kl_key_hmac(struct kl_key *out, const void *key, size_t nkey, const void *data, size_t n)
{
	unsigned char pad[PAD_BYTES] = { 0 }, inner[KL_SHA256_BYTES];

	if (nkey > PAD_BYTES)
		KL_BUG("a key of %zu bytes is too long", nkey);
	memcpy(pad, key, nkey);
	hash_padded(inner, pad, 0x36, data, n);
	hash_padded(out->byte, pad, 0x5c, inner, sizeof(inner));
}

void kl_key_master(struct kl_key *key, uint64_t seed)
{
	static const char label[] = "git-klineage: key of a replay";
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, seed);

	if (seed)
		kl_key_hmac(key, label, strlen(label), digits, (size_t)n);
	else
		kl_key_random(key, sizeof(*key));
}

struct kl_key kl_key_derive(const struct kl_key *from, const char *label)
{
	struct kl_key key;

	kl_key_hmac(&key, from, sizeof(*from), label, strlen(label));
	return key;
}
