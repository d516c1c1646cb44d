/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_ATTRIBUTES_H
#define KL_REPO_ATTRIBUTES_H

#include "repo/repo.h"

/*
 * attributes - what gitattributes(5) say about paths: .gitattributes in the directories of a tree,
 * of the index or of the worktree, and in each case info/attributes and the files that the
 * configuration and the system name. git itself evaluates them.
 */
enum kl_attributes_of { KL_ATTRIBUTES_TREE, KL_ATTRIBUTES_INDEX, KL_ATTRIBUTES_WORKTREE };

struct kl_attributes_query {
	enum kl_attributes_of of;
	const git_oid *tree; /* KL_ATTRIBUTES_TREE */
	const char *const *path;
	size_t npath;
	const char *const *name;
	size_t nname;
};

/**
 * Append the value of each attribute of each path, path by path: "set", "unset", "unspecified" or
 * the value that it was given. Starts no program if nothing here sets attributes.
 */
int kl_attributes_get(struct kl_strvec *out, struct kl_repo *repo,
		      const struct kl_attributes_query *query);

#endif
