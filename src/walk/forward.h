/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_FORWARD_H
#define KL_WALK_FORWARD_H

#include "repo/notes.h"
#include "walk/opstate.h"
#include "walk/step.h"

/*
 * forward - the lineage of a finished walk: an orphan chain K_0, tau_1, K_1 ... K*
 * whose trees are the contract's directory alone. A step that was derived anew has its K_i', on
 * K_{i-1}, as the second parent of K_i; the events of its measurements go onto that.
 *
 * Everything in its commits follows from the operation's state, the author and
 * time of its end included, so that writing it twice gives the same ids, and so does an
 * import of its export elsewhere.
 */
struct kl_forward {
	git_oid tip; /* K* */
	size_t n;    /* commits: K_0 ... K_n-1 */
	git_oid *commit;
	struct kl_note_line *note; /* events of the lineage's commits */
	size_t nnote, note_alloc;
	struct kl_strvec lines; /* what the notes point to */
};

int kl_forward_build(struct kl_forward *out, const struct kl_opstate *op);
void kl_forward_release(struct kl_forward *forward);

/** The contract's directory of a full tree, without what is not a regular file. */
int kl_forward_tree(git_oid *out, struct kl_repo *repo, const git_oid *tree, const char *dir);

#endif
