/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_SEARCH_PRINT_H
#define KL_CMD_SEARCH_PRINT_H

#include "search/cell.h"

/* search_print - prints what a search did, or would do, as text or as JSON. */

/** What is printed of a search. */
struct kl_search_result {
	const struct kl_cell *cell;
	struct kl_session *session;
	const struct kl_event *again; /* of the best, measured again; NULL if there is no best */
	const char *workload, *name;
};

/** Print each candidate, the best and the cost. */
int kl_search_print(const struct kl_search_result *result, bool json);
/** Print all policies with their parameters and presets. */
void kl_search_print_policies(void);

/** What a search would do. */
struct kl_search_plan {
	const struct kl_setup *setup;
	const char *workload, *name;
	const char *budget; /* as given; NULL to use the configured one */
};
void kl_search_print_plan(const struct kl_search_plan *plan, bool json);

#endif
