/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_EXPORT_H
#define KL_LINEAGE_EXPORT_H

#include "repo/repo.h"

/*
 * export - a lineage as a directory that a person can review and another
 * repository can import (docs/formats.md, "export"):
 *
 *	lineage.json		names, the root's commit, and every commit's id
 *	state-0/		the files of K_0
 *	NNNN-<action>.patch	tau_1 ... tau_n, as git format-patch writes them
 *	rederived/NNNN-...	K_i' where a transition was re-derived, on K_{i-1}
 *	rejected/NNNN-...	what was tried and refused, on the state it was tried on
 *	gate.jsonl		the events of all of these, one a line
 */
#define KL_EXPORT_SCHEMA "klineage.export/1"

/** `dir` must not exist, or be empty: KL_EEXISTS. `*files` counts what was written. */
int kl_export_write(struct kl_repo *repo, const char *workload, const char *name, const char *dir,
		    size_t *files);

#endif
