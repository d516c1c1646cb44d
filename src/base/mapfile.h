/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_MAPFILE_H
#define KL_BASE_MAPFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * mapfile - a file that is made once and then mapped into memory: a cache of something that can
 * be made again. It begins with a head that says what it is, of which version, made from what,
 * how long, and a checksum of all; one that is not whole is none. What follows the head is the
 * maker's, who still has to see that its numbers point somewhere: a checksum finds damage, not
 * malice.
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
	uint32_t version, order; /* order: of bytes, as this machine has them */
	uint64_t length, checksum;
	char key[KL_MAPFILE_KEY]; /* what it was made from, NUL-padded */
};

struct kl_mapfile {
	const char *base; /* the head; NULL: nothing is open */
	size_t len;
	bool mapped; /* else it is `made` */
	struct kl_buf made;
};
#define KL_MAPFILE_INIT             \
	{                           \
		.made = KL_BUF_INIT \
	}

void kl_mapfile_release(struct kl_mapfile *mapfile);

/** False: there is none, or none that is whole, or not of this key (NULL: any). No error is set. */
bool kl_mapfile_open(struct kl_mapfile *out, const char *path, const char *magic, uint32_t version,
		     const char *key);

/** `key` is cut at KL_MAPFILE_KEY - 1 bytes. */
void kl_mapfile_begin(struct kl_buf *buf, const char *magic, uint32_t version, const char *key);
/** To a multiple of 8. */
void kl_mapfile_align(struct kl_buf *buf);
void kl_mapfile_end(struct kl_buf *buf);
/**
 * Write it (to a temporary file, renamed) and map it; where that cannot be done, or `path` is "",
 * it stays in memory. Takes `buf`.
 */
void kl_mapfile_keep(struct kl_mapfile *out, struct kl_buf *buf, const char *path);

/**
 * Files in a directory that are called <prefix>...<suffix>, newest first, but not `but`: those
 * that a new one may be made from. Full paths, the caller's.
 */
struct kl_strvec;
void kl_mapfile_others(struct kl_strvec *out, const char *dir, const char *prefix,
		       const char *suffix, const char *but);

/**
 * Remove of those all but the first `keep`, and what a killed process left half written an hour
 * ago or more.
 */
void kl_mapfile_tidy(const struct kl_strvec *others, size_t keep, const char *dir,
		     const char *prefix, const char *suffix);

#endif
