/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_SURFACE_H
#define KL_CONTRACT_SURFACE_H

#include <stdint.h>

#include "contract/contract.h"
#include "repo/repo.h"
#include "text/digest.h"

/*
 * surface - holds in memory the kernel sources that are judged. It also has the contract and the
 * oracle's files. All files are read from a tree of git or from a directory.
 *
 * There are two digests (docs/formats.md): `digest` of the sources, and `contract_digest` of
 * klineage.yaml, the oracle's files and the adapters. Each covers the mode, the path relative to
 * `dir`, the length and the bytes of every file, in the order of the paths; a contract of another
 * name counts as klineage.yaml in `dir`. Reading a surface fails with KL_EINVALID for a symlink, a
 * path that leaves the directory, a source or oracle file above 4 MiB, a contract above 256 KiB, an
 * adapter above 64 KiB, and sources, or oracle files, that together exceed 16 MiB.
 */
struct kl_file {
	char *path; /* relative to kl_surface.dir */
	uint32_t mode;
	char *data;
	size_t len;
};

struct kl_surface {
	struct kl_contract *contract;
	char *place; /* where the contract is (contract.h) */
	/*
	 * the directory that paths are relative to: the contract's directory in the repository (""
	 * or "a/b"), or "" if the contract's paths begin at the top
	 */
	char *dir;
	struct kl_file *file; /* sources, sorted by path */
	size_t nfile;
	struct kl_file *oracle; /* the oracle's files and the contract's adapters, sorted */
	size_t noracle;
	struct kl_file contract_file;
	char digest[KL_DIGEST_HEX];
	char contract_digest[KL_DIGEST_HEX];
};

/**
 * Read the surface of the contract at `place` in a tree. Return KL_ENOTFOUND if there is no
 * contract.
 */
int kl_surface_from_tree(struct kl_surface **out, struct kl_repo *repo, const git_oid *tree,
			 const char *place);
/**
 * Like kl_surface_from_tree(), but without reading sources: every source is empty, even one that
 * the tree lacks.
 */
int kl_surface_bare(struct kl_surface **out, struct kl_repo *repo, const git_oid *tree,
		    const char *place);
/**
 * Read the surface of the contract at `place` below the directory `path` (a worktree). Errors are
 * those of kl_surface_from_tree().
 */
int kl_surface_from_dir(struct kl_surface **out, const char *path, const char *place);
/**
 * Like kl_surface_from_dir(), but with the languages in `known`, which copies of the surface also
 * use.
 */
int kl_surface_from_dir_in(struct kl_surface **out, const struct kl_languages *known,
			   const char *path, const char *place);
/**
 * Make a copy with some sources replaced; an edit with mode 0 keeps the file's mode. Return
 * KL_EINVALID if a path is not one of the sources, or a file is too large.
 */
int kl_surface_with(struct kl_surface **out, const struct kl_surface *surface,
		    const struct kl_file *edit, size_t n);
/**
 * Make a copy with another text of the contract. Return KL_EINVALID if the text is not a valid
 * contract. Return KL_ENOTFOUND if the contract names a file that the surface does not have.
 */
int kl_surface_with_contract(struct kl_surface **out, const struct kl_surface *surface,
			     const char *text, size_t len);
/**
 * Make a copy with some of the oracle's files replaced. Return KL_EINVALID if a path is not one of
 * the oracle's files, or a file is too large.
 */
int kl_surface_with_oracle(struct kl_surface **out, const struct kl_surface *surface,
			   const struct kl_file *edit, size_t n);
/** Return true if two files have the same bytes and the same mode. */
bool kl_file_is_same(const struct kl_file *left, const struct kl_file *right);
/** Return true if the file is one of the contract's adapters. */
bool kl_surface_is_adapter(const struct kl_surface *surface, const char *path);
/**
 * Return the i-th adapter of the contract, an element of surface->oracle; NULL if there are fewer
 * adapters.
 */
const struct kl_file *kl_surface_adapter(const struct kl_surface *surface, size_t i);
void kl_surface_free(struct kl_surface *surface);
KL_DEFINE_CLEANUP(struct kl_surface *, kl_surface_free)

/**
 * List the paths of the sources, of the oracle's files and of adapters from the repository's top,
 * unsorted.
 */
void kl_surface_paths(struct kl_strvec *paths, const struct kl_surface *surface);
/** List the places of the contracts in a tree, unsorted. */
int kl_surface_places(struct kl_strvec *places, struct kl_repo *repo, const git_oid *tree);
/**
 * List the places of the contracts in a tree, sorted. `workloads` has the workload of each at the
 * same index: "" for a contract that does not parse.
 */
int kl_surface_find(struct kl_strvec *places, struct kl_strvec *workloads, struct kl_repo *repo,
		    const git_oid *tree);

#endif
