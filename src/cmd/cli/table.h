/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CLI_TABLE_H
#define KL_CMD_CLI_TABLE_H

#include <stdint.h>

#include "base/vec.h"

/*
 * table - prints rows of text in columns, each as wide as its widest cell. The first row is the
 * heading. Cells are copied.
 */
struct kl_table {
	size_t columns;
	struct kl_strvec cells;
};

void kl_table_row(struct kl_table *table, const char *const *cell);
/** Print the table on stdout, with two spaces between columns and none at the end of a line. */
void kl_table_print(const struct kl_table *table);
void kl_table_release(struct kl_table *table);

/** Format a time: "812.30 us", "1.234 ms", or "-" for 0. */
void kl_table_time(char out[32], int64_t ns);

#endif
