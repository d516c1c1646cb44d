/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/key.h"

#include <stdio.h>
#include <string.h>

void kl_provider_key(char hex[KL_DIGEST_HEX], const char *const *key, size_t n)
{
	struct kl_digest *digest = kl_digest_new();

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(key[i]);
		char size[24];

		snprintf(size, sizeof(size), "%zu", len);
		kl_digest_adds(digest, size);
		kl_digest_add(digest, key[i], len);
	}
	kl_digest_end(digest, hex);
}
