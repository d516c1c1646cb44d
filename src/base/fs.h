/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_FS_H
#define KL_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * fs - files and directories, with ceilings and with durable writes.
 */

/** Read a regular file (symlinks followed) of at most `max` bytes. */
int kl_fs_read(struct kl_buf *out, const char *path, size_t max);

/**
 * Replace `path` by `data`: temporary file in the same directory, fsync,
 * rename, fsync of the directory. After kill -9 the old or the new file is
 * there, never half of one.
 */
int kl_fs_write(const char *path, const void *data, size_t n);
/** The same with permissions, as far as the umask lets them. */
int kl_fs_write_mode(const char *path, const void *data, size_t n, unsigned mode);

/** Where a user wants an answer (-o): a device or a pipe is written to, not replaced. */
int kl_fs_write_output(const char *path, const void *data, size_t n);

/** Plain create-or-truncate with `mode`, not durable: for scratch files. */
int kl_fs_put(const char *path, const void *data, size_t n, int mode);

/** mkdir -p */
int kl_fs_mkdir(const char *path);
/** mkdir -p of the directory part of `path`. */
int kl_fs_mkdir_of(const char *path);
/** rm -rf; never follows symlinks, absent is fine. */
int kl_fs_remove(const char *path);
bool kl_fs_exists(const char *path);
bool kl_fs_is_dir(const char *path);

/** A new directory below $TMPDIR (or /tmp), 0700; `*out` is the caller's. */
int kl_fs_tempdir(char **out, const char *prefix);
/** Cleanup: remove the directory tree and free the string. */
void kl_fs_tempdir_cleanup(char **dir);

/** `left/right`, one slash; the caller frees. */
char *kl_fs_join(const char *left, const char *right);

/**
 * Names in a directory, sorted, without "." and "..".
 */
struct kl_strvec;
int kl_fs_list(struct kl_strvec *out, const char *dir);

/**
 * May a tracked file name `path`? Relative, no empty, "." or ".." part, no
 * ".git" part in any case, no backslash or control byte, at most 4096 bytes.
 */
bool kl_fs_path_ok(const char *path);

/**
 * Where the program's data lie: $KLINEAGE_SHARE, the checkout, or the installed
 * share directory. Caller frees.
 */
int kl_fs_share(char **out, const char *relative);
/**
 * Full path of a sibling program (klineage-worker): beside this executable, or libexec. Caller
 * frees.
 */
int kl_fs_program(char **out, const char *name);

#endif
