/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_WORDING_PARTS_H
#define KL_LEARN_WORDING_PARTS_H

#include "learn/wording.h"
#include "retrieve/target.h"
#include "rewrite/driver.h"

/*
 * wording_parts - one group of steps with their targets, shared by the wording files.
 */
#define KL_WORDING_STEPS 6 /* the best steps, shown and labelled; words are checked against all */
#define KL_WORDING_REFUSED 8

struct kl_wording_group {
	const struct kl_wording *w;
	struct kl_lift_result *r;
	const struct kl_mechanism *m;   /* or NULL */
	const struct kl_transition **t; /* r->t */
	size_t n;
	struct kl_target *before; /* for each transition: K_{i-1} with the gate's measurements */
	const struct kl_refusal *refused[KL_WORDING_REFUSED];
	/* targets at which the refused steps failed */
	struct kl_target at[KL_WORDING_REFUSED];
	bool known[KL_WORDING_REFUSED]; /* `at` is filled */
	size_t nrefused;
	struct kl_strvec features; /* all features that a test can name */
};

/** Collect the group of result i. The group borrows from `wording`. */
int kl_wording_group(struct kl_wording_group *out, const struct kl_wording *wording, size_t i);
void kl_wording_group_release(struct kl_wording_group *group);

/**
 * Put the words into a copy of the card and check them. KL_EINVALID: the message is a sentence for
 * the author of the words; *out is not changed.
 */
int kl_wording_check(struct kl_card **out, struct kl_wording_group *group,
		     const struct kl_words *words);

/** The first transition by lineage and step number. Its workload has the group's conversation. */
const struct kl_transition *kl_wording_first(const struct kl_wording_group *group);
/** Fill a driver for the group's conversation, not yet opened. Borrows from the group. */
void kl_wording_driver(struct kl_driver *out, const struct kl_wording_group *group);
/** Write one turn of the conversation. */
void kl_wording_compose(struct kl_driver_turn *out, const struct kl_wording_group *group,
			enum kl_dialogue_kind kind);

#endif
