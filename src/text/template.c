/* SPDX-License-Identifier: Apache-2.0 */
#include "text/template.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/*
 * Return the length of the placeholder "@NAME@" at `text`, where NAME consists of A-Z, 0-9 and '_';
 * return 0 if there is none.
 */
static size_t place_length(const char *text)
{
	size_t n = strspn(text + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n && text[n + 1] == '@' ? n + 2 : 0;
}

int kl_template_fill(struct kl_buf *out, const char *text, const struct kl_map *values)
{
	int line = 1;

	for (const char *at = text; *at; at++) {
		size_t n = *at == '@' ? place_length(at) : 0;

		if (*at == '\n')
			line++;
		if (!n) {
			kl_buf_addch(out, *at);
			continue;
		}
		KL_AUTO(kl_freep) char *name = kl_strndup(at + 1, n - 2);
		const char *value = kl_map_get(values, name);

		if (!value)
			return kl_error(KL_EINVALID, "template line %d: no value for @%s@", line,
					name);
		kl_buf_adds(out, value);
		at += n - 1;
	}
	return 0;
}
