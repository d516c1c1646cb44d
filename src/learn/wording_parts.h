/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_WORDING_PARTS_H
#define KL_LEARN_WORDING_PARTS_H

#include "learn/wording.h"
#include "retrieve/target.h"
#include "rewrite/driver.h"

/*
 * wording_parts - what the files of wording share: one group, and all that is known of its steps.
 */
#define KL_WORDING_STEPS 6 /* shown and labelled, the best; all of them are checked against */
#define KL_WORDING_REFUSED 8

struct kl_wording_group {
	const struct kl_wording *w;
	struct kl_lift_result *r;
	const struct kl_mechanism *m;   /* or NULL */
	const struct kl_transition **t; /* r->t */
	size_t n;
	struct kl_target *before; /* of each: K_{i-1}, with what the gate measured of it */
	const struct kl_refusal *refused[KL_WORDING_REFUSED];
	/* where the refused step's edit was tried */
	struct kl_target at[KL_WORDING_REFUSED];
	bool known[KL_WORDING_REFUSED]; /* `at` is filled */
	size_t nrefused;
	struct kl_strvec features; /* every one that anything here may show */
};

int kl_wording_group(struct kl_wording_group *out, const struct kl_wording *wording, size_t i);
void kl_wording_group_release(struct kl_wording_group *group);

/**
 * Put the words into a copy of the card and check it all. KL_EINVALID: a sentence for who wrote
 * them; `*out` is not touched then.
 */
int kl_wording_check(struct kl_card **out, struct kl_wording_group *group,
		     const struct kl_words *words);

/** The first transition, by lineage and step: its conversation is the group's. */
const struct kl_transition *kl_wording_first(const struct kl_wording_group *group);
/** The group's conversation, not opened; borrows from the group. */
void kl_wording_driver(struct kl_driver *out, const struct kl_wording_group *group);
void kl_wording_compose(struct kl_driver_turn *out, const struct kl_wording_group *group,
			enum kl_dialogue_kind kind);

#endif
