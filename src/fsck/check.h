/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FSCK_CHECK_H
#define KL_FSCK_CHECK_H

#include "repo/repo.h"

/*
 * check - checks the refs of git-klineage against docs/formats.md. It checks the shape and trailers
 * of walks, lineages, rejected steps and transplants; that each lineage agrees with its walk; that
 * gate events are for the files of their commits; that cited events exist; conversations and
 * ledgers (fsck/check_chat.h); and the state of an operation in progress. It changes nothing, and
 * does not repeat what git fsck checks.
 */
enum kl_check_severity {
	KL_CHECK_ERROR,   /* data is invalid */
	KL_CHECK_WARNING, /* data is stale or missing, but not invalid */
};

struct kl_check {
	struct kl_repo *repo;
	/** Called for each finding; `where` is a ref or a commit. */
	void (*report)(enum kl_check_severity s, const char *where, const char *what,
		       void *payload);
	void *payload;
	size_t errors, warnings; /* number of findings of each severity */
	/* numbers of refs, events, conversations and ledgers that were checked */
	size_t lineages, walks, rejected, campaigns, searches, studies, transplants, events,
		conversations;
	size_t ledgers;
	/*
	 * for a campaign from a remote: a tree whose files are not checked again, or NULL to check
	 * all files
	 */
	const git_oid *known;
	/*
	 * for transplants from a remote: the tip of the lineage whose steps were tried; NULL if
	 * none
	 */
	const git_oid *lineage;
};

/** Run all checks. Return 0 if all of them ran, even if there are findings. */
int kl_check_run(struct kl_check *check);

/** Maximum number of steps in a lineage, or in a ref of rejected steps, from a remote. */
#define KL_CHECK_FOREIGN_STEPS 20000

/**
 * Check one lineage, one ref of rejected steps, one campaign or the transplants of one lineage from
 * a remote before it is used. `name` is "lineage/<workload>/<name>", "rejected/<workload>/<name>",
 * "campaign/<workload>/<name>" or "transplant/<workload>/<name>", whatever the name of the tracking
 * ref. The findings are added to the counts in `check`. Only commits that are reachable from `tip`
 * are read.
 */
int kl_check_foreign(struct kl_check *check, const char *name, const git_oid *tip);

#endif
