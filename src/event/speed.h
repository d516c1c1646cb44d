/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SPEED_H
#define KL_EVENT_SPEED_H

#include <stdbool.h>
#include <stdint.h>

#include "text/json.h"

/*
 * speed - turns measured intervals into fast, slow, same or ambiguous. Ratios are the comparison's
 * time over the candidate's, in ppm: above 1,000,000 the candidate is faster. `aa_ppm` is how far
 * the A/A interval, the candidate against itself, reaches from 1.
 */
struct kl_speed {
	int64_t ratio_ppm, lo_ppm, hi_ppm, aa_ppm;
};

/**
 * "fast" or "slow": the whole interval beyond max(1 %, 3 A/A); "same": all of it
 * within, if 3 A/A is at most 10 %; else "ambiguous".
 */
const char *kl_speed_word(const struct kl_speed *s);

/** Not slower: upper bound of the time ratio <= 1 + max(2 %, 3 A/A). */
bool kl_speed_not_slower(const struct kl_speed *s);
/** All of the interval is slower than that allows. Neither this nor not slower: it does not say. */
bool kl_speed_slower(const struct kl_speed *s);

/**
 * The event's "profile" from a result's: one weighted geometric mean over the
 * performance cases, the points kept beside it. NULL if there is none.
 * A case that is slow makes the whole not "fast". `weight` has one entry per
 * point, in order.
 */
json_t *kl_speed_profile(const json_t *result_profile, const int64_t *weight, size_t n,
			 const char *parent_digest);

#endif
