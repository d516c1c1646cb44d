/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_INDEX_PARTS_H
#define KL_RETRIEVE_INDEX_PARTS_H

#include "base/mapfile.h"
#include "retrieve/index.h"

/*
 * index_parts - the index's file (docs/formats.md, "Retrieval"), which index_build.c makes and
 * index.c reads.
 */
#define KL_INDEX_MAGIC "KLSKILLS"
#define KL_INDEX_VERSION 3

enum kl_index_part {
	KL_INDEX_CARDS,
	KL_INDEX_ROWS,
	KL_INDEX_POINTS,
	KL_INDEX_PRIORS,
	KL_INDEX_ITEMS,
	KL_INDEX_STARTS,
	KL_INDEX_BYTES,
	KL_INDEX_PARTS
};

/** Bytes of one element of a part. */
size_t kl_index_size(enum kl_index_part part);

/* After the file's own head; places are from the file's beginning. */
struct kl_index_head {
	uint64_t bad; /* cards that could not be read */
	struct {
		uint64_t at, n;
	} part[KL_INDEX_PARTS];
};

/** Append the index; `base` (may be NULL) is an older one of the same tables to take cards from. */
int kl_index_build(struct kl_buf *out, struct kl_library *lib, const struct kl_taxonomy *tax,
		   const struct kl_index *base);

#endif
