/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_MEMBER_FILE_H
#define KL_WORKER_POOL_MEMBER_FILE_H

#include "worker/pool/pool.h"

/*
 * member_file - where the parts of a member lie in its file: for each argument
 * its input, truth, honest answer and absolute sums, one after the other, each
 * on a cache line of its own. The layout follows from job and member alone.
 */
enum kl_poolpart { KL_PART_INPUT, KL_PART_TRUTH, KL_PART_HONEST, KL_PART_ABSUM, KL_PARTS };

struct kl_poolfile {
	size_t at[KL_MAX_ARGS][KL_PARTS];
	size_t bytes[KL_MAX_ARGS][KL_PARTS]; /* 0: there is none */
	size_t total;
};

void kl_poolfile_init(struct kl_poolfile *layout, const struct kl_job *job,
		      const struct kl_member *member);
/** Let the member's pointers point into `base`, a file's bytes; no yard. */
void kl_poolfile_point(struct kl_member *member, const struct kl_poolfile *layout,
		       const struct kl_job *job, const char *base);
/** Does a rule `elementwise` judge this argument? */
bool kl_poolfile_elementwise(const struct kl_job *job, size_t arg);

#endif
