/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_KEY_H
#define KL_WORKER_POOL_KEY_H

#include "job/job.h"

/*
 * key - decides whether the pool in a directory is the one that a job needs.
 *
 * index.json holds the seed of a replay (0 for a live session) and every part of the job that
 * members depend on; copies of both oracle objects are beside it. All are compared byte by byte, so
 * that no digest collision is possible. index.json is written last, so an interrupted build leaves
 * no index.
 */

/** Return the parts of a job that its pool depends on; the caller owns the object. */
json_t *kl_poolkey_of(const struct kl_job *job);
/* The values in the index besides the key and the seed; they need not be secret. */
struct kl_poolindex {
	uint64_t choice; /* argument of kl_members_plan() */
	int64_t *cost;   /* for each point of the job: kl_poolbuild.cost */
	json_t *none;    /* indices of the planned members that were not made; owned */
};
/**
 * Return true, and fill in *index, if the directory has the pool that `job` needs. `key` is
 * kl_poolkey_of() of the job.
 */
bool kl_poolkey_fresh(const char *dir, const struct kl_job *job, const json_t *key,
		      struct kl_poolindex *index);
/** Remove the index, if there is one. Call it before building. */
int kl_poolkey_clear(const char *dir);
/** Write the index. Call it after building. */
int kl_poolkey_write(const char *dir, const struct kl_job *job, const json_t *key,
		     const struct kl_poolindex *index);

#endif
