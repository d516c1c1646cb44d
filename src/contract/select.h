/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_SELECT_H
#define KL_CONTRACT_SELECT_H

#include "contract/surface.h"

/*
 * select - finds the kernel sources that the user means, in a commit, in the index or in the
 * worktree. It chooses the contract of the workload that the user named. If the user named none, it
 * chooses the only contract in the current directory or in the nearest directory above that has a
 * contract. If no such directory has one, it chooses the only contract.
 */
enum kl_state_kind { KL_STATE_REV, KL_STATE_STAGED, KL_STATE_WORKTREE };

struct kl_selection {
	struct kl_surface *candidate; /* owned */
	/**
	 * Owned; the surface in the first parent or, for the index and the worktree, in HEAD. NULL
	 * if the surface there is absent, cannot be read, is the same, or has another contract.
	 */
	struct kl_surface *parent;
	git_oid commit, tree; /* zero unless KL_STATE_REV; `tree` is also set for KL_STATE_STAGED */
	enum kl_state_kind kind;
};

/**
 * Find the candidate and its parent. If `rev` is NULL, use HEAD. Return KL_ECANNOT if there is no
 * such contract (the gate then exits with 125). Return KL_EUSAGE if there are several contracts and
 * `workload` is NULL; the hint lists their workloads. Return KL_EINVALID if several contracts have
 * this workload, or the contract is invalid.
 */
int kl_select(struct kl_selection *out, struct kl_repo *repo, enum kl_state_kind kind,
	      const char *rev, const char *workload);
void kl_selection_release(struct kl_selection *selection);

/**
 * Append the places of the contracts in the current directory of the worktree and in those above
 * it, whether git tracks them or not.
 */
int kl_select_here(struct kl_strvec *places, struct kl_repo *repo);

/**
 * Find the contract's place (contract.h) in a tree. Errors are those of kl_select(). The caller
 * frees it.
 */
int kl_select_place(char **out, struct kl_repo *repo, const git_oid *tree, const char *workload);

#endif
