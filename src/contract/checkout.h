/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_CHECKOUT_H
#define KL_CONTRACT_CHECKOUT_H

#include "contract/select.h"

/*
 * checkout - holds the files of a surface against what git makes of them in a worktree or archive.
 * Attributes can change bytes on the way: ident, filter, working-tree-encoding, export-subst, and
 * conversions of line ends. Then what is judged is not what is built, and a digest would be that of
 * files which nobody has.
 */

/**
 * Check the sources, the oracle's files and the contract of a surface, of a commit's or the index's
 * tree or of the worktree. KL_ECANNOT: a checkout of one of them has other bytes than the commit;
 * the message names the file and the attribute.
 */
int kl_checkout_check(struct kl_repo *repo, const struct kl_surface *surface,
		      enum kl_state_kind kind, const git_oid *tree);

#endif
