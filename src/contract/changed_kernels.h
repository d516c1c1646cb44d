/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_CHANGED_KERNELS_H
#define KL_CONTRACT_CHANGED_KERNELS_H

#include "contract/surface.h"

/*
 * changed_kernels - which kernels differ between two trees: those whose surface or contract does.
 * Only directories around a changed path are looked at, so that a large tree costs what its changes
 * do.
 */
struct kl_changed_one {
	char *dir;              /* the contract's directory */
	char *workload;         /* of the contract; if none can be read the directory */
	struct kl_surface *now; /* NULL: gone, or `why` */
	/** With the same contract, so that the two compare; NULL: there was none such. */
	struct kl_surface *before;
	char *why; /* what is wrong with it as it is now; NULL: nothing */
};

struct kl_changed {
	struct kl_changed_one *one; /* sorted by directory */
	size_t n, alloc;
};

/** `from` NULL: the empty tree. A contract that cannot be read is an entry, not an error. */
int kl_changed(struct kl_changed *out, struct kl_repo *repo, const git_oid *from,
	       const git_oid *to);
void kl_changed_release(struct kl_changed *changed);

#endif
