/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CLI_TABLE_H
#define KL_CMD_CLI_TABLE_H

#include <stdint.h>

#include "base/vec.h"
#include "cmd/cli/term.h"
#include "event/profile.h"

/*
 * table - prints rows of text in columns, each as wide as its widest cell. The first row is the
 * heading. Cells are copied.
 *
 * In a terminal or pager, a table is fitted to the width (kl_term_room()), so that no row wraps:
 * columns with the same text in each row are printed once, above the table; then columns are left
 * out, the highest rank first, until the others fit if their texts are cut; then the widest texts
 * are cut, and end in "..". A line below the table names the columns that were left out. With
 * --wide, and in a file or a pipe, every column is printed whole.
 */
struct kl_column {
	const char *head;
	int rank;  /* the column with the highest rank is left out first; 0: none is */
	int least; /* its text may be cut to this many characters; 0: never cut */
	bool fold; /* print it once, above the table, if each row has the same text or "-" */
};

struct kl_table {
	size_t columns;
	const struct kl_column *column; /* NULL: none is left out; any may be cut to 8 characters */
	const struct kl_term *term;     /* for colours: the heading is bold; NULL: no colours */
	struct kl_strvec cells;
	unsigned char *paint; /* enum kl_paint of each cell */
	size_t npaint, paint_alloc;
};

/** Add the heading from the table's columns. */
void kl_table_head(struct kl_table *table);
void kl_table_row(struct kl_table *table, const char *const *cell);
/** Print this cell of the last row in a colour. */
void kl_table_paint(struct kl_table *table, size_t column, enum kl_paint paint);
/** Print the table on stdout, with two spaces between columns and none at the end of a line. */
void kl_table_print(const struct kl_table *table);
void kl_table_release(struct kl_table *table);

/** Format a time: "812.30 us", "1.234 ms", or "-" for 0. */
void kl_table_time(char out[32], int64_t ns);
/**
 * Append a ratio with its interval: "1.50x [1.48, 1.51]" or, where tables are fitted, the larger
 * half of the interval: "1.50x ±1.3%". "-": the ratio is not known.
 */
void kl_table_ratio(struct kl_buf *out, const struct kl_ratio *ratio);

#endif
