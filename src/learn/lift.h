/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_LIFT_H
#define KL_LEARN_LIFT_H

#include "card/library.h"
#include "learn/transition.h"

/*
 * lift - makes cards from transitions, from measured data only.
 *
 * Clean transitions of one mechanism and action that change the same kind of file (code, or only
 * the launch plan) form a group, across lineages, languages and platforms. If some transitions of a
 * group are faster, the slower ones become risks of the card. If none is faster, the card enables
 * the cards of the next faster steps in the lineages. A group is added to the card that has some of
 * the group's evidence; if there is no such card, to a card of the same mechanism and action;
 * otherwise a new card is made. If several cards have the group's evidence, because they were
 * lifted in different repositories, one card gets all of the evidence, and the others are retracted
 * unless they have trials. Refused steps of the mechanism become risks and witnessed preconditions.
 *
 * The texts of a card state measurements or come from templates/mechanisms.yaml. With a model,
 * wording.h rewords new cards (those without `old`) before they are put into the library.
 *
 *	kl_transitions_load(&t, repo, NULL);
 *	kl_lift_run(&lift, &t, library);
 *	for (i = 0; i < lift.n; i++)
 *		kl_lift_put(&lift, i, library);
 */
struct kl_lift_result {
	struct kl_card *card; /* owned; the new version */
	struct kl_card *old;  /* the version in the library; owned; NULL if the card is new */
	size_t gained;        /* number of new rows of evidence */
	/* id of the card that replaces this one; NULL if this card is not to be retracted */
	char *same_as;
	/*
	 * the rewriter that reworded the card, "chat" or "exec"; NULL if the card was not reworded
	 */
	const char *worded;
	const struct kl_transition **t; /* transitions of the card's groups; borrowed */
	size_t n, alloc;
};

struct kl_lift {
	struct kl_lift_result *v; /* in the order of mechanism and action */
	size_t n, alloc;
	size_t used;  /* number of transitions that are in groups */
	size_t unfit; /* number of cards that could not be written; `notes` says why */
	const struct kl_transitions *t;
	/* messages about steps, cards and figures that were left out, with the reasons */
	struct kl_strvec notes;
};

/**
 * Make new versions of cards from transitions and the library's cards. Writes nothing. Borrows
 * `transitions`.
 */
int kl_lift_run(struct kl_lift *out, const struct kl_transitions *transitions,
		struct kl_library *lib);
/** Put result i into the library, as one commit. */
int kl_lift_put(const struct kl_lift *lift, size_t i, struct kl_library *lib);
void kl_lift_release(struct kl_lift *lift);

#endif
