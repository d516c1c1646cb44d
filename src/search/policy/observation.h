/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_OBSERVATION_H
#define KL_SEARCH_POLICY_OBSERVATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/digest.h"
#include "text/json.h"

/*
 * observation - what came of one ticket of a search: all that a policy ever learns.
 *
 * An observation is final. Ticket 0 observes the root, the kernel from which the search starts; the
 * kernel that ticket t made is called by its ticket. Speeds are parts per million of the root's
 * speed, from the gate's event: 1200000 is 1.2 times as fast.
 *
 * An observation owns its strings and arrays; kl_observation_release() frees them.
 */
enum kl_ticket_outcome {
	KL_OUTCOME_SKIPPED, /* the ticket was not needed */
	KL_OUTCOME_NOTE,    /* a note was written */
	KL_OUTCOME_NONE,    /* no usable reply: no candidate, or no note */
	KL_OUTCOME_COMPILE, /* the candidate does not compile or failed an audit */
	KL_OUTCOME_LAUNCH,
	KL_OUTCOME_FAULT,
	KL_OUTCOME_HANG,
	KL_OUTCOME_WRONG, /* the candidate's results are wrong */
	KL_OUTCOME_CORRECT,
};
#define KL_OUTCOMES (KL_OUTCOME_CORRECT + 1)

/** Names of outcomes, as they are stored. */
extern const char *const kl_outcome_name[KL_OUTCOMES];

struct kl_observation {
	int64_t ticket;
	int64_t parent; /* ticket of the kernel that was changed; -1 for the root and for notes */
	enum kl_ticket_outcome outcome;
	char *form; /* what the intent was called, such as "large"; NULL: nothing */
	/* the others are 0 or NULL unless the candidate is correct */
	int64_t speed_ppm, low_ppm, high_ppm; /* centre and interval */
	int64_t bytes, instructions;          /* size of the sources and of the compiled code */
	char *mechanisms;                     /* sorted names, joined by ',' */
	int64_t *case_ppm;                    /* speed at each case of the contract */
	size_t ncase;
	char surface[KL_DIGEST_HEX]; /* digest of the candidate's sources; "" if there is none */
	json_t *note;                /* what a note says, as the policy asked for it */
};

/** True if the ticket made a candidate, correct or not. */
bool kl_observation_is_candidate(const struct kl_observation *observation);
void kl_observation_copy(struct kl_observation *to, const struct kl_observation *from);
void kl_observation_release(struct kl_observation *observation);

/** Return the observation as JSON; the caller owns it. */
json_t *kl_observation_write(const struct kl_observation *observation);
/** Read an observation. KL_EINVALID: the message names the member that is wrong. */
int kl_observation_read(struct kl_observation *out, const json_t *json);

#endif
