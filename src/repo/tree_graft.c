/* SPDX-License-Identifier: Apache-2.0 */
/* tree_graft - lists one level of a tree, and writes trees of existing objects */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "repo/internal.h"
#include "repo/tree.h"

void kl_tree_entries_release(struct kl_tree_entries *entries)
{
	for (size_t i = 0; i < entries->n; i++)
		free(entries->v[i].path);
	free(entries->v);
	*entries = (struct kl_tree_entries){ 0 };
}

void kl_tree_entries_add(struct kl_tree_entries *entries, const char *path, const git_oid *oid,
			 uint32_t mode)
{
	KL_GROW(entries->v, entries->n + 1, entries->alloc);
	entries->v[entries->n++] = (struct kl_tree_entry){ kl_strdup(path), *oid, mode };
}

static int lookup_tree(git_tree **out, struct kl_repo *repo, const git_oid *oid)
{
	int err = git_tree_lookup(out, repo->git, oid);

	return err < 0 ? kl_error_git(err, "cannot read tree %s", git_oid_tostr_s(oid)) : 0;
}

int kl_repo_tree_level(struct kl_tree_entries *out, struct kl_repo *repo, const git_oid *tree_oid,
		       const char *path)
{
	KL_AUTO(git_tree_freep) git_tree *tree = NULL;
	git_oid oid;
	int err = kl_repo_subtree(&oid, repo, tree_oid, path);

	if (err == KL_ENOTFOUND && *path) {
		kl_error_clear();
		return 0;
	}
	if (err < 0 || (err = lookup_tree(&tree, repo, &oid)) < 0)
		return err;
	for (size_t i = 0; i < git_tree_entrycount(tree); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);

		kl_tree_entries_add(out, git_tree_entry_name(entry), git_tree_entry_id(entry),
				    git_tree_entry_filemode(entry));
	}
	return 0;
}

/* --- writing ------------------------------------------------------------------------ */

static int by_path(const void *left, const void *right)
{
	const struct kl_tree_entry *x = left, *y = right;

	return strcmp(x->path, y->path);
}

static int graft_level(git_oid *out, struct kl_repo *repo, const git_oid *base,
		       const struct kl_tree_entry *entry, size_t n, size_t skip);

/* Graft the entries, which are all below the directory `name` of this tree. */
static int graft_below(git_treebuilder *tb, struct kl_repo *repo, const char *name,
		       const struct kl_tree_entry *entry, size_t n, size_t skip)
{
	const git_tree_entry *old = git_treebuilder_get(tb, name);
	git_oid base, made;
	int err;

	if (old && git_tree_entry_type(old) != GIT_OBJECT_TREE)
		return kl_error(KL_EINVALID, "'%s' cannot be created: a part of its path is a file",
				entry->path);
	if (old)
		base = *git_tree_entry_id(old);
	if ((err = graft_level(&made, repo, old ? &base : NULL, entry, n, skip)) < 0)
		return err;
	err = git_treebuilder_insert(NULL, tb, name, &made, GIT_FILEMODE_TREE);
	return err < 0 ? kl_error_git(err, "cannot write directory '%s'", name) : 0;
}

/* Graft into one directory; the first `skip` bytes of the paths name that directory. */
static int graft_level(git_oid *out, struct kl_repo *repo, const git_oid *base,
		       const struct kl_tree_entry *entry, size_t n, size_t skip)
{
	KL_AUTO(git_tree_freep) git_tree *tree = NULL;
	KL_AUTO(git_treebuilder_freep) git_treebuilder *tb = NULL;
	int err = base ? lookup_tree(&tree, repo, base) : 0;

	if (!err && (err = git_treebuilder_new(&tb, repo->git, tree)) < 0)
		err = kl_error_git(err, "cannot edit a tree");
	for (size_t i = 0, end; !err && i < n; i = end) {
		const char *at = entry[i].path + skip;
		size_t len = strcspn(at, "/");
		KL_AUTO(kl_freep) char *name = kl_strndup(at, len);

		end = i + 1;
		if (!at[len]) {
			err = git_treebuilder_insert(NULL, tb, name, &entry[i].oid, entry[i].mode);
			if (err < 0)
				return kl_error(KL_EINVALID, "cannot add '%s': object %s %s",
						entry[i].path, git_oid_tostr_s(&entry[i].oid),
						"is not in this repository");
			continue;
		}
		while (end < n && !strncmp(entry[end].path + skip, at, len + 1))
			end++;
		err = graft_below(tb, repo, name, entry + i, end - i, skip + len + 1);
	}
	if (err < 0)
		return err;
	err = git_treebuilder_write(out, tb);
	return err < 0 ? kl_error_git(err, "cannot write a tree") : 0;
}

int kl_repo_tree_graft(git_oid *out, struct kl_repo *repo, const git_oid *base,
		       struct kl_tree_entries *entries)
{
	if (entries->n)
		qsort(entries->v, entries->n, sizeof(*entries->v), by_path);
	for (size_t i = 0; i < entries->n; i++)
		if (!kl_fs_path_ok(entries->v[i].path))
			return kl_error(KL_EINVALID, "'%.100s' is not a valid path in a tree",
					entries->v[i].path);
	return graft_level(out, repo, base, entries->v, entries->n, 0);
}

/* --- objects on disk ------------------------------------------------------------------ */

int kl_repo_sync_written(struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *dir = kl_fs_join(repo->common_dir, "objects");
	KL_AUTO(kl_closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || syncfs(fd) < 0 ? kl_error_errno("cannot sync '%s'", dir) : 0;
}
