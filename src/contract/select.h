/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_SELECT_H
#define KL_CONTRACT_SELECT_H

#include "contract/surface.h"

/*
 * select - finds the kernel sources that the user means. It looks in a commit, in the index or in
 * the worktree for a contract: the one of the workload that the user named; otherwise the one in
 * the current directory or the nearest one above it; otherwise the only one.
 */
enum kl_state_kind { KL_STATE_REV, KL_STATE_STAGED, KL_STATE_WORKTREE };

struct kl_selection {
	struct kl_surface *candidate; /* owned */
	/**
	 * Owned; the surface in the first parent (of the index and the worktree: in HEAD). NULL: it
	 * is absent there, cannot be read, is the same, or has another contract.
	 */
	struct kl_surface *parent;
	git_oid commit, tree; /* zero unless KL_STATE_REV; `tree` is also set for KL_STATE_STAGED */
	enum kl_state_kind kind;
};

/**
 * Find the candidate and its parent; `rev` NULL: HEAD. KL_ECANNOT: there is no such contract (the
 * gate then exits with 125). KL_EUSAGE: there are several and `workload` is NULL; the hint lists
 * them. KL_EINVALID: several contracts have this workload, or the contract is invalid.
 */
int kl_select(struct kl_selection *out, struct kl_repo *repo, enum kl_state_kind kind,
	      const char *rev, const char *workload);
void kl_selection_release(struct kl_selection *selection);

/** Directory ("" or "a/b") of that contract in a tree, with the same errors. The caller frees. */
int kl_select_dir(char **out, struct kl_repo *repo, const git_oid *tree, const char *workload);

#endif
