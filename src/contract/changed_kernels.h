/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_CHANGED_KERNELS_H
#define KL_CONTRACT_CHANGED_KERNELS_H

#include "contract/surface.h"

/*
 * changed_kernels - lists the kernels whose surface or contract differs between two trees.
 *
 * A contract with `paths: repository` can name any file. So unless the trees are the same, the
 * names of all files of both trees are listed, each contract is parsed, and the files of its oracle
 * are read. The sources of a contract are read only if it lies in a directory above a changed path,
 * changed itself, or names a changed path.
 */
struct kl_changed_one {
	char *place;            /* place of the contract (contract.h) */
	char *workload;         /* the contract's workload; `place` if neither can be read */
	struct kl_surface *now; /* the kernel in `to`; NULL if it was removed or cannot be read */
	/**
	 * The kernel in `from`; NULL if it is absent there, cannot be read, or has another
	 * contract.
	 */
	struct kl_surface *before;
	char *why; /* why the kernel cannot be read in `to`; NULL if it was read or removed */
};

struct kl_changed {
	struct kl_changed_one *one; /* sorted by place */
	size_t n, alloc;
};

/**
 * Find the kernels that differ between `from` (NULL for the empty tree) and `to`. A kernel that
 * cannot be read in `to` is an entry with `why`, not an error; it is left out if `from` has the
 * same defect.
 */
int kl_changed(struct kl_changed *out, struct kl_repo *repo, const git_oid *from,
	       const git_oid *to);
void kl_changed_release(struct kl_changed *changed);

#endif
