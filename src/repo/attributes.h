/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_ATTRIBUTES_H
#define KL_REPO_ATTRIBUTES_H

#include "repo/repo.h"

/*
 * attributes - gets the gitattributes(5) of paths. Attributes come from the .gitattributes files of
 * a tree, the index or the worktree. In each case they also come from info/attributes and from the
 * attribute files of the user and the system. git itself evaluates these files.
 */
enum kl_attributes_of { KL_ATTRIBUTES_TREE, KL_ATTRIBUTES_INDEX, KL_ATTRIBUTES_WORKTREE };

struct kl_attributes_query {
	enum kl_attributes_of of;
	const git_oid *tree; /* the tree, with KL_ATTRIBUTES_TREE; otherwise unused */
	const char *const *path;
	size_t npath;
	const char *const *name;
	size_t nname;
};

/**
 * Append the value of each attribute of each path, path by path: "set", "unset", "unspecified" or
 * the value that an attribute file gives. For a tree, git is started only if there is an attribute
 * file in or outside the tree; otherwise all values are "unspecified".
 */
int kl_attributes_get(struct kl_strvec *out, struct kl_repo *repo,
		      const struct kl_attributes_query *query);

#endif
