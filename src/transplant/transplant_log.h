/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TRANSPLANT_TRANSPLANT_LOG_H
#define KL_TRANSPLANT_TRANSPLANT_LOG_H

#include "transplant/transplant.h"

/*
 * transplant_log - the kernels that were judged in transplants of a lineage, and their verdicts.
 *
 * Each kernel is a commit whose parent is the state K_j of the lineage; its gate event is a note of
 * that commit. refs/klineage/transplant/<workload>/<name> keeps the commits reachable, as a chain
 * like those of card_commit.h. A link says which step was put in or undone where, and which event
 * judges it (docs/formats.md, "Transplants"). Commit, link and note become visible together.
 */

/** Keep the verdict on a cell. The event's commit and tree are set. */
int kl_transplant_log_add(struct kl_transplant *transplant, struct kl_repo *repo, size_t step,
			  size_t place, const struct kl_surface *kernel, int sign);
/** Keep the verdict on K_0, transplant->root. */
int kl_transplant_log_root(struct kl_transplant *transplant, struct kl_repo *repo, int sign);
/**
 * Read the newest verdict on each cell. A verdict that is outdated, or on a kernel other than that
 * of the cell, is left out.
 */
int kl_transplant_log_read(struct kl_transplant *transplant, struct kl_repo *repo);

#endif
