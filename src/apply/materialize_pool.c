/* SPDX-License-Identifier: Apache-2.0 */
/* materialize_pool - retrieves the cards that fit a node */
#include <string.h>

#include "apply/materialize_parts.h"

static bool learned_from(const struct kl_index *ix, size_t card, const char *lineage)
{
	const struct kl_index_list list = kl_index_card(ix, card)->evidence;
	const uint32_t *items = kl_index_items(ix, list);

	for (size_t i = 0; i + 1 < list.n; i += 2)
		if (!strcmp(kl_index_string(ix, items[i]), lineage))
			return true;
	return false;
}

static void leave_out(struct kl_retrieval *retrieval, const struct kl_materialize_run *run)
{
	size_t n = 0;

	for (size_t i = 0; i < retrieval->n; i++) {
		if (!learned_from(run->o->index, retrieval->v[i].card, run->o->without)) {
			retrieval->v[n++] = retrieval->v[i];
			continue;
		}
		KL_GROW(retrieval->dropped, retrieval->ndropped + 1, retrieval->dropped_alloc);
		retrieval->dropped[retrieval->ndropped++] = retrieval->v[i];
	}
	retrieval->n = n;
}

static int retrieve_cards(struct kl_retrieval *out, const struct kl_materialize_run *run,
			  size_t node, const struct kl_retrieve_opts *opts)
{
	const struct kl_materialize_node *at = &run->m->node[node];
	struct kl_target target = { .known = KL_KNOWN_INIT };
	int err = kl_target_of_commit(&target, run->o->tax, run->o->repo, at->state, &at->commit,
				      run->platform);

	if (!err)
		err = kl_retrieve(out, run->o->index, &target, opts);
	if (!err)
		err = kl_retrieve_mark_fit(out, run->o->index, run->o->library, &target, at->state);
	if (!err && !out->fit)
		kl_retrieve_drop_unfit(out);
	if (!err && run->o->without)
		leave_out(out, run);
	kl_target_release(&target);
	return err;
}

int kl_materialize_pool(struct kl_retrieval *out, const struct kl_materialize_run *run, size_t node,
			size_t per_axis)
{
	struct kl_retrieve_opts opts = KL_RETRIEVE_OPTS_INIT;

	opts.statuses = run->o->statuses;
	if (per_axis)
		opts.per_axis = per_axis;
	return retrieve_cards(out, run, node, &opts);
}

int kl_materialize_pool_again(struct kl_retrieval *out, const struct kl_materialize_run *run,
			      size_t node)
{
	struct kl_retrieve_opts opts = KL_RETRIEVE_OPTS_INIT;

	opts.statuses = run->o->statuses;
	opts.order = KL_ORDER_NEXT;
	opts.repair = true;
	opts.limit = KL_MATERIALIZE_TRY;
	return retrieve_cards(out, run, node, &opts);
}
