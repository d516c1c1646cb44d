/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_KEY_H
#define KL_WORKER_POOL_KEY_H

#include "job/job.h"

/*
 * key - decides whether the pool in a directory is the one that a job needs.
 *
 * index.json holds the seed of a replay (0: none) and every part of the job that members depend on;
 * copies of both oracle objects lie beside it. They are compared byte by byte, so that no digest
 * collision is possible. index.json is written last: an interrupted build leaves none.
 */

/** The parts of a job that its pool depends on; the caller owns the object. */
json_t *kl_poolkey_of(const struct kl_job *job);
/* What else the index holds; none of it is secret. */
struct kl_poolindex {
	uint64_t choice; /* of kl_members_plan() */
	int64_t *cost;   /* for each point of the job, as in build.h */
};
/** True if the pool is the one that `job` needs; only then *index is filled in. */
bool kl_poolkey_fresh(const char *dir, const struct kl_job *job, const json_t *key,
		      struct kl_poolindex *index);
/** Invalidate the index, if any; call before building. */
int kl_poolkey_clear(const char *dir);
/** Write the index; call after building. */
int kl_poolkey_write(const char *dir, const struct kl_job *job, const json_t *key,
		     const struct kl_poolindex *index);

#endif
