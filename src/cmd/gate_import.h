/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_GATE_IMPORT_H
#define KL_CMD_GATE_IMPORT_H

#include "repo/repo.h"

/* gate_import - git klineage gate --import: takes the results of a worker on another machine. */

/**
 * Import the file ("-": stdin), and print what was imported. `campaign`: add the events to the
 * segments of this campaign; NULL: to notes and cache. Returns 0 or an error.
 */
int kl_gate_import(struct kl_repo *repo, const char *file, const char *campaign, bool json);

#endif
