/* SPDX-License-Identifier: Apache-2.0 */
#include "text/digest.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

struct kl_digest {
	EVP_MD_CTX *ctx;
};

struct kl_digest *kl_digest_new(void)
{
	struct kl_digest *digest = kl_calloc(1, sizeof(*digest));

	digest->ctx = EVP_MD_CTX_new();
	if (!digest->ctx || !EVP_DigestInit_ex(digest->ctx, EVP_sha256(), NULL))
		KL_BUG("SHA-256 is not available");
	return digest;
}

void kl_digest_add(struct kl_digest *digest, const void *data, size_t n)
{
	if (!EVP_DigestUpdate(digest->ctx, data, n))
		KL_BUG("SHA-256 failed");
}

void kl_digest_adds(struct kl_digest *digest, const char *text)
{
	kl_digest_add(digest, text, strlen(text) + 1);
}

void kl_digest_end(struct kl_digest *digest, char hex[KL_DIGEST_HEX])
{
	static const char digit[] = "0123456789abcdef";
	unsigned char raw[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (!EVP_DigestFinal_ex(digest->ctx, raw, &n) || n != 32)
		KL_BUG("SHA-256 failed");
	for (unsigned i = 0; i < n; i++) {
		hex[2 * i] = digit[raw[i] >> 4];
		hex[2 * i + 1] = digit[raw[i] & 15];
	}
	hex[64] = '\0';
	EVP_MD_CTX_free(digest->ctx);
	free(digest);
}

void kl_digest_hex(char hex[KL_DIGEST_HEX], const void *data, size_t n)
{
	struct kl_digest *digest = kl_digest_new();

	kl_digest_add(digest, data, n);
	kl_digest_end(digest, hex);
}

static int nibble_of(char ch)
{
	return ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

bool kl_digest_bytes(uint8_t *out, size_t n, const char *hex)
{
	for (size_t i = 0; i < n; i++) {
		int high = nibble_of(hex[2 * i]), low = high < 0 ? -1 : nibble_of(hex[2 * i + 1]);

		if (low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}
