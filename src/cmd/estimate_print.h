/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_ESTIMATE_PRINT_H
#define KL_CMD_ESTIMATE_PRINT_H

#include "model/session.h"
#include "text/json.h"

/*
 * estimate_print - prints the likely cost of a conversation (`--estimate`): the least and most, the
 * assumptions, and how much of the cap is spent already. The output is text, or one line of JSON,
 * schema klineage.estimate/1 (docs/formats.md).
 */

/** One assumption of an estimate. Rows are printed in order. */
struct kl_estimate_row {
	const char *key;          /* JSON member; NULL: print the row in text only */
	const char *label, *what; /* "steps", "accepted"; label NULL: print the row in JSON only */
	const int64_t *ends;      /* two numbers, least and most; NULL: print `number` */
	int64_t number;
};

struct kl_estimate_print {
	const char *workload;
	const char *one;  /* the thing that is estimated, such as "a walk" */
	const char *all;  /* everything that the cap covers, such as "the walks of this workload" */
	const char *note; /* text after the assumptions; NULL: none */
	const int64_t *nano; /* nano-dollars, least and most; 0: requests are not metered */
	const struct kl_estimate_row *row;
	size_t n;
};

/** Print the estimate. Fails if the ledger of `session` cannot be read. */
int kl_estimate_print(const struct kl_estimate_print *print, struct kl_session *session, bool json);

/** Return the JSON array [least, most], which the caller owns. */
json_t *kl_estimate_say_ends(const int64_t ends[2]);

#endif
