/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SPEED_H
#define KL_EVENT_SPEED_H

#include "event/profile.h"

/*
 * speed - turns measured intervals into fast, slow, same or ambiguous. All verbs use the
 * rules below.
 *
 * An interval is compared with a margin that grows with the noise of its run: `aa_ppm` is how far
 * the A/A interval, the candidate against itself, reaches from 1.
 */

/**
 * FAST or SLOW: the whole interval is beyond max(1 %, 3 A/A); SAME: all of it is within, and 3 A/A
 * is at most 10 %; else AMBIGUOUS.
 */
enum kl_speed kl_speed_of(const struct kl_comparison *comparison, int64_t aa_ppm);
/** The same of a mean over several cases: where one of them is slow it is AMBIGUOUS at most. */
enum kl_speed kl_speed_of_mean(const struct kl_comparison *mean, int64_t aa_ppm, bool one_is_slow);

/**
 * Not slower than the parent: the upper bound of its time is at most 1 + max(2 %, 3 A/A) of the
 * parent's, and no case is slower than that allows; where 3 A/A is above 10 % it has to be FAST, or
 * noise would be proof. Slower: all of the interval, or of that of one case, is beyond that bound.
 * Both are false where the interval does not say, and without a comparison.
 */
bool kl_speed_is_not_slower(const struct kl_profile *profile);
bool kl_speed_is_slower(const struct kl_profile *profile);

#endif
