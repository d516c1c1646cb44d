/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TRANSPLANT_RELATIONS_H
#define KL_TRANSPLANT_RELATIONS_H

#include "transplant/transplant.h"

/*
 * relations - finds which steps of a lineage need each other, from the cells of a transplant.
 *
 *	requires	a kernel with the step is wrong or refused without the other step, and passes
 *			with it
 *	conflicts	a kernel with the step passes without the other step, and fails with it
 *
 * Each relation rests on two states that differ by the other step alone, and cites their events. A
 * relation by merge rests on the text alone: the step does not merge without (with) the other step,
 * and merges with (without) it. It shows that the code of one step builds on the code of the other,
 * not that its mechanism needs the other.
 *
 * An interaction is a gain that differs: the interval of the quotient of a step's gain at K* and of
 * its gain at its own place does not contain 1.
 */
enum kl_relation_kind { KL_RELATION_REQUIRES, KL_RELATION_CONFLICTS };

struct kl_relation {
	enum kl_relation_kind kind;
	size_t step, other; /* step requires (conflicts with) other */
	size_t place;       /* the state that has both steps, or would have them */
	bool by_merge;
	/*
	 * ids of the events that show the relation, borrowed; "" if a merge or a verdict of the
	 * lineage shows it
	 */
	const char *fails, *passes;
	const char *class_; /* how it fails, or why it does not merge; borrowed */
};

struct kl_relations {
	struct kl_relation *v;
	size_t n, alloc;
};

/** Find the relations between steps; they borrow from `transplant`. Judges nothing. */
void kl_relations_find(struct kl_relations *out, const struct kl_transplant *transplant);
void kl_relations_release(struct kl_relations *relations);

/**
 * Get the quotient of a step's gain at K* and its gain at its own place. Return false if the
 * quotient is not known, or its interval contains 1, so that no interaction is shown.
 */
bool kl_relations_interaction(struct kl_ratio *out, const struct kl_transplant *transplant,
			      size_t step);

#endif
