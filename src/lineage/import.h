/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_IMPORT_H
#define KL_LINEAGE_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "repo/repo.h"

/*
 * import - rebuilds a lineage from an exported directory, which is not trusted: every commit must
 * be rebuilt with its id in lineage.json, every event's id must be the digest of its contents, and
 * its surface must be that of its commit. Lineage, rejections and notes are then written in one
 * transaction, or not at all if anything is wrong.
 *
 * Rejected steps are rebuilt on the lineage's own states, because the walk on which they were tried
 * exists only in the original repository. Their ids therefore differ from those there, but every
 * import gives the same ids.
 */
struct kl_import_result {
	char lineage[256];
	size_t steps, rejected, events;
	bool already; /* the same lineage already existed */
};

/** Import under `name` (NULL: the name in lineage.json). KL_EEXISTS: another lineage has it. */
int kl_import_read(struct kl_import_result *out, struct kl_repo *repo, const char *dir,
		   const char *name);

/**
 * An exported lineage as it would be imported: its commits are written, so that they can be read,
 * and its events are checked, but no ref or note refers to them.
 */
struct kl_import_view {
	char *workload, *name;
	git_oid *commit; /* K_0 ... */
	size_t n;
	/* the last rejection; first parent: state it was tried on, second: previous rejection */
	git_oid rejected;
	bool has_rejected;
	struct kl_map notes; /* commit in hex -> its events, one per line (owned) */
};
int kl_import_view(struct kl_import_view *out, struct kl_repo *repo, const char *dir);
void kl_import_view_release(struct kl_import_view *view);

/** Parse git's "Thu, 1 Jan 2026 00:00:00 +0000", or KL_EINVALID. `offset` is in minutes. */
int kl_import_date(int64_t *time, int *offset, const char *text);

#endif
