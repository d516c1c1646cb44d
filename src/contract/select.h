/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_SELECT_H
#define KL_CONTRACT_SELECT_H

#include "contract/surface.h"

/*
 * select - finds the kernel sources that the user means: a state (a revision, what is staged, the
 * worktree) and in it a contract: the one named by its workload, else the one the user stands in
 * or below, else the only one there is.
 */
enum kl_state_kind { KL_STATE_REV, KL_STATE_STAGED, KL_STATE_WORKTREE };

struct kl_selection {
	struct kl_surface *candidate; /* owned */
	/** Owned; NULL: the first parent has no such contract, another one, or the same surface. */
	struct kl_surface *parent;
	git_oid commit, tree; /* zero unless KL_STATE_REV; tree is set for staged, too */
	enum kl_state_kind kind;
};

/**
 * KL_ENOTFOUND "no contract" is KL_ECANNOT here: the gate answers 125. Several and none
 * named: KL_EUSAGE with their names.
 */
int kl_select(struct kl_selection *out, struct kl_repo *repo, enum kl_state_kind kind,
	      const char *rev, const char *workload);
void kl_selection_release(struct kl_selection *selection);

/** Directory ("" or "a/b") of the contract meant, in a tree. Caller frees. */
int kl_select_dir(char **out, struct kl_repo *repo, const git_oid *tree, const char *workload);

#endif
