/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_EXPERIENCE_H
#define KL_SEARCH_POLICY_EXPERIENCE_H

#include <stdbool.h>

#include "search/policy/policy.h"

/*
 * experience - holds what a policy knows: all observations so far, and the policy's state.
 *
 *	kl_experience_init(&seen, &setup);
 *	for each ticket from 0:
 *		kl_experience_add(&seen, &observation);
 *	kl_experience_propose(&intent, &seen, ticket);
 *
 * Add observations in order of tickets, without a gap. When the policy is asked for the intent of
 * ticket t, exactly the observations of tickets 0 to horizon(t) must have been added; otherwise the
 * program aborts, because this is a bug.
 */
struct kl_experience {
	const struct kl_setup *setup; /* borrowed */
	struct kl_observation *at;    /* at[t] is the observation of ticket t */
	int64_t n;
	size_t alloc;
	char digest[KL_DIGEST_HEX]; /* digest of the setup and the observations */
	void *state;                /* state of the policy, or NULL */
};

void kl_experience_init(struct kl_experience *seen, const struct kl_setup *setup);
void kl_experience_release(struct kl_experience *seen);
/** Add a copy of the next observation. */
void kl_experience_add(struct kl_experience *seen, const struct kl_observation *observation);
/**
 * Ask the policy for the intent of a ticket. *out must be zeroed before; the caller releases it.
 */
void kl_experience_propose(struct kl_intent *out, const struct kl_experience *seen, int64_t ticket);
/** Write to `hex` the digest of the setup, the observations and the policy's state. */
void kl_experience_digest(char hex[KL_DIGEST_HEX], const struct kl_experience *seen);

/** Return the speed of a correct candidate divided by the root's speed. */
double kl_experience_speed(const struct kl_experience *seen, int64_t ticket);
bool kl_experience_is_correct(const struct kl_experience *seen, int64_t ticket);
/** Return the ticket of the fastest correct kernel, the root included; of equal ones the first. */
int64_t kl_experience_best(const struct kl_experience *seen);
/**
 * Return the bits of a number as a string of 16 hex digits, as kl_policy.write() needs them; the
 * caller owns the string.
 */
json_t *kl_experience_number(double number);

#endif
