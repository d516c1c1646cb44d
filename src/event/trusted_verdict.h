/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_TRUSTED_VERDICT_H
#define KL_EVENT_TRUSTED_VERDICT_H

#include "event/cache.h"

/*
 * trusted_verdict - finds verdicts of allowed signers, which can replace a run. Such a verdict is
 * an event in a note or a segment, for the same surface and contract on the same platform, that is
 * signed by an allowed signer (event/signature.h). Only a pass of the whole gate is accepted, and
 * only if nothing that counts outweighs it (event/trust.h); failures are judged again. If there are
 * no lists of signers, neither notes nor segments are read.
 */

/**
 * Find a verdict for a key; the caller owns `*event` and `*signer`. An event with a profile also
 * matches a key without one. If the key asks for a profile, the event must have been compared with
 * the key's parent. `base` is the commit to read the repository's list of signers from, or NULL for
 * the commit that klineage.signers names (signers.h). Return KL_ENOTFOUND if there is none.
 */
int kl_trusted_verdict_find(struct kl_event **event, char **signer, struct kl_repo *repo,
			    const struct kl_cache_key *key, const git_oid *base);
/** Return true if the event was timed against the key's parent, or if the key needs no profile. */
bool kl_trusted_verdict_is_compared(const struct kl_event *event, const struct kl_cache_key *key);

#endif
