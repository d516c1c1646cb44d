/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_CYCLE_H
#define KL_STUDY_CYCLE_H

#include "search/links.h"

/*
 * cycle - counts the lines that a search adds again after it had removed them. A search that goes
 * in circles spends its candidates on them.
 */

/**
 * Set *added to the number of lines that the candidates of a chain added, blank ones left out, and
 * *again to the number of those that one of their ancestors in this chain had removed, byte for
 * byte.
 */
int kl_cycle_count(int64_t *added, int64_t *again, struct kl_repo *repo,
		   const struct kl_links *chain);

#endif
