/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_BLAME_H
#define KL_REPO_BLAME_H

#include "repo/repo.h"

/*
 * blame - finds the commit that introduced each line of a file. Follows first parents only, as `git
 * blame --first-parent` does.
 */
struct kl_blame {
	git_oid *line; /* the commit of each line; zero if the line is in no commit */
	size_t n, alloc;
};

/**
 * Blame the file `path` at `tip`. If `text` is not NULL, blame `text` as if it were the content of
 * the file; lines that `text` adds get a zero id. Does not change refs, index or worktree. Return
 * KL_ENOTFOUND if there is no such file at `tip`. Return KL_EINVALID if the blamed text is binary,
 * or the file at `tip` is too large.
 */
int kl_repo_blame(struct kl_blame *out, struct kl_repo *repo, const git_oid *tip, const char *path,
		  const struct kl_buf *text);
void kl_blame_release(struct kl_blame *blame);

#endif
