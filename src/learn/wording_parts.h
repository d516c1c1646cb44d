/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_WORDING_PARTS_H
#define KL_LEARN_WORDING_PARTS_H

#include "learn/wording.h"
#include "retrieve/target.h"
#include "rewrite/driver.h"

/* wording_parts - a group of steps, shared by the wording files. Inside src/learn only. */
/*
 * maximum number of steps that the prompt shows and labels (the best ones); texts are checked
 * against all steps
 */
#define KL_WORDING_STEPS 6
#define KL_WORDING_REFUSED 8

struct kl_wording_group {
	const struct kl_wording *w;
	struct kl_lift_result *r;
	const struct kl_mechanism *m;   /* mechanism of the card, or NULL */
	const struct kl_transition **t; /* transitions of the group: r->t */
	size_t n;
	/* for each transition, the target of K_{i-1} with the gate's measurements */
	struct kl_target *before;
	const struct kl_refusal *refused[KL_WORDING_REFUSED];
	/* target of the state at which each refused step failed */
	struct kl_target at[KL_WORDING_REFUSED];
	bool known[KL_WORDING_REFUSED]; /* true if the same entry of `at` is filled */
	size_t nrefused;
	struct kl_strvec features; /* features that a test may name */
};

/** Collect the data of result i. `out` borrows from `wording`. */
int kl_wording_group(struct kl_wording_group *out, const struct kl_wording *wording, size_t i);
void kl_wording_group_release(struct kl_wording_group *group);

/**
 * Put the model's texts into a copy of the card and check them. Return KL_EINVALID if a text is
 * refused. The message is to be sent to the model, and *out is unchanged.
 */
int kl_wording_check(struct kl_card **out, struct kl_wording_group *group,
		     const struct kl_words *words);

/**
 * Return the transition that comes first by lineage name and step number; the conversation is
 * stored under the workload of its lineage.
 */
const struct kl_transition *kl_wording_first(const struct kl_wording_group *group);
/**
 * Fill a driver for the group's conversation, but do not open the conversation. `out` borrows from
 * the group.
 */
void kl_wording_driver(struct kl_driver *out, const struct kl_wording_group *group);
/** Write one turn of the conversation, of the given kind. */
void kl_wording_compose(struct kl_driver_turn *out, const struct kl_wording_group *group,
			enum kl_dialogue_kind kind);

#endif
