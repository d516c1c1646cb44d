/* SPDX-License-Identifier: Apache-2.0 */
#include "search/table/moves.h"

#include <stdlib.h>
#include <string.h>

/* a jump to another lineage counts as one to the same place of its own, and one step more */
#define OTHER_LINEAGE 1

const char *const kl_move_name[KL_MOVE_KINDS] = {
	[KL_MOVE_STEP] = "step",     [KL_MOVE_UNDO] = "undo",    [KL_MOVE_JUMP] = "rewrite",
	[KL_MOVE_TUNE] = "tune",     [KL_MOVE_BACK] = "repair",  [KL_MOVE_REFUSED] = "simplify",
	[KL_MOVE_STALE] = "comment", [KL_MOVE_BROKEN] = "break",
};

void kl_moves_release(struct kl_moves *moves)
{
	free(moves->v);
	*moves = (struct kl_moves){ 0 };
}

static bool is_whole(const struct kl_table_state *state)
{
	return state->kind == KL_TABLE_LINEAGE || state->kind == KL_TABLE_TUNE;
}

static bool same_place(const struct kl_table_state *left, const struct kl_table_state *right)
{
	return left->lineage == right->lineage && left->at == right->at;
}

/* Count the constants that have different values, or that only one of the two sets. */
static size_t count_differences(const char **name, const struct kl_table_state *left,
				const struct kl_table_state *right)
{
	size_t i = 0, k = 0, n = 0;

	while (i < left->nset || k < right->nset) {
		int order = i == left->nset  ? 1 :
			    k == right->nset ? -1 :
					       strcmp(left->set[i].name, right->set[k].name);

		if (order || left->set[i].value != right->set[k].value) {
			*name = order <= 0 ? left->set[i].name : right->set[k].name;
			n++;
		}
		i += order <= 0;
		k += order >= 0;
	}
	return n;
}

static void add_move(struct kl_moves *out, enum kl_move_kind kind, const struct kl_table_state *to,
		     const char *by, int64_t distance)
{
	KL_GROW(out->v, out->n + 1, out->alloc);
	out->v[out->n++] = (struct kl_move){ kind, to, distance, by };
}

/* Add the move to a failure or a comment, which is made of the lineage's state. */
static void add_leaf(struct kl_moves *out, const struct kl_table_state *from,
		     const struct kl_table_state *to)
{
	if (same_place(from, to))
		add_move(out,
			 to->kind == KL_TABLE_REFUSED ? KL_MOVE_REFUSED :
			 to->kind == KL_TABLE_STALE   ? KL_MOVE_STALE :
							KL_MOVE_BROKEN,
			 to, to->by, 0);
}

static void add_whole(struct kl_moves *out, const struct kl_table_state *from,
		      const struct kl_table_state *to)
{
	const char *name = NULL;
	size_t sets = count_differences(&name, from, to);
	int64_t distance = llabs(to->at - from->at) +
			   (to->lineage != from->lineage) * OTHER_LINEAGE;

	if (same_place(from, to)) {
		if (sets == 1)
			add_move(out, KL_MOVE_TUNE, to, name, 0);
	} else if (to->lineage == from->lineage && distance == 1 && (!sets || !to->nset)) {
		add_move(out, to->at > from->at ? KL_MOVE_STEP : KL_MOVE_UNDO, to,
			 to->at > from->at ? to->by : from->by, 0);
	} else if (!to->nset) {
		add_move(out, KL_MOVE_JUMP, to, to->by, distance);
	}
}

void kl_moves_list(struct kl_moves *out, const struct kl_search_table *table,
		   const struct kl_table_state *from)
{
	const struct kl_table_state *on = is_whole(from) ? from : &table->state[from->from];

	if (on != from)
		add_move(out, KL_MOVE_BACK, on, on->by, 0);
	for (size_t i = 0; i < table->n; i++) {
		const struct kl_table_state *to = &table->state[i];

		if (to == from || to == on)
			continue;
		if (is_whole(to))
			add_whole(out, on, to);
		else
			add_leaf(out, on, to);
	}
}
