/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SKILL_LIFT_PARTS_H
#define KL_SKILL_LIFT_PARTS_H

#include "rewrite/actions.h"
#include "skill/lift.h"
#include "skill/taxonomy.h"

/* lift_parts - what the lifter's files share. Inside src/skill only. */
struct kl_lift_group {
	const struct kl_mechanism *m;
	const char *action;
	bool plan_only;			/* only the launch plan changes */
	const struct kl_transition **t;	/* best first: verified, then the greater ratio */
	size_t n, alloc;
	bool wins;			/* some were fast */
};

struct kl_lifter {
	const struct kl_transitions *t;
	struct kl_mechanisms mechanisms;
	struct kl_actions actions;
	struct kl_taxonomy *tax;
	struct kl_strvec *notes;
};

/** Was it fast against the state before? slow? */
bool kl_lift_is(const struct kl_transition *t, const char *speed);
/** Derived anew, in isolation, and confirmed by the gate? */
bool kl_lift_is_verified(const struct kl_transition *t);

/** A new card's words: intent, anchor, carriers, conditions, scope. */
void kl_lift_word(struct kl_card *c, const struct kl_lifter *l, const struct kl_lift_group *g);
/** What a card, new or old, learns from the group: evidence, rows, risks, witnesses, languages. */
void kl_lift_learn(struct kl_card *c, const struct kl_lifter *l, const struct kl_lift_group *g);

/** Facts that came and that the mechanism is known by; traits as "trait:<name>". */
void kl_lift_delta(struct kl_strvec *out, const struct kl_transition *t, const struct kl_mechanism *m);

/* --- lift_twins.c --- */

/** Was its id given by a lifter: the mechanism, and an event of its own evidence? */
bool kl_lift_is_lifted(const struct kl_card *c);
/** Lifted elsewhere from some of these very transitions, and of nothing else? */
bool kl_lift_is_twin(const struct kl_card *c, const struct kl_lift_group *g);
/** Of two that know of a group, which learns: the one that got farther, then the one of the lesser id. */
bool kl_lift_outranks(const struct kl_card *a, const struct kl_card *b);
/** `*card` also says what its twin says; its own words stay. */
int kl_lift_unite(struct kl_card **card, const struct kl_card *twin);

#endif
