/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_WALK_MODEL_H
#define KL_WALK_WALK_MODEL_H

#include "walk/sequencer.h"

/*
 * walk_model - the language model of a walk, if the walk has one. The model proposes steps ("chat"
 * or "exec" in the list of rewriters), re-derives them, and audits the traits that a proposal
 * claims. A walk has at most one session with a model; a speculative walk (speculate.h) does not
 * use it.
 */

/**
 * Return "chat" or "exec" if this list of rewriters names it; NULL if it names neither. By default
 * the steps are re-derived by the same rewriter.
 */
const char *kl_model_of_list(const char *rewriters);
/** Return the walk's rewriter that is a model, "chat" or "exec"; NULL if the walk has no model. */
const char *kl_model_name(const struct kl_sequencer *sequencer);
/**
 * Return the model's session, opened if necessary; borrowed. Errors are those of kl_session_open(),
 * or KL_EINVALID if the sequencer has no model.
 */
int kl_model_session(struct kl_session **out, struct kl_sequencer *sequencer);

/**
 * Set the members of `rw` that only the rewriters "chat" and "exec" need. Opens the session if the
 * walk's list of rewriters names one of these and the walk is not speculative.
 */
int kl_model_aim(struct kl_rewrite *rw, struct kl_sequencer *sequencer);

/**
 * Ask the model, in a new conversation, which claims about traits hold for the pending state
 * (rederive.h). *audited is NULL if there is no model or no claim, no money is left, a recording
 * lacks this audit, or the walk is speculative.
 */
int kl_model_audit(json_t **audited, struct kl_sequencer *sequencer);

#endif
