/* SPDX-License-Identifier: Apache-2.0 */
/* contract_text - writes the keys of `surface` that describe how a kernel is built */
#include <ctype.h>
#include <string.h>

#include "adopt/adopt_parts.h"
#include "base/buf.h"
#include "text/yaml_write.h"

#define WIDTH 98

/*
 * Append a value, in double quotes if a YAML reader could take it for a number, a boolean or null.
 * A leading '-' before a letter, as in an option of the compiler, does not require quotes.
 */
static void add_value(struct kl_buf *out, const char *text)
{
	bool option = text[0] == '-' && isalpha((unsigned char)text[1]);

	if (kl_yaml_is_plain_item(text + option))
		kl_buf_adds(out, text);
	else
		kl_yaml_quote(out, text);
}

char *kl_adopted_list(const struct kl_strvec *list, size_t column)
{
	struct kl_buf out = KL_BUF_INIT;

	kl_buf_adds(&out, "");
	for (size_t i = 0; i < list->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf value = KL_BUF_INIT;

		add_value(&value, list->v[i]);
		if (i)
			kl_buf_adds(&out, ",");
		if (column + value.len + 2 > WIDTH && i) {
			kl_buf_adds(&out, "\n    ");
			column = 4;
		} else if (i) {
			kl_buf_adds(&out, " ");
		}
		kl_buf_add(&out, value.ptr, value.len);
		column += value.len + 2;
	}
	return kl_buf_detach(&out);
}

static void add_key(struct kl_strvec *out, const char *key, const struct kl_strvec *list)
{
	KL_AUTO(kl_freep) char *text = NULL;

	if (!list->n)
		return;
	text = kl_adopted_list(list, strlen(key) + 5);
	kl_strvec_pushf(out, "  %s: [%s]", key, text);
}

void kl_adopted_lines(struct kl_strvec *out, const struct kl_adopted *adopted)
{
	add_key(out, "flags", &adopted->options.flags);
	add_key(out, "units", &adopted->units);
	add_key(out, "define", &adopted->options.define);
	add_key(out, "undefine", &adopted->options.undefine);
	add_key(out, "include", &adopted->options.include);
	add_key(out, "iquote", &adopted->options.iquote);
	add_key(out, "isystem", &adopted->options.isystem);
	add_key(out, "preinclude", &adopted->options.preinclude);
	add_key(out, "traps", &adopted->traps);
}
