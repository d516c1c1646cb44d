/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_CHECKOUT_H
#define KL_CONTRACT_CHECKOUT_H

#include "contract/select.h"

/*
 * checkout - checks that the files of a surface are the same in a commit, in a worktree and in an
 * archive. Git attributes can make their bytes differ: ident, filter, working-tree-encoding,
 * export-subst, and those that convert line ends. The gate would then judge files other than those
 * that users build, and the digest would name files that nobody has.
 */

/**
 * Check the sources, the oracle's files and the contract of a surface that was read from `tree` (of
 * a commit or the index) or from the worktree. Return KL_ECANNOT if a file has other bytes in a
 * checkout than in the commit. The message names the file and the attribute.
 */
int kl_checkout_check(struct kl_repo *repo, const struct kl_surface *surface,
		      enum kl_state_kind kind, const git_oid *tree);

#endif
