/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_BUILD_H
#define KL_WORKER_POOL_BUILD_H

#include "base/key.h"
#include "worker/pool/pool.h"

/*
 * build - builds the files of a pool's members, on all processors. Each thread has its own oracles.
 * The contents of a file depend only on job, member and key, not on the thread or the order.
 *
 * On a GPU, which does one thing at a time anyway, a single thread builds them all.
 */
struct kl_poolbuild {
	const struct kl_job *job;
	const char *dir;
	struct kl_key key; /* the pool's master key */
	/* members grouped by point, each point's first noise draw first */
	const struct kl_member *member;
	size_t n;
	/* for each point of the job: least ns of a call of both oracles; NULL: not wanted */
	int64_t *cost;
};

/**
 * Build all files. Errors are those of kl_pool_open(). A near-duplicate input (twin) that cannot be
 * made becomes an empty file.
 */
int kl_poolbuild(const struct kl_poolbuild *poolbuild);

/** Path of the file of member `i`; the caller frees it. */
char *kl_poolbuild_path(const char *dir, size_t i);

#endif
