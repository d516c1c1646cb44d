/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_IMPORT_H
#define KL_LINEAGE_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "repo/repo.h"

/*
 * import - rebuilds a lineage from an exported directory, and believes nothing of it: every commit
 * must come out with the id that lineage.json names, every event's id must be the digest of what
 * it says and its surface that of its commit. Then lineage, rejections and notes appear in one
 * transaction; nothing appears when anything is wrong.
 *
 * Rejected steps are rebuilt on the lineage's own states (the walk they were tried
 * on lies in the repository they come from), so their ids differ there; importing again,
 * here or elsewhere, gives the same ids each time.
 */
struct kl_import_result {
	char lineage[256];
	size_t steps, rejected, events;
	bool already; /* it was here, the same */
};

/** `name` NULL: the one in lineage.json. KL_EEXISTS: another lineage has that name. */
int kl_import_read(struct kl_import_result *out, struct kl_repo *repo, const char *dir,
		   const char *name);

/**
 * An exported lineage as it would be imported: its commits are made (so they can be read) and its
 * events checked, but no ref and no note leads to them.
 */
struct kl_import_view {
	char *workload, *name;
	git_oid *commit; /* K_0 ... */
	size_t n;
	/* the last one; first parent: tried on, second: the one before */
	git_oid rejected;
	bool has_rejected;
	struct kl_map notes; /* commit in hex -> its events, one a line (owned) */
};
int kl_import_view(struct kl_import_view *out, struct kl_repo *repo, const char *dir);
void kl_import_view_release(struct kl_import_view *view);

/** "Thu, 1 Jan 2026 00:00:00 +0000" as git writes it; KL_EINVALID. `offset` in minutes. */
int kl_import_date(int64_t *time, int *offset, const char *text);

#endif
