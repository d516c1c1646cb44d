/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_WALK_MODEL_H
#define KL_WALK_WALK_MODEL_H

#include "walk/sequencer.h"

/*
 * walk_model - the language model of a walk, if it has one: it proposes steps ("chat" or "exec" in
 * the list of rewriters), derives them anew, reads traits a second time. One a walk, one
 * conversation; a walk that is only thought through (speculate.h) has none.
 */

/** Who derives anew where nobody said who: the list's own model; NULL: none. */
const char *kl_model_of_list(const char *rewriters);
/** "chat" or "exec"; NULL: the walk has no model. */
const char *kl_model_name(const struct kl_sequencer *sequencer);
/** Its conversation, opened if it is not yet. Errors as kl_session_open. */
int kl_model_session(struct kl_session **out, struct kl_sequencer *sequencer);

/** What chat and exec are given beside what every rewriter is; opens the conversation for them. */
int kl_model_aim(struct kl_rewrite *rw, struct kl_sequencer *sequencer);

/**
 * What a fresh reader of the pending state says of the traits that the proposal claims
 * (rederive.h); NULL: nobody read, for want of a model, of claims or of money.
 */
int kl_model_audit(json_t **audited, struct kl_sequencer *sequencer);

#endif
