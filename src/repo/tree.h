/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_TREE_H
#define KL_REPO_TREE_H

#include "repo/repo.h"

/*
 * tree - lists a tree entry by entry, and makes trees of objects that exist already. The functions
 * in repo.h list and write files; these also handle directories as single entries, so that a tree
 * can keep other trees alive.
 */
#define KL_MODE_FILE 0100644u
#define KL_MODE_TREE 0040000u

struct kl_tree_entry {
	char *path; /* relative to the tree */
	git_oid oid;
	uint32_t mode;
};
struct kl_tree_entries {
	struct kl_tree_entry *v;
	size_t n, alloc;
};
void kl_tree_entries_release(struct kl_tree_entries *entries);

/**
 * List the entries of one directory of a tree, in git's order; their paths are their names. A
 * `path` that is not a directory of the tree has no entries; "" for the tree itself.
 */
int kl_repo_tree_level(struct kl_tree_entries *out, struct kl_repo *repo, const git_oid *tree,
		       const char *path);

void kl_tree_entries_add(struct kl_tree_entries *entries, const char *path, const git_oid *oid,
			 uint32_t mode);
/**
 * Write a new tree: `base` (NULL for the empty tree) with these entries added or replaced. Their
 * objects must exist. Sorts `entries`. Return KL_EINVALID if an object does not exist,
 * kl_fs_path_ok() rejects a path, or a part of a path is a file.
 */
int kl_repo_tree_graft(git_oid *out, struct kl_repo *repo, const git_oid *base,
		       struct kl_tree_entries *entries);

/**
 * Wait until all objects that were written are on disk. With many objects this is much quicker than
 * kl_repo_sync_objects(), which syncs each.
 */
int kl_repo_sync_written(struct kl_repo *repo);

#endif
