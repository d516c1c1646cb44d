/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_SEARCH_PRINT_H
#define KL_CMD_SEARCH_PRINT_H

#include "search/cell.h"

/* search_print - prints what a search did, or would do, as text or as JSON. */

/** The data that is printed about a search. */
struct kl_search_result {
	const struct kl_cell *cell;
	struct kl_session *session;
	const struct kl_event *again; /* event of the best, measured again; NULL without a best */
	const char *workload, *name;
};

/** Print each candidate, the best and the cost. */
int kl_search_print(const struct kl_search_result *result, bool json);
/** Print all policies with their parameters and presets. */
void kl_search_print_policies(void);

/** The data of a search that is not run, for a dry run. */
struct kl_search_plan {
	const struct kl_setup *setup;
	const char *workload, *name;
	const char *budget; /* as given; NULL to use the configured one */
};
void kl_search_print_plan(const struct kl_search_plan *plan, bool json);

#endif
