/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_REPO_H
#define KL_REPO_REPO_H

#include <git2/oid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"

/*
 * repo - the user's repository, found and judged by git itself, read and
 * written through libgit2. `git_oid` is our vocabulary; every other type of
 * libgit2 stays inside src/repo.
 *
 * Config and identity come from git (`git config --list -z`, `git var`), since
 * libgit2 knows neither `git -c` nor GIT_AUTHOR_*. The index and the worktree
 * are never written, save by kl_repo_fast_forward.
 */
struct kl_repo;

/**
 * Open the repository that git would use here (GIT_DIR and friends count).
 * KL_ENOTFOUND: not a repository. KL_ECANNOT: one that libgit2 cannot read
 * (sha256, reftable, ...); the message says which and why. Bare ones open.
 */
int kl_repo_open(struct kl_repo **out);
/**
 * The same at a directory, ignoring the environment's GIT_DIR (scratch
 * repositories, tests).
 */
int kl_repo_open_at(struct kl_repo **out, const char *dir);
void kl_repo_free(struct kl_repo *repo);
KL_DEFINE_CLEANUP(struct kl_repo *, kl_repo_free)

const char *kl_repo_git_dir(const struct kl_repo *repo); /* of this worktree */
const char *kl_repo_common_dir(const struct kl_repo *repo);
/** NULL: bare, or the user stands inside the git directory. */
const char *kl_repo_worktree(const struct kl_repo *repo);
const char *kl_repo_prefix(const struct kl_repo *repo); /* "" or "dir/": where the user stands */
/**
 * "main" for the main worktree, else the name under .git/worktrees (a linked
 * one that is itself called main gets ".linked" added): leaf of refs/klineage/op/.
 */
const char *kl_repo_worktree_id(const struct kl_repo *repo);
bool kl_repo_is_bare(const struct kl_repo *repo);
/**
 * KL_ECANNOT for shallow or partial clones, saying how to complete them: for
 * the verbs that walk history.
 */
int kl_repo_need_history(struct kl_repo *repo);

/** Config value as git sees it (last one wins), or NULL; borrowed. */
const char *kl_repo_config(struct kl_repo *repo, const char *key);
int kl_repo_config_int(int64_t *out, struct kl_repo *repo, const char *key, int64_t dflt);
/** Terminal codes of a colour that the key names ("bold red"), as git would print them. */
int kl_repo_config_color(char *out, size_t n, struct kl_repo *repo, const char *key,
			 const char *dflt);
/** The pager that git would use, for sh; NULL: none. Caller frees. */
int kl_repo_pager(char **out, struct kl_repo *repo);
int kl_repo_config_bool(bool *out, struct kl_repo *repo, const char *key, bool dflt);

/** Set a value in the repository's own config file; NULL takes it out, and it may be absent. */
int kl_repo_config_set(struct kl_repo *repo, const char *key, const char *value);

/**
 * KL_EINVALID with git's own advice if no identity is set; call before long
 * work. "Name <mail>", borrowed.
 */
int kl_repo_identity(const char **out, struct kl_repo *repo);

/**
 * Until it is switched off again every object is on the disk before its name is known: for what
 * a power cut must not take, since it was paid for. Of the whole process, and slow.
 */
void kl_repo_sync_objects(bool on);

/** Version of libgit2 at run time, "1.5.1"; borrowed. */
const char *kl_repo_backend(void);

/* --- objects ---------------------------------------------------------- */

/** Peel a revision to its commit. KL_ENOTFOUND: no such revision; unborn HEAD says so. */
int kl_repo_resolve(git_oid *out, struct kl_repo *repo, const char *rev);
/** Array is the caller's. */
int kl_repo_parents(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *commit);
/** Bytes of an object, without reading it: what is short in a pack may be long out of it. */
int kl_repo_object_size(size_t *out, struct kl_repo *repo, const git_oid *oid);
int kl_repo_tree_of(git_oid *out, struct kl_repo *repo, const git_oid *commit);
/** Subtree at `path` ("" is the tree itself); KL_ENOTFOUND. */
int kl_repo_subtree(git_oid *out, struct kl_repo *repo, const git_oid *tree, const char *path);

struct kl_commit {
	git_oid oid, tree;
	git_oid *parent;
	size_t nparent;
	char *message; /* whole, raw */
	char *author;  /* "Name <mail>" */
	int64_t author_time;
	int author_offset; /* minutes */
};
int kl_repo_commit_read(struct kl_commit *out, struct kl_repo *repo, const git_oid *commit);
void kl_commit_release(struct kl_commit *commit);

struct kl_blob {
	uint32_t mode; /* 0100644, 0100755, 0120000 (symlink) */
	char *path;    /* relative to the tree it was asked of */
	git_oid oid;
};
struct kl_blobs {
	struct kl_blob *b; /* sorted by path (bytewise) */
	size_t n, alloc;
};
void kl_blobs_release(struct kl_blobs *blobs);
/** Every blob below a tree, recursively (submodules skipped); KL_EINVALID above `max`. */
int kl_repo_tree_list(struct kl_blobs *out, struct kl_repo *repo, const git_oid *tree, size_t max);
/** One entry by path; KL_ENOTFOUND. `mode` may be NULL. */
int kl_repo_tree_entry(git_oid *oid, uint32_t *mode, struct kl_repo *repo, const git_oid *tree,
		       const char *path);
int kl_repo_blob_read(struct kl_buf *out, struct kl_repo *repo, const git_oid *blob, size_t max);
int kl_repo_blob_write(git_oid *out, struct kl_repo *repo, const void *data, size_t n);

/** One change to a tree: a NULL `data` removes the path. */
struct kl_tree_edit {
	const char *path;
	const void *data;
	size_t len;
	uint32_t mode; /* 0: keep the mode there was, else 0100644 */
};
/**
 * New tree = `base` (NULL: the empty tree) with the edits; directories appear
 * and vanish as needed. Removing a directory removes all below it, removing
 * what is not there is no error. KL_EINVALID: a path that kl_fs_path_ok
 * refuses, twice the same, a file where a directory is or the other way round.
 */
int kl_repo_tree_edit(git_oid *out, struct kl_repo *repo, const git_oid *base,
		      const struct kl_tree_edit *edit, size_t n);

/**
 * Tree of what is staged (`git write-tree`, honours GIT_INDEX_FILE);
 * KL_EINVALID while there are conflicts.
 */
int kl_repo_staged_tree(git_oid *out, struct kl_repo *repo);
/** Are tracked files modified against HEAD, staged or not? */
int kl_repo_is_dirty(bool *out, struct kl_repo *repo);

/**
 * A commit object (no ref moves), signed when commit.gpgSign says so.
 * Identity and time from git (`git var`) unless `author`/`time` are given:
 * then author = committer = that, for results that must be reproducible,
 * and there is no signature, which would be another one each time.
 */
struct kl_commit_spec {
	git_oid tree;
	const git_oid *parent;
	size_t nparent;
	const char *message;
	const char *author; /* "Name <mail>" or NULL */
	int64_t time;       /* used with author */
	int offset;
};
int kl_repo_commit_write(git_oid *out, struct kl_repo *repo, const struct kl_commit_spec *spec);

/**
 * Unified diff text between two trees, limited to `path` if not NULL (`git
 * diff`-compatible, a/ b/ prefixes).
 */
int kl_repo_diff(struct kl_buf *out, struct kl_repo *repo, const git_oid *from, const git_oid *to,
		 const char *path);
/** Paths whose entry differs between two trees, sorted; `from` NULL: the empty tree. No renames. */
int kl_repo_diff_paths(struct kl_strvec *out, struct kl_repo *repo, const git_oid *from,
		       const git_oid *to);
/**
 * Apply a unified patch to a tree; paths in it are below `prefix`. Neither
 * index nor worktree is touched. KL_ENO if it does not apply, KL_EINVALID if
 * it is no patch.
 */
int kl_repo_apply(git_oid *out, struct kl_repo *repo, const git_oid *tree, const char *prefix,
		  const char *patch, size_t len);

/**
 * Merge the changes base -> theirs into `ours`: texts of one file. KL_ENO: they collide with what
 * ours changed; `out` is untouched then.
 */
int kl_repo_merge_text(struct kl_buf *out, struct kl_repo *repo, const struct kl_buf *base,
		       const struct kl_buf *ours, const struct kl_buf *theirs);

/**
 * The user's branch and worktree go forward to `commit`, as `git merge --ff-only` does it: the one
 * function that writes both, for who asked for it. KL_EINVALID with git's own words: they cannot.
 */
int kl_repo_fast_forward(struct kl_repo *repo, const git_oid *commit);

/**
 * Commits reachable from `from` by first parents, newest first, in which `path`
 * (a file or directory) differs from its first parent; at most `max`.
 */
int kl_repo_touching(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *from,
		     const char *const *paths, size_t npaths, size_t max);

/**
 * Commits that `to` reaches and `from` does not, oldest first; the newest `max`. Array is the
 * caller's.
 */
int kl_repo_between(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *from,
		    const git_oid *to, size_t max);

/**
 * Can `left` be reached from `right`? A commit that is not in this clone cannot, and reaches
 * nothing.
 */
int kl_repo_is_ancestor(bool *out, struct kl_repo *repo, const git_oid *left, const git_oid *right);
/** A best common ancestor; KL_ENOTFOUND: none. */
int kl_repo_merge_base(git_oid *out, struct kl_repo *repo, const git_oid *left,
		       const git_oid *right);

/** 40 hex digits and NUL. */
#define KL_OID_HEX 41
void kl_oid_hex(char out[KL_OID_HEX], const git_oid *oid);
int kl_oid_parse(git_oid *out, const char *hex);

/* --- trailers --------------------------------------------------------- */

/**
 * Value of the last trailer `key` in the last paragraph of `message`, as `git
 * interpret-trailers` would read it; caller frees; NULL: none.
 */
char *kl_trailer_get(const char *message, const char *key);
/** Several keys in one reading: value[i] for key[i], each as kl_trailer_get would answer. */
void kl_trailers_get(char **value, const char *message, const char *const *key, size_t n);
/** Subject line; caller frees. */
char *kl_trailer_subject(const char *message);

#endif
