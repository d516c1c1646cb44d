/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_BRANCH_H
#define KL_REPO_BRANCH_H

#include "repo/repo.h"

/*
 * branch - finds the branch that is checked out, and stages files to commit on it.
 *
 * Only for a verb that the user calls to make a commit (git klineage step).
 */

/**
 * Get the full name of the ref of the branch that is checked out; the caller frees it. Return
 * KL_EINVALID if HEAD is detached, or the repository is bare; hints say what to do.
 */
int kl_branch_current(char **out, struct kl_repo *repo);
/**
 * Check that no git operation is in progress in this worktree: no merge, rebase, cherry-pick,
 * revert, `git am` or bisection. Return KL_EBUSY if one is; a hint says how to end it.
 */
int kl_branch_idle(struct kl_repo *repo);

/**
 * List the paths, from the top, of tracked files that differ from HEAD in the index or in the
 * worktree, and of files that were added to the index; sorted.
 */
int kl_branch_changes(struct kl_strvec *out, struct kl_repo *repo);

/**
 * Put files into the user's index, as `git add` would, but with the bytes of `tree`, where each
 * path must exist. The worktree is not read. Return KL_EINVALID, with git's own message, if another
 * process holds the lock of the index, or the index cannot be written.
 */
int kl_branch_stage(struct kl_repo *repo, const git_oid *tree, const struct kl_strvec *paths);

#endif
