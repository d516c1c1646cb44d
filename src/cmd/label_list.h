/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_LABEL_LIST_H
#define KL_CMD_LABEL_LIST_H

#include <stdbool.h>

#include "repo/repo.h"

/**
 * label_list - git klineage label --list: prints how the steps of lineages are named, whether a
 * primary fact of the name moved, and which name sources and facts give today. Nothing is written.
 * `what` has the names of `n` lineages or of directories with exported lineages; if `n` is 0, all
 * lineages of the repository are printed.
 */
int kl_label_list(struct kl_repo *repo, int n, char **what, bool json);

#endif
