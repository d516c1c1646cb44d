/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_MATERIALIZE_ROOT_H
#define KL_CMD_MATERIALIZE_ROOT_H

#include "contract/surface.h"

/*
 * materialize_root - where a run of `materialize` begins: `--root`, or where it began that is to go
 * on.
 *
 *	struct kl_materialize_root root = { .workload = argv[0], .root = "best", ... };
 *	kl_materialize_root_find(&root, repo);
 *	... root.state, root.commit ...
 *	kl_materialize_root_release(&root);
 */
struct kl_materialize_root {
	/* what is asked for; borrowed */
	const char *workload; /* NULL: the one that the user stands in, or the only one */
	const char *root;     /* a revision, "worktree", "best", "baseline"; NULL: HEAD */
	const char *called;   /* the run's name, or NULL */
	bool again;           /* where a run began */
	bool dry;             /* of the worktree no commit is made */
	/* what is found */
	struct kl_surface *state;
	git_oid commit; /* which has it; in a dry run from the worktree: HEAD */
	bool go_on;     /* it is the tip of the run's branch */
	char *name;     /* of the run, where it is begun; or NULL */
};

/** KL_ENOTFOUND: there is no such run; else as kl_select and kl_reference_make. */
int kl_materialize_root_find(struct kl_materialize_root *root, struct kl_repo *repo);
/** To an error of a root that is not there, or is no kernel: what else can be begun with. */
int kl_materialize_root_hint(int err);
void kl_materialize_root_release(struct kl_materialize_root *root);

#endif
