/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/attributes.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "repo/internal.h"

#define FILE_NAME ".gitattributes"
#define MAX_OUTPUT_PARTS 3 /* for each value, git check-attr prints path, attribute and value */

/* --- finding attribute files ----------------------------------------------------------------- */

/*
 * Return true if an attribute file exists that is not tracked: info/attributes, a file of the user
 * or a file of the system.
 */
static bool has_outer_files(struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *info = kl_fs_join(kl_repo_common_dir(repo), "info/attributes");
	KL_AUTO(kl_freep) char *user = NULL;
	const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");

	if (kl_repo_config(repo, "core.attributesfile") || kl_fs_exists(info))
		return true;
	if (!getenv("GIT_ATTR_NOSYSTEM") && kl_fs_exists("/etc/gitattributes"))
		return true;
	if (xdg && *xdg)
		user = kl_fs_join(xdg, "git/attributes");
	else if (home)
		user = kl_fs_join(home, ".config/git/attributes");
	return user && kl_fs_exists(user);
}

/*
 * List the paths of all attribute files that can apply to the paths of the query: ".gitattributes",
 * and "<dir>/.gitattributes" for each directory above a path. The list has no duplicates.
 */
static void list_files(struct kl_strvec *out, const struct kl_attributes_query *query)
{
	kl_strvec_push(out, FILE_NAME);
	for (size_t i = 0; i < query->npath; i++)
		for (const char *at = query->path[i]; (at = strchr(at, '/')); at++)
			kl_strvec_pushf(out, "%.*s/" FILE_NAME, (int)(at - query->path[i]),
					query->path[i]);
	kl_strvec_uniq(out);
}

static void say_unspecified(struct kl_strvec *out, const struct kl_attributes_query *query)
{
	for (size_t i = 0; i < query->npath * query->nname; i++)
		kl_strvec_push(out, "unspecified");
}

/* --- running git check-attr ------------------------------------------------------------- */

/* Parse "<path> NUL <attribute> NUL <value> NUL" for each value, in the order of the query. */
static int parse_values(struct kl_strvec *out, const struct kl_buf *text,
			const struct kl_attributes_query *query)
{
	const char *at = text->ptr, *end = text->ptr + text->len;
	size_t n = 0;

	for (; at < end; n++) {
		const char *value = at;

		for (int part = 0; part < MAX_OUTPUT_PARTS && at < end; part++) {
			const char *stop = memchr(at, 0, (size_t)(end - at));

			value = at;
			at = stop ? stop + 1 : end;
		}
		kl_strvec_push(out, value);
	}
	return n == query->npath * query->nname ?
		       0 :
		       kl_error(KL_EIO, "git check-attr printed %zu values instead of %zu", n,
				query->npath * query->nname);
}

/*
 * Run git check-attr. With KL_ATTRIBUTES_WORKTREE git reads attribute files from the worktree,
 * otherwise from the index file `index`.
 */
static int ask_git(struct kl_strvec *out, struct kl_repo *repo,
		   const struct kl_attributes_query *query, const char *index)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT, env = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf in = KL_BUF_INIT, text = KL_BUF_INIT;
	struct kl_git_call call = { .out = &text };
	int err;

	kl_strvec_push(&args, "check-attr");
	kl_strvec_push(&args, "-z");
	kl_strvec_push(&args, "--stdin");
	if (query->of != KL_ATTRIBUTES_WORKTREE)
		kl_strvec_push(&args, "--cached");
	for (size_t i = 0; i < query->nname; i++)
		kl_strvec_push(&args, query->name[i]);
	for (size_t i = 0; i < query->npath; i++)
		kl_buf_add(&in, query->path[i], strlen(query->path[i]) + 1);
	kl_strvec_pushf(&env, "GIT_INDEX_FILE=%s", index);
	if (query->of == KL_ATTRIBUTES_WORKTREE)
		kl_strvec_pushf(&env, "GIT_WORK_TREE=%s", kl_repo_worktree(repo));
	call.args = (const char *const *)args.v;
	call.setenv = (const char *const *)env.v;
	call.in = in.ptr;
	call.in_len = in.len;
	err = kl_git_do(repo, &call);
	return err ? err : parse_values(out, &text, query);
}

/*
 * Append each of `files` that exists in the tree, in the input format of `git update-index
 * --index-info`.
 */
static int list_entries(struct kl_buf *out, struct kl_repo *repo, const git_oid *tree,
			const struct kl_strvec *files)
{
	for (size_t i = 0; i < files->n; i++) {
		char hex[KL_OID_HEX];
		git_oid oid;
		uint32_t mode;
		int err = kl_repo_tree_entry(&oid, &mode, repo, tree, files->v[i]);

		if (err < 0 && err != KL_ENOTFOUND)
			return err;
		kl_error_clear();
		if (err < 0 || mode == 0120000)
			continue; /* git does not follow symlinks to attribute files */
		kl_oid_hex(hex, &oid);
		kl_buf_addf(out, "100644 %s\t%s", hex, files->v[i]);
		kl_buf_addch(out, '\0');
	}
	return 0;
}

/*
 * Ask git for the attributes in a tree. Since git can read attribute files from an index but not
 * from a tree, make an index that contains only these files.
 */
static int ask_about_tree(struct kl_strvec *out, struct kl_repo *repo,
			  const struct kl_attributes_query *query, const struct kl_buf *entries)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_freep) char *index = NULL;
	KL_AUTO(kl_freep) char *variable = NULL;
	int err = kl_fs_tempdir(&dir, "klineage-attributes");

	if (err < 0)
		return err;
	index = kl_fs_join(dir, "index");
	variable = kl_asprintf("GIT_INDEX_FILE=%s", index);
	const struct kl_git_call call = {
		.args = KL_ARGS("update-index", "-z", "--index-info"),
		.setenv = (const char *const[]){ variable, NULL },
		.in = entries->ptr,
		.in_len = entries->len,
	};
	err = kl_git_do(repo, &call);
	return err ? err : ask_git(out, repo, query, index);
}

int kl_attributes_get(struct kl_strvec *out, struct kl_repo *repo,
		      const struct kl_attributes_query *query)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec files = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf entries = KL_BUF_INIT;
	int err = 0;

	list_files(&files, query);
	if (query->of != KL_ATTRIBUTES_TREE)
		return ask_git(out, repo, query, repo->index);
	if ((err = list_entries(&entries, repo, query->tree, &files)) < 0)
		return err;
	if (entries.len || has_outer_files(repo))
		return ask_about_tree(out, repo, query, &entries);
	say_unspecified(out, query);
	return 0;
}
