/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_LIFT_H
#define KL_LEARN_LIFT_H

#include "card/library.h"
#include "learn/transition.h"

/*
 * lift - makes cards from transitions, from measured data only.
 *
 * Clean transitions of one mechanism and action that change the same kind of file (code, or only
 * the launch plan) form a group, across lineages, languages and platforms. If some of a group are
 * faster, the others become rows and risks of the card; if none is, the card enables the cards of
 * the next faster steps in their lineages. A group goes to the card that has some of its evidence,
 * otherwise to one of the same mechanism and action, otherwise to a new card. If several cards have
 * its evidence, because they were lifted in different repositories, one card gets all of it and
 * those of the others that have no trials are retracted in its favour. Refused steps of the
 * mechanism become risks and witnessed preconditions.
 *
 * All words are measured or from templates/mechanisms.yaml. With a model, wording.h rewords new
 * cards (those without `old`) before they are put into the library.
 *
 *	kl_transitions_load(&t, repo, NULL);
 *	kl_lift_run(&lift, &t, library);
 *	for (i = 0; i < lift.n; i++)
 *		kl_lift_put(&lift, i, library);
 */
struct kl_lift_result {
	struct kl_card *card; /* owned; the new version */
	struct kl_card *old;  /* owned; the old version, NULL for a new card */
	size_t gained;        /* number of new rows of evidence */
	/* if the card is to be retracted: id of the card that replaces it; otherwise NULL */
	char *same_as;
	const char *worded; /* rewriter that worded it, "chat" or "exec"; NULL: as measured */
	const struct kl_transition **t; /* of its groups; borrowed from the transitions */
	size_t n, alloc;
};

struct kl_lift {
	struct kl_lift_result *v; /* in the order of mechanism and action */
	size_t n, alloc;
	size_t used; /* transitions in groups */
	const struct kl_transitions *t;
	struct kl_strvec notes; /* what was left out and why */
};

/**
 * Make cards from the transitions, given the cards in the library. Writes nothing. `transitions`
 * must outlive `out`.
 */
int kl_lift_run(struct kl_lift *out, const struct kl_transitions *transitions,
		struct kl_library *lib);
/** Put one result into the library, as one commit. */
int kl_lift_put(const struct kl_lift *lift, size_t i, struct kl_library *lib);
void kl_lift_release(struct kl_lift *lift);

#endif
