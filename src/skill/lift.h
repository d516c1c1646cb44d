/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SKILL_LIFT_H
#define KL_SKILL_LIFT_H

#include "skill/library.h"
#include "skill/transition.h"

/*
 * lift - from transitions to cards, by measured data alone.
 *
 * Transitions that undo the same action of the same mechanism, with a like locus and a like effect, are one
 * group, across lineages, languages and platforms. A group whose evidence a card of the library
 * knows, or that a card of the same mechanism and action would twin, gives its evidence to that card;
 * else it becomes a new one. Nothing is worded that was not measured or told by templates/mechanisms.yaml:
 * a lifter with a model rewords the card afterwards, and its evidence stays as it is here.
 */
struct kl_lift_result {
	struct kl_card *card;		/* owned; as it shall be in the library */
	bool is_new;			/* else an old one that gained evidence */
	size_t gained;			/* evidence rows that are new */
	struct kl_strvec from;		/* lineages */
};

struct kl_lift {
	struct kl_lift_result *v;
	size_t n, alloc;
	size_t transitions;		/* looked at */
	struct kl_map events;		/* id -> json_t *, owned: what the cards cite */
	struct kl_strvec notes;		/* what was left out, and why */
};

/** Cards for these transitions, given what the library has. Writes nothing. */
int kl_lift_run(struct kl_lift *out, const struct kl_transitions *t, struct kl_library *lib);
void kl_lift_release(struct kl_lift *l);

#endif
