/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_BUILD_H
#define KL_WORKER_POOL_BUILD_H

#include "base/key.h"
#include "worker/pool/pool.h"

/*
 * build - builds the files of a pool's members, on all processors. Each thread has its own oracles.
 * The contents of a file depend only on job, member and key, not on the thread or the order.
 *
 * For a GPU, which makes one call at a time anyway, a single thread builds all files.
 */
struct kl_poolbuild {
	const struct kl_job *job;
	const char *dir;
	struct kl_key key; /* the pool's master key */
	/* members grouped by point, each point's first noise draw first */
	const struct kl_member *member;
	size_t n;
	/*
	 * output, one for each point of the job: the lowest times in ns of a call in double and of
	 * a call in float, added up; NULL: not wanted
	 */
	int64_t *cost;
};

/**
 * Build all files. Errors are those of kl_pool_open(). If a twin or a member of a further band
 * (further.h) cannot be made, its file is empty.
 */
int kl_poolbuild(const struct kl_poolbuild *poolbuild);

/** Return the path of member `i`'s file; the caller frees it. */
char *kl_poolbuild_path(const char *dir, size_t i);

#endif
