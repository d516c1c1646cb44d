/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SKILL_INDEX_PARTS_H
#define KL_SKILL_INDEX_PARTS_H

#include "skill/index.h"

/*
 * index_parts - the index's file (docs/formats.md, "Retrieval"), which index_build.c makes and
 * index.c reads.
 */
#define KL_INDEX_MAGIC "KLSKILLS"
#define KL_INDEX_VERSION 1
#define KL_INDEX_ORDER 0x01020304u	/* of bytes: a file of the other order is made anew */

enum kl_index_part {
	KL_INDEX_CARDS, KL_INDEX_ROWS, KL_INDEX_POINTS, KL_INDEX_PRIORS, KL_INDEX_ITEMS, KL_INDEX_STARTS,
	KL_INDEX_BYTES, KL_INDEX_PARTS
};

/** Bytes of one element of a part. */
size_t kl_index_size(enum kl_index_part part);

struct kl_index_head {
	char magic[8];
	uint32_t version, order;
	uint64_t length;		/* of the whole file */
	uint64_t checksum;		/* of the file with this as 0 */
	git_oid tree;			/* of the library */
	uint32_t bad;			/* cards that could not be read */
	char tables[64];		/* digest of the taxonomy's files */
	struct { uint64_t at, n; } part[KL_INDEX_PARTS];
};

uint64_t kl_index_checksum(const void *p, size_t n);

/**
 * The bytes of an index; `base` (may be NULL) is an older one of the same tables to take cards
 * from.
 */
int kl_index_build(struct kl_buf *out, struct kl_library *lib, const struct kl_taxonomy *tax,
		   const struct kl_index *base);

#endif
