/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_CELL_CHECK_H
#define KL_SEARCH_CELL_CHECK_H

#include "repo/repo.h"

/*
 * cell_check - checks a stored search without a model or a device. From the stored observations the
 * policy must propose the same tickets again; each observation must agree with the gate's event.
 */

/**
 * Check the search whose chain is `ref`. Return KL_EINVALID if the search is wrong; the message
 * names the ticket. Return KL_ENOTFOUND if a candidate's event or kernel is not in the repository.
 */
int kl_cell_check(struct kl_repo *repo, const char *ref);

#endif
