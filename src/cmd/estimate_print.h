/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_ESTIMATE_PRINT_H
#define KL_CMD_ESTIMATE_PRINT_H

#include "model/session.h"
#include "text/json.h"

/*
 * estimate_print - what `--estimate` of a verb prints: what a conversation is likely to cost, at
 * least and at most, what that assumes, and what is spent of the cap. For people, or as one line of
 * JSON, schema klineage.estimate/1 (docs/formats.md).
 */

/** One assumption, in the order in which a person reads them. */
struct kl_estimate_row {
	const char *key;          /* of JSON; NULL: for people alone */
	const char *label, *what; /* "steps", "accepted"; NULL: for programs alone */
	const int64_t *ends;      /* least and most; NULL: one number, */
	int64_t number;           /* this one */
};

struct kl_estimate_print {
	const char *workload;
	const char *one;     /* "a walk" */
	const char *all;     /* whose cap it is: "the walks of this workload" */
	const char *note;    /* lines after the assumptions; or NULL */
	const int64_t *nano; /* dollars, least and most */
	const struct kl_estimate_row *row;
	size_t n;
};

/** Errors are of the ledger, which `session` knows. */
int kl_estimate_print(const struct kl_estimate_print *say, struct kl_session *session, bool json);

/** [least, most] */
json_t *kl_estimate_say_ends(const int64_t values[2]);

#endif
