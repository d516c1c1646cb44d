/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_MEMORY_BRANCH_H
#define KL_SEARCH_MEMORY_BRANCH_H

#include "repo/refs.h"
#include "search/policy/memory.h"

/* memory_branch - stores a memory on a branch, one file for each entry, and reads foreign ones. */
#define KL_MEMORY_REFS "refs/heads/klineage/memory/"

/**
 * Read the memory at a revision, or at the branch of this name. Set *tip to the commit. The caller
 * frees *entries. Return KL_ENOTFOUND if there is none, and KL_EINVALID if a file is malformed.
 */
int kl_memory_load(json_t **entries, git_oid *tip, struct kl_repo *repo, const char *name);
/** Write a memory as the next commit of its branch, which is at `was`, or zero if it is new. */
int kl_memory_store(struct kl_repo *repo, const char *name, const git_oid *was,
		    const json_t *entries, const char *message);

/** A memory file of another program. */
struct kl_memory_file {
	const char *from;     /* "adaexplore" (rules) or "kernelblaster" (its knowledge base) */
	const char *language; /* the language of the kernels that the entries are about */
	const char *text;     /* ends with NUL */
	size_t len;
};

/**
 * Read the memory file of another program. Add its entries to `entries`, and count them. Return
 * KL_EINVALID if the file is malformed; then nothing is added.
 */
int kl_memory_import(size_t *count, json_t *entries, const struct kl_memory_file *file);

#endif
