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
 * repo - the user's repository: found and validated by git, read and written through libgit2.
 * `git_oid` is the only libgit2 type used outside src/repo.
 *
 * Configuration and identity come from git (`git config --list -z`, `git var`), because libgit2
 * supports neither `git -c` nor GIT_AUTHOR_*. Only kl_repo_fast_forward() and kl_branch_stage()
 * (branch.h) write the index, and only the former writes the worktree.
 */
struct kl_repo;

/**
 * Open the repository that git would use in the current directory; GIT_DIR etc. can name another
 * repository. The repository can be bare. Return KL_ENOTFOUND if there is none. Return KL_ECANNOT
 * if libgit2 cannot read the repository (sha256, reftable, ...); the message says why. Return
 * KL_EINVALID if git refuses to open it.
 */
int kl_repo_open(struct kl_repo **out);
/**
 * Like kl_repo_open(), but for the directory `dir`, ignoring GIT_DIR etc. in the environment (for
 * scratch repositories and tests).
 */
int kl_repo_open_at(struct kl_repo **out, const char *dir);
void kl_repo_free(struct kl_repo *repo);
KL_DEFINE_CLEANUP(struct kl_repo *, kl_repo_free)

/* The following functions return absolute paths or names, borrowed from `repo`. */
const char *kl_repo_git_dir(const struct kl_repo *repo); /* the git directory of this worktree */
const char *kl_repo_common_dir(const struct kl_repo *repo);
/**
 * Return the top of the worktree; NULL if the repository is bare, or the current directory is
 * inside the git directory.
 */
const char *kl_repo_worktree(const struct kl_repo *repo);
/** Return the current directory relative to the top of the worktree: "" or "dir/". */
const char *kl_repo_prefix(const struct kl_repo *repo);
/**
 * Return the id of this worktree: "main" for the main worktree, otherwise its name under
 * .git/worktrees (with ".linked" appended if that name is "main"). The id is the last component of
 * the worktree's ref below refs/klineage/op/.
 */
const char *kl_repo_worktree_id(const struct kl_repo *repo);
bool kl_repo_is_bare(const struct kl_repo *repo);
/**
 * Check that the history is complete, for commands that walk it. Return KL_ECANNOT if the clone is
 * shallow or partial; hints say how to complete it.
 */
int kl_repo_need_history(struct kl_repo *repo);

/**
 * Return a config value as git sees it (the last value wins), or NULL if the key is not set;
 * borrowed.
 */
const char *kl_repo_config(struct kl_repo *repo, const char *key);
/**
 * Read an integer, with an optional suffix k, m or g; `dflt` if the key is not set. Return
 * KL_EINVALID if the value is not a number.
 */
int kl_repo_config_int(int64_t *out, struct kl_repo *repo, const char *key, int64_t dflt);
/**
 * Write to `out` the terminal escape sequence for a colour setting such as "bold red", as git would
 * print it.
 */
int kl_repo_config_color(char *out, size_t n, struct kl_repo *repo, const char *key,
			 const char *dflt);
/**
 * Get the command of the pager that git would use, to be run by sh; NULL if there is no pager. The
 * caller frees it.
 */
int kl_repo_pager(char **out, struct kl_repo *repo);
int kl_repo_config_bool(bool *out, struct kl_repo *repo, const char *key, bool dflt);

/** Set a value in the repository's own config file. With `value` NULL, remove it if it is set. */
int kl_repo_config_set(struct kl_repo *repo, const char *key, const char *value);

/**
 * Get the committer, "Name <mail>"; the repository owns the string. Return KL_EINVALID, with git's
 * own advice in the message, if no author or committer identity is set. Call this before long work:
 * without an identity its results could not be committed at the end.
 */
int kl_repo_identity(const char **out, struct kl_repo *repo);

/**
 * Set whether every new object is synced to disk before its id is returned, so that data that cost
 * money survive a power failure. The setting applies to the whole process and makes writing slow.
 */
void kl_repo_sync_objects(bool on);

/** Return the version of libgit2 at run time, such as "1.5.1"; borrowed. */
const char *kl_repo_backend(void);

/*
 * --- reading and writing objects --------------------------------------
 */

/**
 * Find the commit that a revision names. Return KL_ENOTFOUND if there is no such revision, or HEAD
 * is unborn.
 */
int kl_repo_resolve(git_oid *out, struct kl_repo *repo, const char *rev);
/** Get the parents of a commit. The caller frees the array. */
int kl_repo_parents(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *commit);
/**
 * Get the size of an object in bytes without reading it, because a small packed object can inflate
 * to a huge object.
 */
int kl_repo_object_size(size_t *out, struct kl_repo *repo, const git_oid *oid);
int kl_repo_tree_of(git_oid *out, struct kl_repo *repo, const git_oid *commit);
/**
 * Get the subtree at `path`; "" for the tree itself. Return KL_ENOTFOUND if there is no such
 * directory.
 */
int kl_repo_subtree(git_oid *out, struct kl_repo *repo, const git_oid *tree, const char *path);

struct kl_commit {
	git_oid oid, tree;
	git_oid *parent;
	size_t nparent;
	char *message; /* the complete message, unmodified */
	char *author;  /* "Name <mail>" */
	int64_t author_time;
	int author_offset; /* time zone in minutes east of UTC */
};
int kl_repo_commit_read(struct kl_commit *out, struct kl_repo *repo, const git_oid *commit);
void kl_commit_release(struct kl_commit *commit);

struct kl_blob {
	uint32_t mode; /* 0100644, 0100755 (executable) or 0120000 (symlink) */
	char *path;    /* relative to the listed tree */
	git_oid oid;
};
struct kl_blobs {
	struct kl_blob *b; /* sorted by path (bytewise) */
	size_t n, alloc;
};
void kl_blobs_release(struct kl_blobs *blobs);
/**
 * List all blobs of a tree recursively, without submodules. Return KL_EINVALID if there are more
 * than `max` blobs, or a path is longer than 4096 bytes.
 */
int kl_repo_tree_list(struct kl_blobs *out, struct kl_repo *repo, const git_oid *tree, size_t max);
/**
 * Check that the tree contains only directories and regular files, at any depth. Return KL_EINVALID
 * if the tree contains another kind of entry.
 */
int kl_repo_tree_check_plain(struct kl_repo *repo, const git_oid *tree);
/**
 * Find one entry of a tree by its path; `mode` can be NULL. Return KL_ENOTFOUND if there is no such
 * path.
 */
int kl_repo_tree_entry(git_oid *oid, uint32_t *mode, struct kl_repo *repo, const git_oid *tree,
		       const char *path);
/**
 * Append the bytes of a blob to `out`. Return KL_EINVALID if the object is not a blob, or has more
 * than `max` bytes.
 */
int kl_repo_blob_read(struct kl_buf *out, struct kl_repo *repo, const git_oid *blob, size_t max);
int kl_repo_blob_write(git_oid *out, struct kl_repo *repo, const void *data, size_t n);

/** One change to a tree. If `data` is NULL, the path is removed. */
struct kl_tree_edit {
	const char *path;
	const void *data;
	size_t len;
	uint32_t mode; /* 0 to keep the old mode, or 0100644 for a new file */
};
/**
 * Write a new tree: `base` (NULL for the empty tree) with the edits applied. Directories are
 * created and removed as needed. Removing a directory removes everything below it; removing a path
 * that does not exist is no error. Return KL_EINVALID if kl_fs_path_ok() rejects a path, a path
 * occurs twice, a mode is not one of struct kl_blob, or an edit writes a file where a directory is,
 * or below a file.
 */
int kl_repo_tree_edit(git_oid *out, struct kl_repo *repo, const git_oid *base,
		      const struct kl_tree_edit *edit, size_t n);

/**
 * Write the tree of the index, as `git write-tree` would, and get its id. GIT_INDEX_FILE can name
 * another index. Return KL_EINVALID if the index has conflicts, or the repository is bare.
 */
int kl_repo_staged_tree(git_oid *out, struct kl_repo *repo);
/** Set *out to true if the file `path` is untracked and ignored; `path` is relative to the top. */
int kl_repo_ignores_file(bool *out, struct kl_repo *repo, const char *path);
/**
 * Convert `path`, which is relative to the current directory, to a path relative to the top of the
 * worktree. The caller frees *out. Return KL_EINVALID if the path is outside the worktree, or the
 * repository is bare.
 */
int kl_repo_path(char **out, const struct kl_repo *repo, const char *path);
/** Set *out to true if tracked files differ from HEAD, in the index or in the worktree. */
int kl_repo_is_dirty(bool *out, struct kl_repo *repo);
/**
 * Set *out to true if gitignore(5) makes git ignore the directory `dir`, which need not exist.
 * `dir` is relative to the current directory. A bare repository ignores nothing.
 */
int kl_repo_ignores_dir(bool *out, struct kl_repo *repo, const char *dir);

/**
 * A commit for kl_repo_commit_write(), which writes the object and moves no ref. Identity and time
 * come from git (`git var`), and the commit is signed if commit.gpgSign is set. If `author` is set,
 * however, author and committer are both `author` at `time`, and the commit is not signed, so that
 * the same commit can be made again (each signature differs).
 */
struct kl_commit_spec {
	git_oid tree;
	const git_oid *parent;
	size_t nparent;
	const char *message;
	const char *author; /* "Name <mail>"; NULL for the user's identity */
	int64_t time;       /* seconds since the epoch; used if `author` is set */
	int offset;         /* time zone in minutes east of UTC; used if `author` is set */
};
int kl_repo_commit_write(git_oid *out, struct kl_repo *repo, const struct kl_commit_spec *spec);

/**
 * Append the unified diff between two trees, in the format of `git diff` with the prefixes a/ and
 * b/. If `path` is neither NULL nor "", only changes at or below `path` are appended.
 */
int kl_repo_diff(struct kl_buf *out, struct kl_repo *repo, const git_oid *from, const git_oid *to,
		 const char *path);
/**
 * Append the paths that differ between two trees, sorted, without rename detection. If `from` is
 * NULL, compare with the empty tree.
 */
int kl_repo_diff_paths(struct kl_strvec *out, struct kl_repo *repo, const git_oid *from,
		       const git_oid *to);
/**
 * Find out whether the file `path` of the tree `to` is a renamed file of the tree `from`, detecting
 * renames by similarity as git does. Set *out to the path in `from`, which the caller frees; NULL
 * if the file was not renamed.
 */
int kl_repo_former_path(char **out, struct kl_repo *repo, const git_oid *from, const git_oid *to,
			const char *path);
/**
 * Apply a unified patch, whose paths are relative to `prefix`, to a tree. Does not change the
 * user's index or worktree. Return KL_ENO if the patch does not apply. Return KL_EINVALID if the
 * text is not a patch.
 */
int kl_repo_apply(git_oid *out, struct kl_repo *repo, const git_oid *tree, const char *prefix,
		  const char *patch, size_t len);

/**
 * Merge the changes from `base` to `theirs` into `ours`; all three are versions of one file. Return
 * KL_ENO if these changes conflict with the changes from `base` to `ours`, and `out` is unchanged.
 */
int kl_repo_merge_text(struct kl_buf *out, struct kl_repo *repo, const struct kl_buf *base,
		       const struct kl_buf *ours, const struct kl_buf *theirs);

/**
 * Fast-forward the user's branch and worktree to `commit` by `git merge --ff-only`. No other
 * function writes the user's branch or worktree, and this function is called only if the user asked
 * for it. Return KL_EINVALID, with git's own message, if a fast-forward is not possible.
 */
int kl_repo_fast_forward(struct kl_repo *repo, const git_oid *commit);

/**
 * List the commits that are reachable from `from` along first parents and in which any of `paths`
 * (files or directories) differs from the first parent. Newest first, at most `max`. The caller
 * frees the array. What is found for paths is kept in klineage/cache, so that the same question
 * about the same or a later commit is answered quickly.
 */
int kl_repo_touching(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *from,
		     const char *const *paths, size_t npaths, size_t max);

/**
 * List the commits that changed any of `paths`, newest first, along one line of parents from `from`
 * to a root. At a merge that took all of `paths` from one of its parents, the line goes on with
 * that parent, so it has the commits of a merged branch instead of the merge. At any other merge it
 * goes on with the first parent. The caller frees the array.
 */
int kl_repo_line(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *from,
		 const char *const *paths, size_t npaths);

/**
 * List the commits reachable from `from` that created any of `paths`, newest first. The new path of
 * a renamed file counts as created. Merges are left out. The caller frees the array.
 */
int kl_repo_creating(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *from,
		     const char *const *paths, size_t npaths);

/**
 * List the commits that are reachable from `to` but not from `from`: the newest `max` of them,
 * oldest first. The caller frees the array.
 */
int kl_repo_between(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *from,
		    const git_oid *to, size_t max);

/**
 * Set *out to true if `ancestor` is `descendant` or is reachable from it, otherwise to false. If
 * the commits differ and one of them is not in this clone, *out is false.
 */
int kl_repo_is_ancestor(bool *out, struct kl_repo *repo, const git_oid *ancestor,
			const git_oid *descendant);
/**
 * Find the best common ancestor of two commits. Return KL_ENOTFOUND if they have no common
 * ancestor.
 */
int kl_repo_merge_base(git_oid *out, struct kl_repo *repo, const git_oid *left,
		       const git_oid *right);

/** Size of an object id as text: 40 hex digits and the NUL. */
#define KL_OID_HEX 41
void kl_oid_hex(char out[KL_OID_HEX], const git_oid *oid);
/** Return the hex digits of an object id; the caller frees them. */
char *kl_oid_text(const git_oid *oid);
int kl_oid_parse(git_oid *out, const char *hex);
/** The zero id, which stands for "no object": git_oid_is_zero() is true for it. */
extern const git_oid kl_oid_none;

/* --- reading trailers -------------------------------------------------- */

/**
 * Return the value of the last trailer `key` in the last paragraph of `message`, as `git
 * interpret-trailers` reads it; NULL if there is none. The caller frees it.
 */
char *kl_trailer_get(const char *message, const char *key);
/** Like kl_trailer_get(), but for several keys at once: set value[i] to the value of key[i]. */
void kl_trailers_get(char **value, const char *message, const char *const *key, size_t n);
/** Return the subject of a commit message. The caller frees it. */
char *kl_trailer_subject(const char *message);

#endif
