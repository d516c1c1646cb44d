/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_EXPERIENCE_H
#define KL_SEARCH_POLICY_EXPERIENCE_H

#include <stdbool.h>

#include "search/policy/policy.h"

/*
 * experience - what a policy knows after some observations: their history and the policy's state.
 *
 *	kl_experience_init(&seen, &setup);
 *	for each ticket from 0:
 *		kl_experience_add(&seen, &observation);
 *	kl_experience_propose(&intent, &seen, ticket);
 *
 * Observations are added in order of tickets without a gap. Before an intent for ticket t exactly
 * the tickets 0 to horizon(t) must have been added; anything else is a bug and aborts.
 */
struct kl_experience {
	const struct kl_setup *setup; /* borrowed */
	struct kl_observation *at;    /* history: at[t] is of ticket t */
	int64_t n;
	size_t alloc;
	char digest[KL_DIGEST_HEX]; /* of the setup and the history */
	void *state;                /* of the policy */
};

void kl_experience_init(struct kl_experience *seen, const struct kl_setup *setup);
void kl_experience_release(struct kl_experience *seen);
/** Add a copy of the next observation. */
void kl_experience_add(struct kl_experience *seen, const struct kl_observation *observation);
/** Ask the policy; the caller releases `out`, which must be zeroed before. */
void kl_experience_propose(struct kl_intent *out, const struct kl_experience *seen, int64_t ticket);
/** Write the digest of setup, history and state. */
void kl_experience_digest(char hex[KL_DIGEST_HEX], const struct kl_experience *seen);

/** Return the speed of a correct candidate as a number: 1 is the root's. */
double kl_experience_speed(const struct kl_experience *seen, int64_t ticket);
bool kl_experience_is_correct(const struct kl_experience *seen, int64_t ticket);
/** Return the fastest correct candidate; of equals the first. The root if there is none. */
int64_t kl_experience_best(const struct kl_experience *seen);
/** Return a number as 16 hex digits of its bits, for kl_policy.write(); the caller owns it. */
json_t *kl_experience_number(double number);

#endif
