/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_MATERIALIZE_ROOT_H
#define KL_CMD_MATERIALIZE_ROOT_H

#include "contract/surface.h"

/*
 * materialize_root - finds the root of a run of `materialize`: the state that `--root` names, or
 * the root of the run to continue.
 *
 *	struct kl_materialize_root root = { .workload = argv[0], .root = "best", ... };
 *	kl_materialize_root_find(&root, repo);
 *	... root.state, root.commit ...
 *	kl_materialize_root_release(&root);
 */
struct kl_materialize_root {
	/* requested; borrowed */
	const char *workload; /* NULL: the current directory's workload, or the only workload */
	const char *root;     /* a revision, "worktree", "best", "baseline"; NULL: HEAD */
	const char *called;   /* name of the run; NULL: not given */
	bool again;           /* continue an existing run, from its root */
	bool dry;             /* dry run: do not commit the worktree */
	/* results */
	struct kl_surface *state; /* surface of the root; owned */
	git_oid commit;           /* commit of `state`; HEAD in a dry run from the worktree */
	bool go_on; /* `commit` is the tip of an existing run's branch, to be continued */
	char *name; /* name of the existing run; owned; NULL: a new run */
};

/**
 * Fill in the results. KL_ENOTFOUND: there is no such run. Other errors are those of kl_select()
 * and kl_reference_make().
 */
int kl_materialize_root_find(struct kl_materialize_root *root, struct kl_repo *repo);
/** Add a hint about --root=baseline to an error about a missing or unusable root; returns `err`. */
int kl_materialize_root_hint(int err);
void kl_materialize_root_release(struct kl_materialize_root *root);

#endif
