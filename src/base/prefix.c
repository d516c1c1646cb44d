/* SPDX-License-Identifier: Apache-2.0 */
#include "base/prefix.h"

#include <string.h>

bool kl_prefix_has(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

bool kl_prefix_is_dotted(const char *text, const char *name)
{
	size_t n = strlen(name);

	return kl_prefix_has(text, name) && (!text[n] || text[n] == '.');
}
