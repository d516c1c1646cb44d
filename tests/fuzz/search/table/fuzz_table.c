/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "search/table/moves.h"
#include "search/table/table.h"

/* A table that parses is written as it was, and its moves lead to its states. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kl_search_table *table = NULL;
	struct kl_buf again = KL_BUF_INIT;

	if (kl_search_table_parse(&table, (const char *)data, size) < 0)
		return 0;
	kl_search_table_write(&again, table);
	MUST(again.len == size && !memcmp(again.ptr, data, size));
	for (size_t i = 0; i < table->n && i < 50; i++) {
		const struct kl_table_state *state = &table->state[i];
		struct kl_event *event = kl_search_table_event(state, table->state);
		struct kl_moves moves = { 0 };

		MUST(state->from < i || !i);
		MUST(kl_search_table_find(table, state->surface) == state);
		kl_moves_list(&moves, table, state);
		for (size_t k = 0; k < moves.n; k++)
			MUST(moves.v[k].to != state);
		kl_moves_release(&moves);
		kl_event_free(event);
	}
	kl_buf_release(&again);
	kl_search_table_free(table);
	return 0;
}
