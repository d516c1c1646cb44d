/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_BLAME_H
#define KL_REPO_BLAME_H

#include "repo/repo.h"

/*
 * blame - the commit that brought each line of a file. It is one of a branch's first parents, as
 * `git blame` knows it.
 */
struct kl_blame {
	git_oid *line; /* one a line; zero: of none of these commits */
	size_t n, alloc;
};

/**
 * The file `path` at `tip`, or, with `text`, that text in its place: lines that `tip` has not are
 * of no commit. No ref, index or worktree changes. KL_ENOTFOUND: no such file there. KL_EINVALID:
 * it is binary.
 */
int kl_repo_blame(struct kl_blame *out, struct kl_repo *repo, const git_oid *tip, const char *path,
		  const struct kl_buf *text);
void kl_blame_release(struct kl_blame *blame);

#endif
