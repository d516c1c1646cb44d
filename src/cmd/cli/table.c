/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/table.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/printable.h"

void kl_table_row(struct kl_table *table, const char *const *cell)
{
	for (size_t i = 0; i < table->columns; i++) {
		struct kl_buf text = KL_BUF_INIT;

		/*
		 * replace control characters now, because column widths are measured on the text as
		 * printed
		 */
		kl_printable_line(&text, cell[i], strlen(cell[i]));
		kl_strvec_take(&table->cells, kl_buf_detach(&text));
	}
}

void kl_table_release(struct kl_table *table)
{
	kl_strvec_release(&table->cells);
}

/* Count characters, not bytes: continuation bytes of UTF-8 have no width. */
static size_t text_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void kl_table_print(const struct kl_table *table)
{
	KL_AUTO(kl_freep) size_t *wide = kl_calloc(table->columns + 1, sizeof(*wide));

	for (size_t i = 0; i < table->cells.n; i++)
		if (text_width(table->cells.v[i]) > wide[i % table->columns])
			wide[i % table->columns] = text_width(table->cells.v[i]);
	for (size_t i = 0; i < table->cells.n; i++) {
		const char *text = table->cells.v[i];
		bool last = i % table->columns == table->columns - 1;

		fputs(text, stdout);
		if (last)
			putchar('\n');
		else
			printf("%*s", (int)(wide[i % table->columns] - text_width(text) + 2), "");
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
