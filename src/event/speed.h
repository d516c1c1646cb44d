/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SPEED_H
#define KL_EVENT_SPEED_H

#include "event/profile.h"

/*
 * speed - classifies measured intervals as fast, slow, same or ambiguous. All commands use the
 * rules below.
 *
 * An interval is compared with a margin that grows with the noise of its run. The noise, `aa_ppm`
 * or A/A, is how far the interval of the candidate against itself reaches from 1.
 */

/**
 * Classify a comparison. It is FAST or SLOW if the whole interval is beyond the margin max(1 %, 3
 * A/A). It is SAME if the whole interval is within the margin, and 3 A/A is at most 10 %. Otherwise
 * it is AMBIGUOUS.
 */
enum kl_speed kl_speed_of(const struct kl_comparison *comparison, int64_t aa_ppm);
/**
 * Like kl_speed_of(), for a mean over several cases; the result is never FAST or SAME if one of the
 * cases is slow.
 */
enum kl_speed kl_speed_of_mean(const struct kl_comparison *mean, int64_t aa_ppm, bool one_is_slow);

/**
 * Return true if the interval says too little to be used as a figure, as on a busy machine: its
 * ends differ by more than a factor of 2, and by more than the factor of gain or loss that it
 * proves. "20 to 50 times as fast" is a figure, but "1.1 to 2.5 times as fast" is not. Return false
 * if the ratio is not known.
 */
bool kl_speed_is_useless(const struct kl_ratio *ratio);

/**
 * kl_speed_is_not_slower() returns true if the upper bound of the kernel's time is at most 1 +
 * max(2 %, 3 A/A) times the parent's, and no case is slower. If 3 A/A is above 10 %, the kernel
 * must be FAST, otherwise noise would count as proof. kl_speed_is_slower() returns true if the
 * whole interval, or that of a single case, is beyond that bound. Both return false if the interval
 * is inconclusive, or if there is no comparison with the parent.
 */
bool kl_speed_is_not_slower(const struct kl_profile *profile);
bool kl_speed_is_slower(const struct kl_profile *profile);
/** Like kl_speed_is_not_slower(), but with the margin `within_ppm` in place of 2 %. */
bool kl_speed_is_within(const struct kl_profile *profile, int64_t within_ppm);

#endif
