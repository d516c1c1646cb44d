/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_TABLE_H
#define KL_CMD_TABLE_H

#include <stdint.h>

#include "base/vec.h"

/*
 * table - rows of text in columns as wide as they need to be. The first row
 * is the heading. Cells are copied.
 */
struct kl_table {
	size_t columns;
	struct kl_strvec cells;
};

void kl_table_row(struct kl_table *table, const char *const *cell);
/** On stdout, two blanks between columns, none at the end of a line. */
void kl_table_print(const struct kl_table *table);
void kl_table_release(struct kl_table *table);

/** "812.3 us", "1.234 ms", "-" for 0. */
void kl_table_time(char out[32], int64_t ns);

#endif
