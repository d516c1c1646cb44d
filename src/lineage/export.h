/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_EXPORT_H
#define KL_LINEAGE_EXPORT_H

#include "repo/repo.h"

/*
 * export - writes a lineage to a directory, for review and for import into other repositories
 * (docs/formats.md, "export"):
 *
 *	lineage.json		names, the data of the root commit, and the id of every commit
 *	state-0/		the files of K_0
 *	NNNN-<action>.patch	the transitions, as git format-patch writes them
 *	rederived/NNNN-...	K_i' of each re-derived transition, as a patch on K_{i-1}
 *	rejected/NNNN-...	rejected steps, as patches on the states that they were tried on
 *	gate.jsonl		the events of all these commits, one per line
 */
#define KL_EXPORT_SCHEMA "klineage.export/1"

/**
 * Export a lineage to `dir`, and set *files to the number of files written. Return KL_EEXISTS if
 * `dir` exists and is not an empty directory.
 */
int kl_export_write(struct kl_repo *repo, const char *workload, const char *name, const char *dir,
		    size_t *files);

#endif
