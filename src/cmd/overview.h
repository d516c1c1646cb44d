/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_OVERVIEW_H
#define KL_CMD_OVERVIEW_H

#include "contract/surface.h"
#include "event/verdict_lookup.h"
#include "repo/repo.h"

/*
 * overview - collects what `git klineage status` shows of a clone: the kernels with what is known
 * of them in HEAD, in the index and in the worktree, and the refs that a remote lacks. Nothing is
 * compiled or run, and no remote is asked.
 *
 *	KL_AUTO(kl_overview_release) struct kl_overview all = { 0 };
 *	kl_overview_load(&all, repo);
 */
enum kl_overview_where { KL_IN_HEAD, KL_IN_INDEX, KL_IN_WORKTREE, KL_OVERVIEW_PLACES };
/** Return "HEAD", "index" or "worktree". */
const char *kl_overview_where_name(enum kl_overview_where where);

/** A kernel in HEAD, in the index or in the worktree. */
struct kl_overview_state {
	bool there;    /* there is a contract at this place */
	bool repeated; /* the surface is the same as in the previous place (HEAD, then the index) */
	char *why;     /* why the kernel cannot be read; NULL if it was read */
	/* index of the kernel's verdicts in struct kl_overview `verdicts`; -1 if it was not read */
	int64_t entry;
	struct kl_surface *surface; /* owned; NULL if it was not read */
};

struct kl_overview_kernel {
	char *place, *workload; /* `workload`: the place if the contract cannot be read */
	struct kl_overview_state at[KL_OVERVIEW_PLACES];
};

/** A remote that lacked some of our refs when we last fetched from it or pushed to it. */
struct kl_overview_remote {
	char *name;
	size_t unsent; /* number of refs */
};

struct kl_overview {
	struct kl_overview_kernel *kernel; /* sorted by place */
	size_t n, alloc;
	struct kl_verdict_lookup verdicts;
	struct kl_overview_remote *remote;
	size_t nremote, remote_alloc;
	git_oid head; /* zero if HEAD is unborn */
};

int kl_overview_load(struct kl_overview *out, struct kl_repo *repo);
void kl_overview_release(struct kl_overview *overview);

#endif
