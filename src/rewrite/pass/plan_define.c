/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/pass/plan_define.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MOST 64 /* constants of a plan */

void kl_plan_defines_release(struct kl_plan_defines *defines)
{
	for (size_t i = 0; i < defines->n; i++)
		free(defines->v[i].name);
	free(defines->v);
	*defines = (struct kl_plan_defines){ 0 };
}

/* Return the offset after the first "define: {" from `at` on, or `len` if there is none. */
static size_t find_map(const char *text, size_t len, size_t at)
{
	static const char word[] = "define:";
	const size_t n = sizeof(word) - 1;

	for (; at + n < len; at++) {
		bool begins = at == 0 || strchr(" \t\n{,", text[at - 1]);
		size_t open = at + n;

		if (!begins || memcmp(text + at, word, n) != 0)
			continue;
		while (open < len && text[open] == ' ')
			open++;
		if (open < len && text[open] == '{')
			return open + 1;
	}
	return len;
}

/* Add "NAME: 4" that ends before a ',' or '}' at `end`. */
static void add_define(struct kl_plan_defines *out, const char *text, size_t at, size_t end)
{
	size_t name = at, colon, digit;
	long value = 0;

	while (name < end && isspace((unsigned char)text[name]))
		name++;
	for (colon = name;
	     colon < end && (isalnum((unsigned char)text[colon]) || text[colon] == '_');)
		colon++;
	if (colon == name || colon + 1 >= end || text[colon] != ':')
		return;
	for (digit = colon + 1; digit < end && text[digit] == ' ';)
		digit++;
	while (end > digit && isspace((unsigned char)text[end - 1]))
		end--;
	if (digit == end)
		return;
	for (size_t i = digit; i < end; i++) {
		if (!isdigit((unsigned char)text[i]) || value > 1 << 20)
			return;
		value = value * 10 + (text[i] - '0');
	}
	if (value < 2 || value > 1 << 20 || out->n == MOST)
		return;
	KL_GROW(out->v, out->n + 1, out->alloc);
	out->v[out->n++] = (struct kl_plan_define){ .name = kl_strndup(text + name, colon - name),
						    .value = value,
						    .off = digit,
						    .len = end - digit };
}

void kl_plan_defines_find(struct kl_plan_defines *out, const char *text, size_t len)
{
	*out = (struct kl_plan_defines){ 0 };
	for (size_t at = find_map(text, len, 0); at < len; at = find_map(text, len, at)) {
		while (at < len && text[at] != '}') {
			size_t end = at;

			while (end < len && !strchr(",}", text[end]))
				end++;
			add_define(out, text, at, end);
			at = end < len && text[end] == ',' ? end + 1 : end;
		}
	}
}
