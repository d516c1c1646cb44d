/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_TRUSTED_VERDICT_H
#define KL_EVENT_TRUSTED_VERDICT_H

#include "event/cache.h"

/*
 * trusted_verdict - verdicts of allowed signers, which spare a run: an event in a note, on the
 * same files at the same place, which an allowed signer signed (event/signature.h). Only a pass
 * does; whoever fails is judged again. Where gpg.ssh.allowedSignersFile is not set nobody vouches,
 * and nothing is looked at.
 */

/**
 * `*event` and `*signer` are the caller's. KL_ENOTFOUND: nobody vouches for that. An event with a
 * profile serves who wants none; one that was compared with another parent, or not at all, does not
 * serve who asks for it.
 */
int kl_trusted_verdict_find(struct kl_event **event, char **signer, struct kl_repo *repo,
			    const struct kl_cache_key *key);

#endif
