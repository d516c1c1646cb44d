/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_SURFACE_H
#define KL_CONTRACT_SURFACE_H

#include <stdint.h>

#include "contract/contract.h"
#include "repo/repo.h"
#include "text/digest.h"

/*
 * surface - the kernel sources that are judged, in memory: the contract's sources, the contract
 * itself and the oracle, read from a tree, or from the worktree.
 *
 * Digests (docs/formats.md): `surface` over the sources, `contract` over
 * klineage.yaml and the oracle's files; each over sorted (mode,
 * contract-relative path, length, bytes). Symlinks and paths that leave
 * the directory are KL_EINVALID. A file has at most 4 MiB, all of a surface's 16.
 */
struct kl_file {
	char *path; /* relative to the contract's directory */
	uint32_t mode;
	char *data;
	size_t len;
};

struct kl_surface {
	struct kl_contract *contract;
	char *dir;            /* contract's directory in the repository: "" or "a/b" */
	struct kl_file *file; /* sources, sorted by path */
	size_t nfile;
	struct kl_file *oracle; /* the oracle's files, sorted */
	size_t noracle;
	struct kl_file contract_file;
	char digest[KL_DIGEST_HEX];
	char contract_digest[KL_DIGEST_HEX];
};

/** From the contract at `dir`/klineage.yaml in a tree. KL_ENOTFOUND: no contract in that tree. */
int kl_surface_from_tree(struct kl_surface **out, struct kl_repo *repo, const git_oid *tree,
			 const char *dir);
/** The same with empty sources: of a contract whose kernel does not matter, or is not there. */
int kl_surface_bare(struct kl_surface **out, struct kl_repo *repo, const git_oid *tree,
		    const char *dir);
/** From files on disk (the worktree, an exported state). */
int kl_surface_from_dir(struct kl_surface **out, const char *path, const char *dir);
/** The same with other languages than kl_languages; copies of the surface have them, too. */
int kl_surface_from_dir_in(struct kl_surface **out, const struct kl_languages *known,
			   const char *path, const char *dir);
/**
 * A copy with some sources replaced (mode 0: as it was); KL_EINVALID for a path that is none of
 * them.
 */
int kl_surface_with(struct kl_surface **out, const struct kl_surface *surface,
		    const struct kl_file *edit, size_t n);
/**
 * A copy under another text of its contract, which names the same sources; KL_EINVALID as a
 * contract's.
 */
int kl_surface_with_contract(struct kl_surface **out, const struct kl_surface *surface,
			     const char *text, size_t len);
/** A copy with some of the oracle's files replaced. */
int kl_surface_with_oracle(struct kl_surface **out, const struct kl_surface *surface,
			   const struct kl_file *edit, size_t n);
void kl_surface_free(struct kl_surface *surface);
KL_DEFINE_CLEANUP(struct kl_surface *, kl_surface_free)

/**
 * Directories that hold a contract, in a tree, sorted, with the workload of
 * each at the same index: "" for a contract that does not parse.
 */
int kl_surface_find(struct kl_strvec *dirs, struct kl_strvec *workloads, struct kl_repo *repo,
		    const git_oid *tree);

#endif
