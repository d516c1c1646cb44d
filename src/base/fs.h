/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_FS_H
#define KL_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* fs - reads bounded files, writes files durably, and creates, lists and removes directories. */

/**
 * Append the contents of a regular file of at most `max` bytes to `out`. Follows symlinks. Return
 * KL_EINVALID if the file is longer, or is not a regular file.
 */
int kl_fs_read(struct kl_buf *out, const char *path, size_t max);

/**
 * Open the file `path` below the directory `root` with the flags of open(), component by component,
 * so that no symlink is followed, not even one that is created meanwhile. Return the descriptor, or
 * -1 with errno set: ELOOP or ENOTDIR if the path contains a symlink, or a file as a directory.
 */
int kl_fs_open_below(const char *root, const char *path, int flags);

/**
 * Replace `path` atomically: write a temporary file in the same directory, fsync it, rename it and
 * fsync the directory. A crash leaves either the old or the new file.
 */
int kl_fs_write(const char *path, const void *data, size_t n);
/** Like kl_fs_write(), but give the file the permissions `mode & ~umask`. */
int kl_fs_write_mode(const char *path, const void *data, size_t n, unsigned mode);

/**
 * Write an output file that the user names (-o). A character device or FIFO is written directly;
 * any other file is replaced as by kl_fs_write().
 */
int kl_fs_write_output(const char *path, const void *data, size_t n);

/** Create a file with `mode`, or overwrite it, without fsync: for scratch files. */
int kl_fs_put(const char *path, const void *data, size_t n, int mode);

/** Create a directory and its parents, like mkdir -p. */
int kl_fs_mkdir(const char *path);
/** Create the directory that contains `path`, and its parents. */
int kl_fs_mkdir_of(const char *path);
/**
 * Remove a file or a directory tree, like rm -rf: does not follow symlinks, and succeeds if `path`
 * does not exist.
 */
int kl_fs_remove(const char *path);
/** Return true if `path` exists; a dangling symlink counts as existing. */
bool kl_fs_exists(const char *path);
/** Return true if `path` is a directory, or a symlink to a directory. */
bool kl_fs_is_dir(const char *path);

/**
 * Create a directory with mode 0700 below $TMPDIR or /tmp. Its name starts with `prefix`. The
 * caller frees `*out`.
 */
int kl_fs_tempdir(char **out, const char *prefix);
/** Remove the directory tree `*dir`, unless it is NULL, and free the string; for KL_AUTO. */
void kl_fs_tempdir_cleanup(char **dir);

/**
 * Return "<left>/<right>" with a single slash between them, or `right` if `left` is "". The caller
 * frees it.
 */
char *kl_fs_join(const char *left, const char *right);
/**
 * Resolve `path` relative to the directory `dir`: "../c" in "/a/b" gives "/a/c". The caller frees
 * the result. Symlinks are not followed.
 */
char *kl_fs_resolve(const char *dir, const char *path);
/**
 * Return the part of `path` after the directory `dir` and a slash: "" if `path` is `dir`, NULL if
 * `path` is not below `dir`. Only the texts are compared. `dir` must not end with a slash.
 */
const char *kl_fs_below(const char *dir, const char *path);

/**
 * Append the names of the entries of a directory to `out`, without "." and "..", and sort `out`.
 */
struct kl_strvec;
int kl_fs_list(struct kl_strvec *out, const char *dir);

/**
 * Return true if a tracked file can have the path `path`. The path must be relative, at most 4096
 * bytes, without backslashes and control characters; no component can be empty, ".", ".." or ".git"
 * (in any case) or longer than 255 bytes.
 */
bool kl_fs_path_ok(const char *path);

/**
 * Set *out, which the caller frees, to the full path of a data file of git-klineage: below
 * $KLINEAGE_SHARE, in the checkout or in the installed share directory. Return KL_ENOTFOUND if the
 * file is in none of them.
 */
int kl_fs_share(char **out, const char *relative);
/**
 * Set *out, which the caller frees, to the full path of another program of git-klineage, such as
 * klineage-worker: next to this executable or in libexec. Return KL_ENOTFOUND if the program is in
 * neither.
 */
int kl_fs_program(char **out, const char *name);

#endif
