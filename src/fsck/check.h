/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FSCK_CHECK_H
#define KL_FSCK_CHECK_H

#include "repo/repo.h"

/*
 * check - checks the refs of klineage against docs/formats.md. Covers the shape and trailers of
 * walks, lineages and rejected steps, each lineage against its walk, gate events against the files
 * that they judged, citations between events, conversations and ledgers (fsck/check_chat.h), and
 * the state of an operation in progress. Read-only. Assumes that git fsck passes and does not
 * repeat it.
 */
enum kl_check_severity {
	KL_CHECK_ERROR,   /* something is broken */
	KL_CHECK_WARNING, /* something is stale or missing, but not broken */
};

struct kl_check {
	struct kl_repo *repo;
	/** Called for each finding; `where` is a ref or a commit. */
	void (*report)(enum kl_check_severity s, const char *where, const char *what,
		       void *payload);
	void *payload;
	size_t errors, warnings;                                          /* reported */
	size_t lineages, walks, rejected, events, conversations, ledgers; /* checked */
};

/** Check everything. Returns 0 if all checks ran; findings are not errors. */
int kl_check_run(struct kl_check *check);

/** Maximum number of steps in a chain from a remote. */
#define KL_CHECK_FOREIGN_STEPS 20000

/**
 * Check one lineage or rejected ref of a remote before it is used. `name` is
 * "lineage/<workload>/<name>" or "rejected/<workload>/<name>", independent of its tracking ref.
 * Adds to the counts. Only reads the commits that are reachable from `tip`.
 */
int kl_check_foreign(struct kl_check *check, const char *name, const git_oid *tip);

#endif
