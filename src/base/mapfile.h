/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_MAPFILE_H
#define KL_BASE_MAPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * mapfile - a cache file that is written once and then mapped into memory. It starts with a head:
 * magic, version, key of its source, length and a checksum over everything. A file that fails a
 * check counts as absent. The payload after the head is the caller's, who must still check that
 * offsets in it are in range: a checksum detects damage, not malice.
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
	uint32_t version, order; /* order: detects another byte order */
	uint64_t length, checksum;
	char key[KL_MAPFILE_KEY]; /* identifies the source, NUL-padded */
};

struct kl_mapfile {
	const char *base; /* starts with the head; NULL: not open */
	size_t len;
	bool mapped; /* otherwise `base` points into `made` */
	struct kl_buf made;
};
#define KL_MAPFILE_INIT             \
	{                           \
		.made = KL_BUF_INIT \
	}

void kl_mapfile_release(struct kl_mapfile *mapfile);

/**
 * Map `path`. Returns false, without setting an error, if the file is absent, damaged or has
 * another magic, version or key. A NULL `key` accepts any key.
 */
bool kl_mapfile_open(struct kl_mapfile *out, const char *path, const char *magic, uint32_t version,
		     const char *key);

/** Clear `buf` and add the head. `key` is cut at KL_MAPFILE_KEY - 1 bytes. */
void kl_mapfile_begin(struct kl_buf *buf, const char *magic, uint32_t version, const char *key);
/** Pad with NUL bytes to a multiple of 8. */
void kl_mapfile_align(struct kl_buf *buf);
/** Align, and complete the length and checksum of the head. */
void kl_mapfile_end(struct kl_buf *buf);
/**
 * Write the file atomically and map it. If that fails, or `path` is "", the content stays in
 * memory. Takes over the content of `buf`.
 */
void kl_mapfile_keep(struct kl_mapfile *out, struct kl_buf *buf, const char *path);

/**
 * List the files of a directory that are named <prefix>...<suffix>, newest first, except the path
 * `but`. A new cache file can be built from them. Appends full paths to `out`.
 */
struct kl_strvec;
void kl_mapfile_others(struct kl_strvec *out, const char *dir, const char *prefix,
		       const char *suffix, const char *but);

/**
 * Remove all of these files except the first `keep`, and the temporary files that a killed process
 * left more than an hour ago.
 */
void kl_mapfile_tidy(const struct kl_strvec *others, size_t keep, const char *dir,
		     const char *prefix, const char *suffix);

#endif
