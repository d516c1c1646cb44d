/* SPDX-License-Identifier: Apache-2.0 */
#include "transplant/relations.h"

#include <string.h>

#include "base/error.h"
#include "event/chain.h"
#include "event/speed.h"

#define ONE 1000000

/* The facts about a state with a step put in or undone, to be compared with its neighbour. */
struct side {
	bool merges, passes, fails;
	const struct kl_transplant_cell *cell;
};

/* Return true if K_place itself fails now, so that nothing made from it shows anything. */
static bool state_fails(const struct kl_transplant *transplant, size_t place)
{
	if (place)
		return kl_transplant_finding(kl_transplant_at(transplant, place, place - 1)) ==
		       KL_CELL_FAILS;
	return transplant->root && transplant->root->verdict == KL_VERDICT_FAIL;
}

static struct side side_of(const struct kl_transplant *transplant, size_t step, size_t place)
{
	const struct kl_transplant_cell *cell = kl_transplant_at(transplant, step, place);
	enum kl_cell_finding finding = kl_transplant_finding(cell);

	if (place == step) /* K_{i-1}, which is a state of the lineage */
		return (struct side){ .merges = true,
				      .passes = !state_fails(transplant, step - 1),
				      .cell = cell };
	return (struct side){
		.merges = cell->state != KL_CELL_UNMERGED,
		.passes = finding == KL_CELL_PASSES || finding == KL_CELL_SAME_CODE,
		.fails = finding == KL_CELL_FAILS && !state_fails(transplant, place),
		.cell = cell,
	};
}

static const char *event_of(const struct kl_transplant_cell *cell)
{
	return cell->event ? cell->event->id : "";
}

/*
 * Add the relation that two sides show if `fails` fails where `passes` passes, or does not merge
 * where `passes` merges.
 */
static void add_relation(struct kl_relations *out, const struct kl_relation *relation,
			 const struct side *fails, const struct side *passes)
{
	struct kl_relation *added;

	if (!(fails->fails && passes->passes) && !(!fails->merges && passes->merges))
		return;
	KL_GROW(out->v, out->n + 1, out->alloc);
	added = &out->v[out->n++];
	*added = *relation;
	added->by_merge = !fails->merges;
	added->fails = event_of(fails->cell);
	added->passes = event_of(passes->cell);
	added->class_ = fails->merges ? kl_event_class(fails->cell->event) : fails->cell->why;
}

/* Compare the step put in at neighbouring states: K_j has step j, which K_{j-1} lacks. */
static void compare_put_in(struct kl_relations *out, const struct kl_transplant *transplant,
			   size_t step)
{
	for (size_t place = step - 1; place > 0; place--) {
		struct side with = side_of(transplant, step, place);
		struct side without = side_of(transplant, step, place - 1);
		struct kl_relation relation = { .step = step, .other = place, .place = place };

		relation.kind = KL_RELATION_REQUIRES;
		add_relation(out, &relation, &without, &with);
		relation.kind = KL_RELATION_CONFLICTS;
		add_relation(out, &relation, &with, &without);
	}
}

/*
 * Compare the step undone at neighbouring states. If only the later state fails, the step between
 * the two states needs the undone step.
 */
static void compare_undone(struct kl_relations *out, const struct kl_transplant *transplant,
			   size_t step)
{
	size_t n = kl_transplant_steps(transplant);

	for (size_t place = step + 1; place <= n; place++) {
		struct side before = side_of(transplant, step, place - 1);
		struct side after = side_of(transplant, step, place);
		struct kl_relation relation = {
			.kind = KL_RELATION_REQUIRES, .step = place, .other = step, .place = place
		};

		add_relation(out, &relation, &after, &before);
	}
}

/* Remove relations that say the same of the same two steps; keep the one that was judged. */
static void drop_repeated(struct kl_relations *relations)
{
	size_t kept = 0;

	for (size_t i = 0; i < relations->n; i++) {
		const struct kl_relation *one = &relations->v[i];
		size_t k = 0;

		while (k < kept &&
		       (relations->v[k].kind != one->kind || relations->v[k].step != one->step ||
			relations->v[k].other != one->other))
			k++;
		if (k < kept && relations->v[k].by_merge && !one->by_merge)
			relations->v[k] = *one;
		else if (k == kept)
			relations->v[kept++] = *one;
	}
	relations->n = kept;
}

void kl_relations_find(struct kl_relations *out, const struct kl_transplant *transplant)
{
	*out = (struct kl_relations){ 0 };
	for (size_t step = 1; step <= kl_transplant_steps(transplant); step++) {
		compare_put_in(out, transplant, step);
		compare_undone(out, transplant, step);
	}
	drop_repeated(out);
}

void kl_relations_release(struct kl_relations *relations)
{
	free(relations->v);
	*relations = (struct kl_relations){ 0 };
}

bool kl_relations_interaction(struct kl_ratio *out, const struct kl_transplant *transplant,
			      size_t step)
{
	struct kl_comparison at_expert, own, quotient;
	struct kl_chain chain = { 0 };

	kl_transplant_gain(&at_expert, transplant, step, kl_transplant_steps(transplant));
	kl_transplant_gain(&own, transplant, step, step - 1);
	if (kl_speed_is_useless(&at_expert.ratio) || kl_speed_is_useless(&own.ratio))
		return false;
	own = kl_comparison_inverted(&own);
	if (!kl_chain_add(&chain, &at_expert, 0) || !kl_chain_add(&chain, &own, 0))
		return false;
	quotient = kl_chain_ratio(&chain);
	*out = quotient.ratio;
	return quotient.ratio.lo > ONE || quotient.ratio.hi < ONE;
}
