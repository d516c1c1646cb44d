/* SPDX-License-Identifier: Apache-2.0 */
/* tree - lists trees and writes edited trees */
#include "repo/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"

/*
 * A path of 4096 bytes cannot have more components. A limit is needed because trees can come from
 * an untrusted repository.
 */
#define MAX_DEPTH 2048

static int lookup_tree(git_tree **out, struct kl_repo *repo, const git_oid *oid)
{
	int err = git_tree_lookup(out, repo->git, oid);

	return err < 0 ? kl_error_git(err, "cannot read tree %s", git_oid_tostr_s(oid)) : 0;
}

static int by_path(git_tree_entry **out, struct kl_repo *repo, const git_oid *tree_oid,
		   const char *path)
{
	KL_AUTO(git_tree_freep) git_tree *tree = NULL;
	int err = lookup_tree(&tree, repo, tree_oid);

	if (err < 0)
		return err;
	err = git_tree_entry_bypath(out, tree, path);
	return err < 0 ? kl_error(KL_ENOTFOUND, "no '%s' in the tree", path) : 0;
}

int kl_repo_tree_entry(git_oid *oid, uint32_t *mode, struct kl_repo *repo, const git_oid *tree,
		       const char *path)
{
	KL_AUTO(git_tree_entry_freep) git_tree_entry *entry = NULL;
	int err = by_path(&entry, repo, tree, path);

	if (err < 0)
		return err;
	git_oid_cpy(oid, git_tree_entry_id(entry));
	if (mode)
		*mode = git_tree_entry_filemode(entry);
	return 0;
}

int kl_repo_subtree(git_oid *out, struct kl_repo *repo, const git_oid *tree, const char *path)
{
	KL_AUTO(git_tree_entry_freep) git_tree_entry *entry = NULL;
	int err;

	if (!*path) {
		git_oid_cpy(out, tree);
		return 0;
	}
	if ((err = by_path(&entry, repo, tree, path)) < 0)
		return err;
	if (git_tree_entry_type(entry) != GIT_OBJECT_TREE)
		return kl_error(KL_ENOTFOUND, "'%s' is not a directory in the tree", path);
	git_oid_cpy(out, git_tree_entry_id(entry));
	return 0;
}

void kl_blobs_release(struct kl_blobs *blobs)
{
	for (size_t i = 0; i < blobs->n; i++)
		free(blobs->b[i].path);
	free(blobs->b);
	*blobs = (struct kl_blobs){ 0 };
}

struct listing {
	struct kl_blobs *out;
	struct kl_repo *r;
	size_t max;
};

static int list_tree(struct listing *listing, const git_oid *oid, const char *prefix, int depth)
{
	KL_AUTO(git_tree_freep) git_tree *tree = NULL;
	int err = lookup_tree(&tree, listing->r, oid);

	if (!err && depth > MAX_DEPTH)
		err = kl_error(KL_EINVALID, "the tree has directories nested deeper than %d levels",
			       MAX_DEPTH);
	for (size_t i = 0; !err && i < git_tree_entrycount(tree); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
		KL_AUTO(kl_freep) char *path = kl_asprintf("%s%s", prefix,
							   git_tree_entry_name(entry));

		if (strlen(path) > 4096)
			return kl_error(KL_EINVALID, "path '%.40s...' is longer than 4096 bytes",
					path);
		if (git_tree_entry_type(entry) == GIT_OBJECT_TREE) {
			KL_AUTO(kl_freep) char *below = kl_asprintf("%s/", path);

			err = list_tree(listing, git_tree_entry_id(entry), below, depth + 1);
		} else if (git_tree_entry_type(entry) == GIT_OBJECT_BLOB) {
			if (listing->out->n == listing->max)
				return kl_error(KL_EINVALID, "the tree has more than %zu files",
						listing->max);
			KL_GROW(listing->out->b, listing->out->n + 1, listing->out->alloc);
			listing->out->b[listing->out->n++] = (struct kl_blob){
				.mode = git_tree_entry_filemode(entry),
				.path = kl_steal(&path),
				.oid = *git_tree_entry_id(entry),
			};
		}
	}
	return err;
}

static int check_plain(struct kl_repo *repo, const git_oid *tree_oid, const char *prefix, int depth)
{
	KL_AUTO(git_tree_freep) git_tree *tree = NULL;
	int err = git_tree_lookup(&tree, repo->git, tree_oid);

	if (err < 0)
		return kl_error_git(err, "cannot read tree %s", git_oid_tostr_s(tree_oid));
	if (depth > MAX_DEPTH)
		return kl_error(KL_EINVALID, "the tree is nested more than %d levels deep",
				MAX_DEPTH);
	for (size_t i = 0; !err && i < git_tree_entrycount(tree); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
		KL_AUTO(kl_freep) char *path = kl_asprintf("%s%s", prefix,
							   git_tree_entry_name(entry));
		KL_AUTO(kl_freep) char *below = kl_asprintf("%s/", path);
		git_filemode_t mode = git_tree_entry_filemode(entry);

		if (mode == GIT_FILEMODE_TREE)
			err = check_plain(repo, git_tree_entry_id(entry), below, depth + 1);
		else if (mode != GIT_FILEMODE_BLOB && mode != GIT_FILEMODE_BLOB_EXECUTABLE)
			err = kl_error(KL_EINVALID, "'%s' is not a regular file", path);
	}
	return err;
}

int kl_repo_tree_check_plain(struct kl_repo *repo, const git_oid *tree)
{
	return check_plain(repo, tree, "", 0);
}

static int by_name(const void *left, const void *right)
{
	const struct kl_blob *x = left, *y = right;

	return strcmp(x->path, y->path);
}

int kl_repo_tree_list(struct kl_blobs *out, struct kl_repo *repo, const git_oid *tree, size_t max)
{
	struct kl_blobs found = { 0 };
	struct listing listing = { .out = &found, .r = repo, .max = max };
	int err = list_tree(&listing, tree, "", 0);

	if (err < 0) {
		kl_blobs_release(&found);
		return err;
	}
	if (found.n)
		qsort(found.b, found.n, sizeof(*found.b), by_name);
	*out = found;
	return 0;
}

/* --- writing an edited tree --------------------------------------------- */

struct edits {
	struct kl_repo *r;
	const struct kl_tree_edit **e; /* sorted by path */
};

static int by_edit_path(const void *left, const void *right)
{
	const struct kl_tree_edit *const *x = left, *const *y = right;

	return strcmp((*x)->path, (*y)->path);
}

static int put_blob(git_treebuilder *tb, struct kl_repo *repo, const struct kl_tree_edit *edit,
		    const char *name)
{
	const git_tree_entry *old = git_treebuilder_get(tb, name);
	uint32_t mode = edit->mode;
	git_oid oid;
	int err;

	if (!edit->data) {
		err = old ? git_treebuilder_remove(tb, name) : 0;
		return err < 0 ? kl_error_git(err, "cannot remove '%s'", edit->path) : 0;
	}
	if (old && git_tree_entry_type(old) != GIT_OBJECT_BLOB)
		return kl_error(KL_EINVALID, "'%s' is a directory, not a file", edit->path);
	if (!mode)
		mode = old ? git_tree_entry_filemode(old) : 0100644;
	if (mode != 0100644 && mode != 0100755 && mode != 0120000)
		return kl_error(KL_EINVALID, "'%s' cannot have mode %o", edit->path, mode);
	if ((err = kl_repo_blob_write(&oid, repo, edit->data, edit->len)) < 0)
		return err;
	err = git_treebuilder_insert(NULL, tb, name, &oid, mode);
	return err < 0 ? kl_error_git(err, "cannot add '%s'", edit->path) : 0;
}

static int edit_level(git_oid *out, const struct edits *edits, const git_oid *base, size_t from,
		      size_t to, size_t skip);

/*
 * Apply the edits [from, to), which are all below the directory `name` of this tree.
 */
static int put_directory(git_treebuilder *tb, const struct edits *edits, const char *name,
			 size_t from, size_t to, size_t skip)
{
	const git_tree_entry *old = git_treebuilder_get(tb, name);
	git_oid base, made;
	int err;

	if (old && git_tree_entry_type(old) != GIT_OBJECT_TREE) {
		for (size_t i = from; i < to; i++)
			if (edits->e[i]->data)
				return kl_error(
					KL_EINVALID,
					"'%s' cannot be created: a part of its path is a file",
					edits->e[i]->path);
		return 0; /* all edits remove paths, none of which exists */
	}
	if (old)
		base = *git_tree_entry_id(old);
	if ((err = edit_level(&made, edits, old ? &base : NULL, from, to, skip)) < 0)
		return err;
	if (!git_oid_is_zero(&made))
		err = git_treebuilder_insert(NULL, tb, name, &made, GIT_FILEMODE_TREE);
	else if (git_treebuilder_get(tb, name))
		err = git_treebuilder_remove(tb, name);
	return err < 0 ? kl_error_git(err, "cannot write directory '%s'", name) : 0;
}

/*
 * Apply the edits [from, to) to one directory. The first `skip` bytes of their paths name that
 * directory. `*out` is zero if this is a subdirectory and it is empty afterwards.
 */
static int edit_level(git_oid *out, const struct edits *edits, const git_oid *base, size_t from,
		      size_t to, size_t skip)
{
	KL_AUTO(git_tree_freep) git_tree *tree = NULL;
	KL_AUTO(git_treebuilder_freep) git_treebuilder *tb = NULL;
	int err = base ? lookup_tree(&tree, edits->r, base) : 0;

	if (!err && (err = git_treebuilder_new(&tb, edits->r->git, tree)) < 0)
		err = kl_error_git(err, "cannot edit a tree");
	for (size_t i = from, end; !err && i < to; i = end) {
		const char *at = edits->e[i]->path + skip;
		size_t n = strcspn(at, "/");
		KL_AUTO(kl_freep) char *name = kl_strndup(at, n);

		end = i + 1;
		if (!at[n]) {
			err = put_blob(tb, edits->r, edits->e[i], name);
			continue;
		}
		while (end < to && !strncmp(edits->e[end]->path + skip, at, n + 1))
			end++;
		err = put_directory(tb, edits, name, i, end, skip + n + 1);
	}
	if (err < 0)
		return err;
	if (!git_treebuilder_entrycount(tb) && skip) {
		memset(out, 0, sizeof(*out));
		return 0;
	}
	err = git_treebuilder_write(out, tb);
	return err < 0 ? kl_error_git(err, "cannot write a tree") : 0;
}

static int check_edits(const struct kl_tree_edit *const *edits, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!kl_fs_path_ok(edits[i]->path))
			return kl_error(KL_EINVALID, "'%.100s' is not a valid path in a tree",
					edits[i]->path);
		if (i && !strcmp(edits[i - 1]->path, edits[i]->path))
			return kl_error(KL_EINVALID, "'%s' is edited twice", edits[i]->path);
	}
	return 0;
}

/* Apply only the edits that write a file (`write` true) or that remove a path (`write` false). */
static int edit_some(git_oid *out, struct kl_repo *repo, const git_oid *base, bool write,
		     const struct kl_tree_edit *const *edits, size_t n)
{
	KL_AUTO(kl_freep) const struct kl_tree_edit **some = kl_calloc(n + 1, sizeof(*some));
	struct edits chosen = { .r = repo, .e = some };
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		if ((edits[i]->data != NULL) == write)
			some[count++] = edits[i];
	if (!count && base) {
		git_oid_cpy(out, base);
		return 0;
	}
	return edit_level(out, &chosen, base, 0, count, 0);
}

int kl_repo_tree_edit(git_oid *out, struct kl_repo *repo, const git_oid *base,
		      const struct kl_tree_edit *edit, size_t n)
{
	KL_AUTO(kl_freep) const struct kl_tree_edit **sorted = kl_calloc(n + 1, sizeof(*sorted));
	git_oid removed;
	int err;

	for (size_t i = 0; i < n; i++)
		sorted[i] = edit + i;
	qsort(sorted, n, sizeof(*sorted), by_edit_path);
	/* remove paths first, because a file can take the name of a removed directory */
	if ((err = check_edits(sorted, n)) < 0 ||
	    (err = edit_some(&removed, repo, base, false, sorted, n)) < 0)
		return err;
	return edit_some(out, repo, &removed, true, sorted, n);
}
