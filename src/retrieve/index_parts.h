/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_INDEX_PARTS_H
#define KL_RETRIEVE_INDEX_PARTS_H

#include "base/mapfile.h"
#include "retrieve/index.h"

/*
 * index_parts - the file format of the card index (docs/formats.md, "Retrieval"), which
 * index_build.c writes and index.c reads.
 */
#define KL_INDEX_MAGIC "KLSKILLS"
#define KL_INDEX_VERSION 7

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

/** Return the size of one element of a part, in bytes. */
size_t kl_index_size(enum kl_index_part part);

/*
 * Header of the index; it follows struct kl_mapfile_head. `at` is an offset from the start of the
 * file.
 */
struct kl_index_head {
	uint64_t bad; /* number of cards that could not be read */
	struct {
		uint64_t at, n;
	} part[KL_INDEX_PARTS];
};

/**
 * Append the index of a library to `out`. `base` (may be NULL) is an older index that was built
 * from the same taxonomy; the facts of unchanged cards are copied from it. Return KL_EINVALID if
 * the strings exceed 4 GiB.
 */
int kl_index_build(struct kl_buf *out, struct kl_library *lib, const struct kl_taxonomy *tax,
		   const struct kl_index *base);

#endif
