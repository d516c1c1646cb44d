/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_STEP_NAME_H
#define KL_WALK_STEP_NAME_H

#include "event/facts.h"
#include "walk/sequencer.h"

/*
 * step_name - settles which mechanism a step of a walk removes. A mechanism that the author of the
 * step claims must be confirmed by the facts, and must not be contradicted by the sources;
 * otherwise the claim is taken back. A step whose author claims nothing gets the name that sources
 * and facts give it, with a confidence (rewrite/naming.h), or no name.
 */
struct kl_step_name {
	const struct kl_mechanism *mechanism; /* NULL if unknown */
	enum kl_delta delta;
	struct kl_buf why;           /* the foreign facts, or the primary facts that moved */
	bool contradicted;           /* the facts or the sources contradict the author's claim */
	struct kl_buf contradiction; /* the evidence against the claim */
	bool found;                  /* nobody claimed the name: sources and facts gave it */
	bool whole;                  /* the step is accepted as it is, even if it is compound */
};
#define KL_STEP_NAME_INIT                                        \
	{                                                        \
		.why = KL_BUF_INIT, .contradiction = KL_BUF_INIT \
	}

void kl_step_name_release(struct kl_step_name *name);
/**
 * Settle the name of the pending proposal, which the gate passed, and complete its record: traits,
 * mechanism, action, confidence. Adds the traits to the facts of both states. The caller sets *out
 * to KL_STEP_NAME_INIT first.
 */
void kl_step_name_settle(struct kl_step_name *out, const struct kl_sequencer *sequencer,
			 struct kl_facts *before, struct kl_facts *after);
/**
 * Take back the contradicted name of a step that is accepted. The record keeps the claim and the
 * reason, and gets the name that sources and facts give, if there is another one.
 */
void kl_step_name_take_back(struct kl_step_name *name, const struct kl_sequencer *sequencer,
			    struct kl_facts *before, struct kl_facts *after);
/** Make the name of an action from the proposal's text; the caller frees it. */
char *kl_step_name_action(const json_t *pending);

#endif
