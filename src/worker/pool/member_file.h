/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_MEMBER_FILE_H
#define KL_WORKER_POOL_MEMBER_FILE_H

#include "worker/pool/pool.h"

/*
 * member_file - defines the layout of the file of a pool. The members follow each other in the
 * file. A member has, for each argument, the input, the truth, the honest answer and the answer for
 * |inputs|, each starting on a cache line. The layout depends only on job and members.
 */
enum kl_poolpart { KL_PART_INPUT, KL_PART_TRUTH, KL_PART_HONEST, KL_PART_ABSUM, KL_PARTS };

struct kl_poolfile {
	size_t at[KL_MAX_ARGS][KL_PARTS];    /* offset of each part from the member's first byte */
	size_t bytes[KL_MAX_ARGS][KL_PARTS]; /* 0 if the part does not exist */
	size_t total;                        /* bytes of the member */
};

void kl_poolfile_init(struct kl_poolfile *layout, const struct kl_job *job,
		      const struct kl_member *member);
/**
 * Set the member's input, truth, honest and absum to point into `base`, its bytes; a pointer is
 * NULL if the member has no such part.
 */
void kl_poolfile_point(struct kl_member *member, const struct kl_poolfile *layout,
		       const struct kl_job *job, const char *base);
/** Set the offset of each member in the file, and return the size of the file. */
size_t kl_poolfile_places(size_t *at, const struct kl_job *job, const struct kl_member *member,
			  size_t n);
/** Return true if a rule `elementwise` judges this argument. */
bool kl_poolfile_elementwise(const struct kl_job *job, size_t arg);

#endif
