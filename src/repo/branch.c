/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/branch.h"

#include <string.h>

#include "repo/internal.h"

int kl_branch_current(char **out, struct kl_repo *repo)
{
	KL_AUTO(git_reference_freep) git_reference *head = NULL;
	int err;

	if (repo->bare || !repo->worktree)
		return kl_error(KL_EINVALID, "there is no worktree here to take an edit from");
	if ((err = git_reference_lookup(&head, repo->git, "HEAD")) < 0)
		return kl_error_git(err, "cannot read HEAD");
	if (git_reference_type(head) != GIT_REFERENCE_SYMBOLIC)
		return kl_error_hint(kl_error(KL_EINVALID,
					      "HEAD is detached: no branch is checked out"),
				     "'git switch -c <branch>' makes a branch here and keeps your "
				     "edit");
	*out = kl_strdup(git_reference_symbolic_target(head));
	return 0;
}

int kl_branch_idle(struct kl_repo *repo)
{
	static const struct {
		int state;
		const char *what, *end;
	} row[] = {
		{ GIT_REPOSITORY_STATE_MERGE, "a merge", "git merge --continue" },
		{ GIT_REPOSITORY_STATE_REVERT, "a revert", "git revert --continue" },
		{ GIT_REPOSITORY_STATE_REVERT_SEQUENCE, "a revert", "git revert --continue" },
		{ GIT_REPOSITORY_STATE_CHERRYPICK, "a cherry-pick", "git cherry-pick --continue" },
		{ GIT_REPOSITORY_STATE_CHERRYPICK_SEQUENCE, "a cherry-pick",
		  "git cherry-pick --continue" },
		{ GIT_REPOSITORY_STATE_BISECT, "a bisection", "git bisect reset" },
		{ GIT_REPOSITORY_STATE_APPLY_MAILBOX, "git am", "git am --continue" },
	};
	int state = git_repository_state(repo->git), err;

	if (state == GIT_REPOSITORY_STATE_NONE)
		return 0;
	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++)
		if (row[i].state == state) {
			err = kl_error(KL_EBUSY, "%s is in progress in this worktree", row[i].what);
			return kl_error_hint(err, "end it first, with '%s' or '--abort'",
					     row[i].end);
		}
	return kl_error_hint(kl_error(KL_EBUSY, "a rebase is in progress in this worktree"),
			     "end it first, with 'git rebase --continue' or '--abort'");
}

int kl_branch_changes(struct kl_strvec *out, struct kl_repo *repo)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("-c", "core.quotePath=false", "status", "--porcelain=v1", "-z",
				"--untracked-files=no", "--no-renames"),
		.here = true,
		.out = &text,
	};
	int err = kl_git_do(repo, &call);

	/* each entry is two letters, a space and the path, ended by NUL */
	for (size_t at = 0; !err && at + 3 < text.len; at += strlen(text.ptr + at) + 1)
		kl_strvec_push(out, text.ptr + at + 3);
	kl_strvec_uniq(out);
	return err;
}

int kl_branch_stage(struct kl_repo *repo, const git_oid *tree, const struct kl_strvec *paths)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("update-index", "--add", "-z", "--index-info"),
		.here = true,
		.finish = true,
		.err = &complaint,
	};
	int status, err;

	for (size_t i = 0; i < paths->n; i++) {
		char hex[KL_OID_HEX];
		git_oid blob;
		uint32_t mode;

		if ((err = kl_repo_tree_entry(&blob, &mode, repo, tree, paths->v[i])) < 0)
			return err;
		kl_oid_hex(hex, &blob);
		kl_buf_addf(&list, "%o %s\t%s", mode, hex, paths->v[i]);
		kl_buf_add(&list, "", 1);
	}
	call.in = list.ptr;
	call.in_len = list.len;
	err = list.len ? kl_git_run(&status, repo, &call) : 0;
	if (err < 0 || !list.len || !status)
		return err;
	return kl_error(KL_EINVALID, "cannot update the index: %s", kl_git_complaint(&complaint));
}
