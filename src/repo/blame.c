/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/blame.h"

#include <string.h>

#include "repo/internal.h"

#define MAX_TEXT ((size_t)64 << 20)

void kl_blame_release(struct kl_blame *blame)
{
	free(blame->line);
	*blame = (struct kl_blame){ 0 };
}

/*
 * Write a commit that has `text` at `path` and that no ref points to. `git blame --contents` cannot
 * be used, because git before 2.41 accepts it only without a revision.
 */
static int commit_text(git_oid *out, struct kl_repo *repo, const git_oid *tip, const char *path,
		       const struct kl_buf *text)
{
	struct kl_tree_edit edit = { .path = path, .data = text->ptr, .len = text->len };
	struct kl_commit_spec spec = {
		.parent = tip,
		.nparent = 1,
		.message = "uncommitted text for git blame\n",
		.author = "git-klineage <klineage@klineage.invalid>",
	};
	git_oid tree;
	int err = kl_repo_tree_of(&tree, repo, tip);

	if (!err)
		err = kl_repo_tree_edit(&spec.tree, repo, &tree, &edit, 1);
	return err < 0 ? err : kl_repo_commit_write(out, repo, &spec);
}

/*
 * Parse the output of `git blame --porcelain`. For each line of the file the output has a header
 * "<id> <old line> <new line> [<lines>]", details of the commit if it appears for the first time,
 * and "\t<text>".
 */
static int parse_porcelain(struct kl_blame *out, const char *porcelain, const git_oid *outside)
{
	git_oid id = kl_oid_none;
	bool have_id = false;

	for (const char *pos = porcelain; *pos; pos += strcspn(pos, "\n"), pos += *pos == '\n') {
		if (*pos == '\t') {
			if (!have_id)
				return kl_error(KL_EIO, "unexpected output of git blame: '%.60s'",
						pos);
			KL_GROW(out->line, out->n + 1, out->alloc);
			out->line[out->n++] = outside && git_oid_equal(&id, outside) ? kl_oid_none :
										       id;
		} else if (strspn(pos, "0123456789abcdef") == GIT_OID_HEXSZ &&
			   pos[GIT_OID_HEXSZ] == ' ') {
			kl_oid_parsen(&id, pos, GIT_OID_HEXSZ);
			have_id = true;
		}
	}
	return 0;
}

int kl_repo_blame(struct kl_blame *out, struct kl_repo *repo, const git_oid *tip, const char *path,
		  const struct kl_buf *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf old = KL_BUF_INIT, porcelain = KL_BUF_INIT;
	struct kl_git_call call = { .out = &porcelain };
	git_oid tree, blob, made;
	bool outside = false;
	int err;

	if ((err = kl_repo_tree_of(&tree, repo, tip)) < 0 ||
	    (err = kl_repo_tree_entry(&blob, NULL, repo, &tree, path)) < 0 ||
	    (err = kl_repo_blob_read(&old, repo, &blob, MAX_TEXT)) < 0)
		return err;
	if (memchr(text ? text->ptr : old.ptr, '\0', text ? text->len : old.len))
		return kl_error(KL_EINVALID, "'%s' is a binary file", path);
	outside = text && (text->len != old.len || memcmp(text->ptr, old.ptr, old.len));
	if (outside && (err = commit_text(&made, repo, tip, path, text)) < 0)
		return err;
	call.args = KL_ARGS("-c", "blame.ignoreRevsFile=", "blame", "--porcelain", "--first-parent",
			    git_oid_tostr_s(outside ? &made : tip), "--", path);
	*out = (struct kl_blame){ 0 };
	err = kl_git_do(repo, &call);
	if (!err)
		err = parse_porcelain(out, porcelain.ptr, outside ? &made : NULL);
	if (err < 0)
		kl_blame_release(out);
	return err;
}
