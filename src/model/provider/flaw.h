/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_FLAW_H
#define KL_MODEL_PROVIDER_FLAW_H

#include "base/buf.h"
#include "model/provider/message.h"

/*
 * flaw - why a complete reply cannot be used: it was cut, refused, empty, a call of a tool ... Such
 * a reply is stored and paid for like any other, and the next turn tells its author the reason.
 */

/**
 * Return the name of a flaw: "none", "length", "reasoning", "refusal", "empty", "tool", "nul",
 * "choices".
 */
const char *kl_flaw_name(enum kl_flaw flaw);
/**
 * Read the member `flaw` of an object; if it is absent, `*out` is unchanged. An unknown name, which
 * a later version wrote, counts as KL_FLAW_EMPTY, since that reply cannot be used either. Return
 * KL_EINVALID if the member is not a string.
 */
int kl_flaw_read(enum kl_flaw *out, const json_t *obj);

/**
 * Append a sentence that tells the author of a reply which flaw the reply has. `max_tokens` was the
 * limit of the reply.
 */
void kl_flaw_explain(struct kl_buf *out, enum kl_flaw flaw, int64_t max_tokens);

/**
 * Return the text that replaces the missing text of a reply with this flaw, in the conversation and
 * in later requests, since providers refuse empty messages. Static.
 */
const char *kl_flaw_note(enum kl_flaw flaw);

/**
 * Return the flaw of a complete reply, by its text and stop reason. `found` is the flaw that its
 * protocol showed, or KL_FLAW_NONE.
 */
enum kl_flaw kl_flaw_of(const char *text, enum kl_stop stop, enum kl_flaw found);

#endif
