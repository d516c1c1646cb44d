/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_OBSERVATION_H
#define KL_SEARCH_POLICY_OBSERVATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/digest.h"
#include "text/json.h"

/*
 * observation - the result of one ticket of a search. A policy learns nothing else.
 *
 * An observation never changes. Ticket 0 is the root, the kernel from which the search starts. A
 * kernel is named by the ticket that made it. Speeds are taken from the gate's event, in millionths
 * of the root's speed: 1200000 is 1.2 times as fast as the root.
 *
 * An observation owns its strings and arrays; kl_observation_release() frees them.
 */
enum kl_ticket_outcome {
	KL_OUTCOME_SKIPPED, /* the ticket was not needed */
	KL_OUTCOME_NOTE,    /* a note was written */
	KL_OUTCOME_NONE,    /* there is no candidate or note, for example for lack of a reply */
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

/** No observation has a greater speed. */
#define KL_OBSERVATION_PPM INT64_C(1000000000000000)

struct kl_observation {
	int64_t ticket;
	/* ticket of the kernel that was changed or that the note is about; -1 for the root and a skip */
	int64_t parent;
	enum kl_ticket_outcome outcome;
	char *form; /* the intent's form, such as "large"; NULL if it has none */
	/* the members from here to `ncase` are 0 or NULL unless the candidate is correct */
	int64_t speed_ppm, low_ppm, high_ppm; /* measured speed and its confidence interval */
	int64_t bytes, instructions;          /* size of the sources and of the compiled code */
	char *mechanisms;                     /* sorted names, joined by ',' */
	int64_t *case_ppm;                    /* speed at each case of the contract */
	size_t ncase;
	char surface[KL_DIGEST_HEX]; /* digest of the candidate's sources; "" if there is none */
	json_t *note; /* content of a note, or NULL; the policy defines its members */
};

/** Return true if the ticket made a candidate that was judged, correct or not. */
bool kl_observation_is_candidate(const struct kl_observation *observation);
void kl_observation_copy(struct kl_observation *to, const struct kl_observation *from);
void kl_observation_release(struct kl_observation *observation);

/** Return the observation as JSON; the caller owns it. */
json_t *kl_observation_write(const struct kl_observation *observation);
/**
 * Read an observation; the caller releases *out. Return KL_EINVALID if a member is wrong; the
 * message names the member.
 */
int kl_observation_read(struct kl_observation *out, const json_t *json);

#endif
