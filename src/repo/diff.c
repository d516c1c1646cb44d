/* SPDX-License-Identifier: Apache-2.0 */
/* diff - compares trees, and applies patches to a tree */
#include "repo/internal.h"

#include <string.h>

#include "base/fs.h"

/*
 * Compare two trees. If `from` is NULL, compare with the empty tree. Return an error code of
 * libgit2.
 */
static int compare_trees(git_diff **out, struct kl_repo *repo, const git_oid *from,
			 const git_oid *to, const git_diff_options *options)
{
	KL_AUTO(git_tree_freep) git_tree *old_tree = NULL, *new_tree = NULL;
	int err = from ? git_tree_lookup(&old_tree, repo->git, from) : 0;

	if (!err)
		err = git_tree_lookup(&new_tree, repo->git, to);
	return err ? err : git_diff_tree_to_tree(out, repo->git, old_tree, new_tree, options);
}

int kl_repo_diff(struct kl_buf *out, struct kl_repo *repo, const git_oid *from, const git_oid *to,
		 const char *path)
{
	KL_AUTO(git_diff_freep) git_diff *diff = NULL;
	git_diff_options options;
	git_buf text = { 0 };
	char *spec = (char *)path;
	int err;

	git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
	/* set all options that the user's diff.* settings could change */
	options.flags = GIT_DIFF_SHOW_BINARY | GIT_DIFF_INDENT_HEURISTIC |
			GIT_DIFF_DISABLE_PATHSPEC_MATCH;
	options.old_prefix = "a";
	options.new_prefix = "b";
	if (path && *path)
		options.pathspec = (git_strarray){ .strings = &spec, .count = 1 };
	err = compare_trees(&diff, repo, from, to, &options);
	if (!err)
		err = git_diff_to_buf(&text, diff, GIT_DIFF_FORMAT_PATCH);
	if (err < 0)
		return kl_error_git(err, "cannot compare two trees");
	kl_buf_add(out, text.ptr, text.size);
	git_buf_dispose(&text);
	return 0;
}

int kl_repo_diff_paths(struct kl_strvec *out, struct kl_repo *repo, const git_oid *from,
		       const git_oid *to)
{
	KL_AUTO(git_diff_freep) git_diff *diff = NULL;
	git_diff_options options;
	int err;

	git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
	options.flags = GIT_DIFF_INCLUDE_TYPECHANGE;
	err = compare_trees(&diff, repo, from, to, &options);
	if (err < 0)
		return kl_error_git(err, "cannot compare two trees");
	for (size_t i = 0; i < git_diff_num_deltas(diff); i++)
		kl_strvec_push(out, git_diff_get_delta(diff, i)->new_file.path);
	kl_strvec_uniq(out);
	return 0;
}

/* Return the path from which `path` was renamed, borrowed; NULL if the diff has no such rename. */
static const char *find_renamed(const git_diff *diff, const char *path)
{
	for (size_t i = 0; i < git_diff_num_deltas(diff); i++) {
		const git_diff_delta *delta = git_diff_get_delta(diff, i);

		if (delta->status == GIT_DELTA_RENAMED && !strcmp(delta->new_file.path, path))
			return delta->old_file.path;
	}
	return NULL;
}

int kl_repo_former_path(char **out, struct kl_repo *repo, const git_oid *from, const git_oid *to,
			const char *path)
{
	KL_AUTO(git_diff_freep) git_diff *diff = NULL;
	git_diff_options options;
	git_diff_find_options similar;
	const char *former;
	int err;

	*out = NULL;
	git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
	git_diff_find_options_init(&similar, GIT_DIFF_FIND_OPTIONS_VERSION);
	similar.flags = GIT_DIFF_FIND_RENAMES;
	err = compare_trees(&diff, repo, from, to, &options);
	if (!err)
		err = git_diff_find_similar(diff, &similar);
	if (err < 0)
		return kl_error_git(err, "cannot compare two trees");
	former = find_renamed(diff, path);
	*out = former ? kl_strdup(former) : NULL;
	return 0;
}

/* --- applying a patch by git apply to a temporary index ------------------ */

struct scratch {
	struct kl_repo *r;
	const char *const *env;
};

static int on_index(const struct scratch *scratch, const char *const *args, struct kl_buf *out)
{
	struct kl_git_call call = { .args = args, .setenv = scratch->env, .out = out };

	return kl_git_do(scratch->r, &call);
}

static int apply_patch(const struct scratch *scratch, const char *prefix, const char *patch,
		       size_t len)
{
	size_t n = strlen(prefix);
	KL_AUTO(kl_freep) char *dir = kl_asprintf(
		"--directory=%.*s", (int)(n && prefix[n - 1] == '/' ? n - 1 : n), prefix);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("-c", "apply.ignoreWhitespace=no", "apply", "--cached",
				"--whitespace=nowarn", n ? dir : "-p1"),
		.setenv = scratch->env,
		.in = patch,
		.in_len = len,
		.err = &text,
	};
	int status, err = kl_git_run(&status, scratch->r, &call);

	if (err < 0 || !status)
		return err;
	if (status == 1)
		return kl_error(KL_ENO, "the patch does not apply: %s", kl_git_complaint(&text));
	return kl_error(KL_EINVALID, "not a patch: %s", kl_git_complaint(&text));
}

int kl_repo_apply(git_oid *out, struct kl_repo *repo, const git_oid *tree, const char *prefix,
		  const char *patch, size_t len)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_freep) char *index = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *env[] = { NULL, NULL };
	struct scratch scratch = { .r = repo, .env = env };
	char hex[KL_OID_HEX];
	int err = kl_fs_tempdir(&dir, "klineage-apply");

	if (err < 0)
		return err;
	index = kl_asprintf("GIT_INDEX_FILE=%s/index", dir);
	env[0] = index;
	kl_oid_hex(hex, tree);
	if ((err = on_index(&scratch, KL_ARGS("read-tree", hex), NULL)) < 0 ||
	    (err = apply_patch(&scratch, prefix, patch, len)) < 0 ||
	    (err = on_index(&scratch, KL_ARGS("write-tree"), &text)) < 0)
		return err;
	kl_buf_rtrim(&text);
	return kl_oid_parse(out, text.ptr);
}
