/* SPDX-License-Identifier: Apache-2.0 */
/* worktree - writes the index as a tree, finds modified files, and asks what git ignores */
#include "repo/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"

#define MAX_INDEX ((size_t)1 << 30)

static int no_conflicts(struct kl_repo *repo)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("ls-files", "--unmerged", "--full-name", "-z"),
		.here = true,
		.out = &text,
	};
	const char *path;
	int err = kl_git_do(repo, &call);

	if (err < 0 || !text.len)
		return err;
	path = strchr(text.ptr, '\t');
	err = kl_error(KL_EINVALID, "'%s' has conflicts in the index", path ? path + 1 : "?");
	return kl_error_hint(err, "resolve them and 'git add' the result");
}

/*
 * Run `git write-tree` on a copy of the index, because git write-tree can refresh the index that it
 * reads, and we must not write the user's index.
 */
int kl_repo_staged_tree(git_oid *out, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *copy = NULL, *env = NULL;
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf data = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("-c", "core.splitIndex=false", "write-tree"),
		.here = true,
		.out = &text,
	};
	int err, conflict;

	if (repo->bare && (repo->isolated || !getenv("GIT_INDEX_FILE")))
		return kl_error(KL_EINVALID, "a bare repository has no index");
	if ((err = kl_fs_tempdir(&dir, "klineage-index")) < 0)
		return err;
	copy = kl_fs_join(dir, "index");
	if (kl_fs_exists(repo->index) && ((err = kl_fs_read(&data, repo->index, MAX_INDEX)) < 0 ||
					  (err = kl_fs_put(copy, data.ptr, data.len, 0600)) < 0))
		return err;
	env = kl_asprintf("GIT_INDEX_FILE=%s", copy);
	call.setenv = KL_ARGS(env);
	if ((err = kl_git_do(repo, &call)) < 0) {
		KL_AUTO(kl_freep) char *why = kl_strdup(kl_error_last());

		/*
		 * git's message names object ids; if there are conflicts, report the path of one
		 * instead
		 */
		conflict = no_conflicts(repo);
		return conflict < 0 ? conflict : kl_error(err, "%s", why);
	}
	kl_buf_rtrim(&text);
	return kl_oid_parse(out, text.ptr);
}

int kl_repo_ignores_file(bool *out, struct kl_repo *repo, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *full = repo->worktree ? kl_fs_join(repo->worktree, path) : NULL;
	struct kl_git_call call = {
		.args = KL_ARGS("ls-files", "--others", "--ignored", "--exclude-standard", "-z",
				"--", full),
		.here = true,
		.out = &text,
	};
	int err = repo->worktree ? kl_git_do(repo, &call) : 0;

	if (!err)
		*out = text.len > 0;
	return err;
}

int kl_repo_is_dirty(bool *out, struct kl_repo *repo)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("status", "--porcelain=v1", "-z", "--untracked-files=no"),
		.here = true,
		.out = &text,
	};
	int err = repo->worktree ? kl_git_do(repo, &call) : 0;

	if (!err)
		*out = text.len > 0;
	return err;
}

int kl_repo_ignores_dir(bool *out, struct kl_repo *repo, const char *dir)
{
	/*
	 * git check-ignore rejects literal pathspecs; after "./", a ":" at the start of `dir` is
	 * not read as pathspec magic. The last slash makes patterns of directories match even if
	 * the directory does not exist.
	 */
	KL_AUTO(kl_freep) char *path = kl_asprintf("./%s/", dir);
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("--no-literal-pathspecs", "check-ignore", "-q", "--", path),
		.here = true,
		.err = &complaint,
	};
	int status = 1, err = repo->worktree ? kl_git_run(&status, repo, &call) : 0;

	if (err < 0)
		return err;
	if (status > 1)
		return kl_error(KL_EIO, "git check-ignore: %s", kl_git_complaint(&complaint));
	*out = status == 0;
	return 0;
}

int kl_repo_path(char **out, const struct kl_repo *repo, const char *path)
{
	KL_AUTO(kl_freep) char *top = repo->worktree ? realpath(repo->worktree, NULL) : NULL;
	KL_AUTO(kl_freep) char *dir = top ? kl_fs_join(top, repo->prefix) : NULL;
	KL_AUTO(kl_freep) char *full = dir ? kl_fs_resolve(dir, path) : NULL;
	const char *below = full ? kl_fs_below(top, full) : NULL;

	if (!repo->worktree)
		return kl_error(KL_EINVALID, "a bare repository has no worktree for '%s'", path);
	if (!top)
		return kl_error_errno("cannot resolve '%s'", repo->worktree);
	if (!below)
		return kl_error(KL_EINVALID, "'%s' is outside of the repository", path);
	*out = kl_strdup(below);
	return 0;
}
