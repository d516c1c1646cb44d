/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_EXPORT_H
#define KL_LINEAGE_EXPORT_H

#include "repo/repo.h"

/*
 * export - writes a lineage to a directory, for review and for import into other repositories
 * (docs/formats.md, "export"):
 *
 *	lineage.json		names, the root's commit, and every commit's id
 *	state-0/		the files of K_0
 *	NNNN-<action>.patch	tau_1 ... tau_n, as git format-patch writes them
 *	rederived/NNNN-...	K_i' of the re-derived transitions, on K_{i-1}
 *	rejected/NNNN-...	rejected steps, on the state on which each was tried
 *	gate.jsonl		the events of all of these, one per line
 */
#define KL_EXPORT_SCHEMA "klineage.export/1"

/**
 * Export a lineage. KL_EEXISTS: `dir` exists and is not an empty directory. `*files`: files
 * written.
 */
int kl_export_write(struct kl_repo *repo, const char *workload, const char *name, const char *dir,
		    size_t *files);

#endif
