/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_TABLE_MOVES_H
#define KL_SEARCH_TABLE_MOVES_H

#include "search/table/table.h"

/*
 * moves - lists what can be made of a state of a table with one edit: which states, and by what.
 *
 * Moves follow from the states and are not stored. From a state that is no kernel of its own, such
 * as one with a syntax error, they are those of the state that it was made from.
 */
enum kl_move_kind {
	KL_MOVE_STEP, /* to K_i+1 of the same lineage */
	KL_MOVE_UNDO, /* to K_i-1 */
	KL_MOVE_JUMP, /* to another state of a lineage */
	KL_MOVE_TUNE, /* one constant has another value */
	KL_MOVE_BACK, /* to the state that a broken, stale or refused one was made from */
	KL_MOVE_REFUSED,
	KL_MOVE_STALE,
	KL_MOVE_BROKEN,
};
#define KL_MOVE_KINDS (KL_MOVE_BROKEN + 1)
/** Names of the kinds, which have the form of an action (rewrite/reply/envelope.h). */
extern const char *const kl_move_name[KL_MOVE_KINDS];

struct kl_move {
	enum kl_move_kind kind;
	const struct kl_table_state *to;
	int64_t distance; /* of a jump: number of steps; 0 of other moves */
	const char *by;   /* mechanism or constant */
};

struct kl_moves {
	struct kl_move *v;
	size_t n, alloc;
};

/** Append all moves from a state, in the order of the table. */
void kl_moves_list(struct kl_moves *out, const struct kl_search_table *table,
		   const struct kl_table_state *from);
void kl_moves_release(struct kl_moves *moves);

#endif
