/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SEGMENT_VERDICT_H
#define KL_EVENT_SEGMENT_VERDICT_H

#include "event/cache.h"

/*
 * segment_verdict - finds this clone's own verdicts in segments, which replace a run as those in
 * its cache do. Verdicts of others in segments are found by trusted_verdict.h, together with those
 * in notes.
 */

/**
 * Find the verdict for a key: a failure rather than a pass, then one of the whole gate, then the
 * newest. A retracted event is no verdict, nor is one of class `no-change` or `inconclusive`. A
 * correctness failure counts whatever the kernel is compared with; any other verdict must have been
 * compared with the key's parent if the key asks for a profile. The caller owns `*event`. Return
 * KL_ENOTFOUND if there is none.
 */
int kl_segment_verdict_find(struct kl_event **event, struct kl_repo *repo,
			    const struct kl_cache_key *key);

#endif
