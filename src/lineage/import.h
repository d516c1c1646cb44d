/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_IMPORT_H
#define KL_LINEAGE_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "repo/repo.h"

/*
 * import - rebuilds a lineage from an exported directory. The directory is not trusted: every
 * rebuilt commit must have the id that lineage.json gives; the id of every event must be the digest
 * of the event's content, and the event's surface must be that of its commit. Then the lineage, the
 * rejected steps and the notes are written in one transaction. If any check fails, nothing is
 * written.
 *
 * Rejected steps are rebuilt on the states of the lineage, because the walk that they were tried on
 * exists only in the original repository. Their ids therefore differ from the ids in the original
 * repository, but every import gives the same ids.
 */
struct kl_import_result {
	char lineage[256]; /* the ref of the lineage */
	/* numbers of steps, rejected steps and events in the export */
	size_t steps, rejected, events;
	bool already; /* the repository had the same lineage already, so nothing was written */
};

/**
 * Import the lineage in `dir` under `name`, or under the name in lineage.json if `name` is NULL.
 * Return KL_EEXISTS if another lineage has that name.
 */
int kl_import_read(struct kl_import_result *out, struct kl_repo *repo, const char *dir,
		   const char *name);

/**
 * An exported lineage, rebuilt and checked as by an import. Its commits are written, so that they
 * can be read, but no ref reaches them, and its events are in no note.
 */
struct kl_import_view {
	char *workload, *name;
	git_oid *commit; /* commits of K_0 to K_{n-1} */
	size_t n;
	/*
	 * commit of the last rejected step. Its first parent is the state that the step was tried
	 * on; its second parent, if any, is the previous rejected step.
	 */
	git_oid rejected;
	bool has_rejected;
	struct kl_map notes; /* commit in hex -> events of the commit, one per line; values owned */
};
int kl_import_view(struct kl_import_view *out, struct kl_repo *repo, const char *dir);
void kl_import_view_release(struct kl_import_view *view);

/**
 * Parse a date as git writes it in mails, "Thu, 1 Jan 2026 00:00:00 +0000". `time` is in seconds
 * since the epoch, `offset` in minutes east of UTC. Return KL_EINVALID if `text` is not such a
 * date.
 */
int kl_import_date(int64_t *time, int *offset, const char *text);

#endif
