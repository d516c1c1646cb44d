/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/table.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

void kl_table_row(struct kl_table *t, const char *const *cell)
{
	for (size_t i = 0; i < t->columns; i++)
		kl_strvec_push(&t->cells, cell[i]);
}

void kl_table_release(struct kl_table *t)
{
	kl_strvec_release(&t->cells);
}

/* characters, not bytes: continuation bytes of UTF-8 take no place */
static size_t text_width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

void kl_table_print(const struct kl_table *t)
{
	KL_AUTO(kl_freep) size_t *wide = kl_calloc(t->columns + 1, sizeof(*wide));

	for (size_t i = 0; i < t->cells.n; i++)
		if (text_width(t->cells.v[i]) > wide[i % t->columns])
			wide[i % t->columns] = text_width(t->cells.v[i]);
	for (size_t i = 0; i < t->cells.n; i++) {
		const char *s = t->cells.v[i];
		bool last = i % t->columns == t->columns - 1;

		fputs(s, stdout);
		if (last)
			putchar('\n');
		else
			printf("%*s", (int)(wide[i % t->columns] - text_width(s) + 2), "");
	}
}

void kl_table_time(char out[32], int64_t ns)
{
	if (ns <= 0)
		snprintf(out, 32, "-");
	else if (ns >= 1000000000)
		snprintf(out, 32, "%.3f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		snprintf(out, 32, "%.3f ms", (double)ns / 1e6);
	else
		snprintf(out, 32, "%.2f us", (double)ns / 1e3);
}
