/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/language.h"

#include <string.h>

const struct kl_languages kl_languages = {
	{ &kl_language_c, &kl_language_cpp, &kl_language_cuda, &kl_language_cuda_host },
};

const struct kl_language *kl_language_find(const struct kl_languages *known, const char *name)
{
	for (size_t i = 0; known->row[i]; i++)
		if (!strcmp(known->row[i]->name, name) ||
		    (known->row[i]->alias && !strcmp(known->row[i]->alias, name)))
			return known->row[i];
	return NULL;
}

void kl_language_names(const char *out[2 * KL_LANGUAGES_MAX + 1], const struct kl_languages *known)
{
	size_t n = 0;

	for (size_t i = 0; known->row[i]; i++) {
		if (kl_language_find(known, known->row[i]->name) != known->row[i])
			continue;
		out[n++] = known->row[i]->name;
		if (known->row[i]->alias)
			out[n++] = known->row[i]->alias;
	}
	out[n] = NULL;
}

bool kl_suffix_in(const char *path, const char *const *suffixes)
{
	const char *dot = strrchr(path, '.');

	for (; dot && suffixes && *suffixes; suffixes++)
		if (!strcmp(dot, *suffixes))
			return true;
	return false;
}
