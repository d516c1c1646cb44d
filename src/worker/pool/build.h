/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_BUILD_H
#define KL_WORKER_POOL_BUILD_H

#include "worker/pool/pool.h"

/*
 * build - makes the files of a pool's members, on all processors. Each thread has oracles of its
 * own. What is in a file depends on job, member and seed alone, not on who made it when.
 *
 * On a GPU, which does one thing at a time in any case, by one thread.
 */
struct kl_poolbuild {
	const struct kl_job *job;
	const char *dir;
	uint64_t seed; /* the pool's */
	/* those of one point stand together, its first noise draw first */
	const struct kl_member *member;
	size_t n;
};

/** The errors of kl_pool_open(). A twin that cannot be had is an empty file. */
int kl_poolbuild(const struct kl_poolbuild *poolbuild);

/** Where member `i` lies; the caller's. */
char *kl_poolbuild_path(const char *dir, size_t i);

#endif
