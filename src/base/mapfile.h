/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_MAPFILE_H
#define KL_BASE_MAPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * mapfile - a cache file that is written once and then mapped into memory. It starts with a header:
 * magic, version, length, a checksum of the whole file, and a key that identifies the data that the
 * file was computed from. A file that fails a check counts as absent. The caller defines the rest
 * of the file and must still check that offsets in it are in range, because a checksum detects a
 * damaged file, but not a file made by an attacker.
 *
 *	kl_mapfile_begin(&buf, "KLSKILLS", 1, key);
 *	kl_buf_add(&buf, ...); kl_mapfile_align(&buf);
 *	kl_mapfile_end(&buf);
 *	kl_mapfile_keep(&m, &buf, path);		written atomically, then mapped
 *	...
 *	if (kl_mapfile_open(&m, path, "KLSKILLS", 1, key)) ... m.base, m.len
 */
#define KL_MAPFILE_KEY 128

struct kl_mapfile_head {
	char magic[8];
	/* order: a constant that shows whether the file has this machine's byte order */
	uint32_t version, order;
	uint64_t length, checksum;
	/* identifies the data that the file was computed from; NUL-padded */
	char key[KL_MAPFILE_KEY];
};

struct kl_mapfile {
	const char *base; /* starts with the header; NULL if not open */
	size_t len;
	bool mapped; /* true if `base` is a mapping; false if it points into `made` */
	struct kl_buf made;
};
#define KL_MAPFILE_INIT             \
	{                           \
		.made = KL_BUF_INIT \
	}

void kl_mapfile_release(struct kl_mapfile *mapfile);

/**
 * Map `path`. Return false, without setting an error, if the file is absent, damaged or has another
 * magic, version or key. A NULL `key` accepts any key.
 */
bool kl_mapfile_open(struct kl_mapfile *out, const char *path, const char *magic, uint32_t version,
		     const char *key);

/** Clear `buf` and append the header. `key` is cut at KL_MAPFILE_KEY - 1 bytes. */
void kl_mapfile_begin(struct kl_buf *buf, const char *magic, uint32_t version, const char *key);
/** Pad with NUL bytes to a multiple of 8. */
void kl_mapfile_align(struct kl_buf *buf);
/** Pad as kl_mapfile_align() does, and set the length and checksum in the header. */
void kl_mapfile_end(struct kl_buf *buf);
/**
 * Write the content of `buf` to `path` atomically and map that file. If that fails, or `path` is
 * "", the content stays in memory. `buf` is released.
 */
void kl_mapfile_keep(struct kl_mapfile *out, struct kl_buf *buf, const char *path);

/**
 * Append the full paths of the files in a directory that are named <prefix>...<suffix> to `out`,
 * newest first, except the path `but`. A caller that makes a new cache file can reuse data of these
 * files that are still valid.
 */
struct kl_strvec;
void kl_mapfile_others(struct kl_strvec *out, const char *dir, const char *prefix,
		       const char *suffix, const char *but);

/**
 * Remove all files in `others` except the first `keep`, and the temporary files that a killed
 * process left in `dir` more than an hour ago.
 */
void kl_mapfile_tidy(const struct kl_strvec *others, size_t keep, const char *dir,
		     const char *prefix, const char *suffix);

#endif
