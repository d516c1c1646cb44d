/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_KEY_H
#define KL_WORKER_POOL_KEY_H

#include "job/job.h"

/*
 * key - whether the pool in a directory is the one that a job needs.
 *
 * index.json holds the seed and every part of the job that members depend on;
 * beside it lie copies of both oracle objects. All of it is compared byte by
 * byte, so that no digest can collide. index.json is written last: a build that
 * was cut short leaves none.
 */

/** The parts of a job that its pool depends on; the caller's. */
json_t *kl_poolkey_of(const struct kl_job *job);
/** True, and the pool's seed, if all is as `job` needs it. */
bool kl_poolkey_fresh(const char *dir, const struct kl_job *job, const json_t *key, uint64_t *seed);
/** Before building: the present index, if any, no longer counts. */
int kl_poolkey_clear(const char *dir);
/** After building. */
int kl_poolkey_write(const char *dir, const struct kl_job *job, const json_t *key, uint64_t seed);

#endif
