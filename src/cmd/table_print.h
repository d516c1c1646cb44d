/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_TABLE_PRINT_H
#define KL_CMD_TABLE_PRINT_H

#include "search/table/build.h"

/* table_print - prints tables of judged kernels, and what a build did. */

/** Print the states of a table with their verdicts, as text or as JSON (klineage.table-show/1). */
void kl_table_print_states(const struct kl_search_table *table, bool json);
/** Print how many states a built table has, and what they are. */
void kl_table_print_built(const struct kl_table_build *build, const char *path);

#endif
