/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <string.h>

static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotate_right(uint32_t word, int n)
{
	return word >> n | word << (32 - n);
}

static void hash_block(uint32_t state[8], const unsigned char *block)
{
	uint32_t w[64], v[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t w15 = w[i - 15], w2 = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] +
		       (rotate_right(w15, 7) ^ rotate_right(w15, 18) ^ w15 >> 3) +
		       (rotate_right(w2, 17) ^ rotate_right(w2, 19) ^ w2 >> 10);
	}
	memcpy(v, state, sizeof(v));
	for (int i = 0; i < 64; i++) {
		uint32_t s1 = rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^
			      rotate_right(v[4], 25);
		uint32_t s0 = rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^
			      rotate_right(v[0], 22);
		uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
		uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

void kl_sha256_begin(struct kl_sha256 *sha256)
{
	static const uint32_t start[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};

	memcpy(sha256->h, start, sizeof(start));
	sha256->len = 0;
}

void kl_sha256_add(struct kl_sha256 *sha256, const void *data, size_t n)
{
	const unsigned char *at = data;
	size_t have = sha256->len % 64;

	sha256->len += n;
	if (have && have + n >= 64) {
		memcpy(sha256->part + have, at, 64 - have);
		hash_block(sha256->h, sha256->part);
		at += 64 - have;
		n -= 64 - have;
		have = 0;
	}
	for (; !have && n >= 64; at += 64, n -= 64)
		hash_block(sha256->h, at);
	if (n)
		memcpy(sha256->part + have, at, n);
}

static void add_padding(struct kl_sha256 *sha256)
{
	static const unsigned char pad[64] = { 0x80 };
	uint64_t bits = sha256->len * 8;
	unsigned char tail[8];

	kl_sha256_add(sha256, pad, 1 + (119 - sha256->len % 64) % 64);
	for (int i = 0; i < 8; i++)
		tail[i] = (unsigned char)(bits >> (56 - 8 * i));
	kl_sha256_add(sha256, tail, 8);
}

void kl_sha256_bytes(struct kl_sha256 *sha256, unsigned char digest[KL_SHA256_BYTES])
{
	add_padding(sha256);
	for (int i = 0; i < KL_SHA256_BYTES; i++)
		digest[i] = (unsigned char)(sha256->h[i / 4] >> (24 - i % 4 * 8));
}

void kl_sha256_end(struct kl_sha256 *sha256, char hex[KL_SHA256_HEX])
{
	static const char digit[] = "0123456789abcdef";

	add_padding(sha256);
	for (int i = 0; i < 64; i++)
		hex[i] = digit[sha256->h[i / 8] >> (28 - i % 8 * 4) & 15];
	hex[64] = '\0';
}

void kl_sha256_hex(char hex[KL_SHA256_HEX], const void *data, size_t n)
{
	struct kl_sha256 sha256;

	kl_sha256_begin(&sha256);
	kl_sha256_add(&sha256, data, n);
	kl_sha256_end(&sha256, hex);
}
