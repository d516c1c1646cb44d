/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FSCK_CHECK_H
#define KL_FSCK_CHECK_H

#include "repo/repo.h"

/*
 * check - checks what lies under refs/.../klineage against docs/formats.md. Shape of walks,
 * lineages and rejections, their trailers, walk and lineage against each other, every gate event
 * against the files it judged, what events cite, conversations and ledgers (fsck/check_chat.h),
 * the state of an operation in progress. Reads only; git's own fsck is a precondition, not
 * repeated here.
 */
enum kl_check_severity {
	KL_CHECK_ERROR,   /* something is broken */
	KL_CHECK_WARNING, /* something is stale or missing, nothing is wrong */
};

struct kl_check {
	struct kl_repo *repo;
	/** One finding; `where` is a ref or a commit. */
	void (*report)(enum kl_check_severity s, const char *where, const char *what,
		       void *payload);
	void *payload;
	size_t errors, warnings;                                          /* counted */
	size_t lineages, walks, rejected, events, conversations, ledgers; /* looked at */
};

/** 0 once everything was looked at, whatever was found. */
int kl_check_run(struct kl_check *check);

/** Chains of a remote's may have this many steps. */
#define KL_CHECK_FOREIGN_STEPS 20000

/**
 * One lineage or rejected ref under whatever name it is tracked, before anything of it is used:
 * `name` is "lineage/<workload>/<name>" or "rejected/<workload>/<name>". Adds to the counts;
 * nothing of this repository but the commits it names is looked at.
 */
int kl_check_foreign(struct kl_check *check, const char *name, const git_oid *tip);

#endif
