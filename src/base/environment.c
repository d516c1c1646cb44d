/* SPDX-License-Identifier: Apache-2.0 */
#include "base/environment.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"

bool kl_environment_is_key(const char *entry)
{
	static const char *const keys[] = { "KLINEAGE_CHAT_KEY=", "ANTHROPIC_API_KEY=",
					    "OPENAI_API_KEY=" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(keys); i++)
		if (!strncmp(entry, keys[i], strlen(keys[i])))
			return true;
	return false;
}

void kl_environment_copy(struct kl_strvec *out)
{
	for (char **entry = environ; *entry; entry++)
		if (!kl_environment_is_key(*entry))
			kl_strvec_push(out, *entry);
}
