/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_CELL_CHECK_H
#define KL_SEARCH_CELL_CHECK_H

#include "repo/repo.h"

/*
 * cell_check - checks a stored search without model or device: the policy proposes from the stored
 * observations what was done, and each observation is what the gate's event says.
 */

/**
 * Check the search whose chain is `ref`. KL_EINVALID: it is wrong; the message names the ticket.
 * KL_ENOTFOUND: the event of a candidate, or its kernel, is not here.
 */
int kl_cell_check(struct kl_repo *repo, const char *ref);

#endif
