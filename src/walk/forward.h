/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_FORWARD_H
#define KL_WALK_FORWARD_H

#include "repo/notes.h"
#include "walk/opstate.h"
#include "walk/step.h"

/*
 * forward - writes the lineage of a finished walk: commits K_0, K_1 ... K* without other history,
 * whose trees contain only the contract's directory. If a step was re-derived, the second parent of
 * K_i is K_i': a commit on K_{i-1}, with the events of K_i' in its note.
 *
 * The commits depend only on the stored operation, which has their author and time. So they have
 * the same ids if they are written twice, or exported and imported elsewhere.
 */
struct kl_forward {
	git_oid tip;               /* K* */
	size_t n;                  /* number of commits */
	git_oid *commit;           /* K_0 ... K*, each the first parent of the next */
	struct kl_note_line *note; /* events to be noted on the lineage's commits */
	size_t nnote, note_alloc;
	struct kl_strvec lines; /* owns the lines of the notes */
};

int kl_forward_build(struct kl_forward *out, const struct kl_opstate *op);
void kl_forward_release(struct kl_forward *forward);

/**
 * Extract the files of a lineage from a complete tree. `place` is the place of the contract
 * (contract.h). If it is a directory, all its regular files are kept. If it is a file, only the
 * files that the contract names are kept, at their paths, and the contract itself as klineage.yaml.
 */
int kl_forward_tree(git_oid *out, struct kl_repo *repo, const git_oid *tree, const char *place);

#endif
