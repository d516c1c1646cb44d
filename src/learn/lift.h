/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_LIFT_H
#define KL_LEARN_LIFT_H

#include "card/library.h"
#include "learn/transition.h"

/*
 * lift - makes cards from transitions, by measured data alone.
 *
 * Clean transitions of one mechanism and action, at a like locus (the code, or the launch plan
 * alone), are one group, across lineages, languages and platforms. If some of a group were faster,
 * those that were not become its rows and risks; if none was, the card enables what was faster next
 * in their lineages. A group goes to the card that has some of its evidence already, else to one of
 * the same mechanism and action (no twins), else it becomes a new one. Where several cards have it,
 * lifted apart in several repositories, one learns all of it and the others, if nobody tried them,
 * are retracted in its favour. Refused steps of the mechanism are its risks, and witness what it
 * must not do.
 *
 * Nothing is worded that was not measured or told by templates/mechanisms.yaml. With a model,
 * wording.h rewords new cards (those without `old`) before they are put into the library.
 *
 *	kl_transitions_load(&t, repo, NULL);
 *	kl_lift_run(&lift, &t, library);
 *	for (i = 0; i < lift.n; i++)
 *		kl_lift_put(&lift, i, library);
 */
struct kl_lift_result {
	struct kl_card *card; /* owned; as it shall be in the library */
	struct kl_card *old;  /* owned; as it was, NULL: a new one */
	size_t gained;        /* rows of evidence that are new */
	/* to be retracted: the id of the card that stays; else NULL */
	char *same_as;
	const char *worded; /* "chat", "exec": whose words they are; NULL: as measured */
	const struct kl_transition **t; /* the group's; borrowed from the transitions */
	size_t n, alloc;
};

struct kl_lift {
	struct kl_lift_result *v; /* by mechanism and action */
	size_t n, alloc;
	size_t used; /* transitions in groups */
	const struct kl_transitions *t;
	struct kl_strvec notes; /* what was left out, and why */
};

/**
 * Cards for these transitions, given what the library has. Writes nothing. `transitions` must
 * outlive it.
 */
int kl_lift_run(struct kl_lift *out, const struct kl_transitions *transitions,
		struct kl_library *lib);
/** Put one result into the library: one commit. */
int kl_lift_put(const struct kl_lift *lift, size_t i, struct kl_library *lib);
void kl_lift_release(struct kl_lift *lift);

#endif
