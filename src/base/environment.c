/* SPDX-License-Identifier: Apache-2.0 */
#include "base/environment.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"

bool kl_environment_is_key(const char *entry)
{
	static const char *const ends[] = { "_API_KEY", "_API_TOKEN", "_AUTH_TOKEN", "_BEDROCK" };
	static const char ours[] = "KLINEAGE_CHAT_KEY";
	size_t n = strcspn(entry, "=");

	if (n == sizeof(ours) - 1 && !memcmp(entry, ours, n))
		return true;
	for (size_t i = 0; i < KL_ARRAY_SIZE(ends); i++) {
		size_t len = strlen(ends[i]);

		if (n > len && !memcmp(entry + n - len, ends[i], len))
			return true;
	}
	return false;
}

void kl_environment_copy(struct kl_strvec *out)
{
	for (char **entry = environ; *entry; entry++)
		if (!kl_environment_is_key(*entry))
			kl_strvec_push(out, *entry);
}
