/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_BUILD_H
#define KL_WORKER_POOL_BUILD_H

#include <stdatomic.h>

#include "base/key.h"
#include "worker/pool/pool.h"

/*
 * build - makes the members of a pool in place, on all processors. Each thread has its own oracles.
 * The bytes of a member depend only on job, member and key, not on the thread or the order.
 *
 * For a GPU, which makes one call at a time anyway, a single thread makes all members.
 */
struct kl_poolbuild {
	const struct kl_job *job;
	struct kl_key key; /* the pool's master key */
	/* members grouped by point, each point's first noise draw first */
	const struct kl_member *member;
	size_t n;
	const bool *skip; /* by member: true to skip it; NULL to make all */
	/* memory of zeros for all members, and where each of them begins (kl_poolfile_places()) */
	char *base;
	const size_t *at;
	/* if this becomes true, stop with KL_EINTR; NULL if it never stops */
	const atomic_bool *stop;
	/* output, by member: true if it is a twin or in a further band, and could not be made */
	bool *none;
	/*
	 * input and output, one for each point of the job: the lowest times in ns of a call in
	 * double and of a call in float, added up, 0 if not known yet; NULL if not wanted
	 */
	int64_t *cost;
};

/** Make all members that are not skipped. Errors are those of kl_pool_open(). */
int kl_poolbuild(const struct kl_poolbuild *poolbuild);

#endif
