/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_POOL_H
#define KL_WORKER_POOL_POOL_H

#include <stdatomic.h>

#include "worker/compare/member.h"
#include "worker/subject/subject.h"

/*
 * pool - holds inputs with precomputed answers, stored in a file below job->pool. The oracle runs
 * once for each member, regardless of how many candidates are judged.
 *
 * A member is one (point, band, draw): the bytes of every input, and for every output the truth
 * (the oracle in double) and the honest answer (the oracle in float). The job and a master key
 * determine the members. Every point has the noise band, and those bands of job->exact and
 * job->bands that apply to it. A performance point has three noise draws and, if any argument is
 * swept, two members with all swept arguments scaled by 2^6 and by 2^-10. Performance points and
 * small other points have a twin of the first noise draw (twin.h), if one can be made. If
 * job->further is set, a point has a few further bands (further.h), chosen at random, or all of
 * them in a replay.
 *
 * Every member is drawn under a key of its own, derived from the master key of the pool. The master
 * key is random and forgotten once the pool is built, unless job->seed asks for a replay: the same
 * seed then gives the same members. A second process of the same operation opens the existing file;
 * a pool made from other oracle objects, for another job or another seed is rebuilt.
 *
 * The file holds the truth, so it has mode 0600 in a directory of mode 0700, and only the worker's
 * parent process ever maps it.
 */
#define KL_POOL_DRAWS 3     /* noise members of a performance point */
#define KL_POOL_TWIN "twin" /* band of the near-duplicate input */

struct kl_pool;
struct kl_yardsticks;
/**
 * Open or build the pool; the pool borrows `job`. Return KL_ECANNOT if the oracle faults, hangs, or
 * gives a non-finite answer to finite inputs; the error message has the details.
 */
int kl_pool_open(struct kl_pool **out, const struct kl_job *job);
void kl_pool_free(struct kl_pool *pool);
KL_DEFINE_CLEANUP(struct kl_pool *, kl_pool_free)
size_t kl_pool_size(const struct kl_pool *pool);
/** Return member `i`. All members lie in one array, so member `i` + 1 follows in memory. */
const struct kl_member *kl_pool_get(const struct kl_pool *pool, size_t i);
/**
 * List up to `max` noise members of a point in *out and return their number. A performance point
 * has KL_POOL_DRAWS, any other has one.
 */
size_t kl_pool_noise(const struct kl_pool *pool, const struct kl_point *pt,
		     const struct kl_member **out, size_t max);
/** Return the twin of the point's first noise member; NULL if there is none. */
const struct kl_member *kl_pool_twin(const struct kl_pool *pool, const struct kl_point *pt);

/**
 * Return the sum of the lowest times in ns that the oracle in double and the oracle in float took
 * for a call at a point when the pool was built; 0 if unknown.
 */
int64_t kl_pool_cost(const struct kl_pool *pool, const struct kl_point *pt);

/** Return the honest errors of all draws of the pool, spare draws included. */
const struct kl_yardsticks *kl_pool_yardsticks(const struct kl_pool *pool);

/**
 * Build a pool for this process alone: its file does not stay on disk, and no other pool is
 * changed. If another thread sets *stop, this ends with KL_EINTR; `stop` can be NULL.
 */
int kl_pool_make_own(struct kl_pool **out, const struct kl_job *job, const atomic_bool *stop);
/**
 * Build a pool that has only member `of` of the job's pool (and the original, if `of` is a twin),
 * drawn as in a replay with job->seed. Its file does not stay on disk, and no other pool is
 * changed.
 */
int kl_pool_make_one(struct kl_pool **out, const struct kl_job *job, const struct kl_member *of);
/**
 * Build a pool of `draws` noise draws at every performance point, under a key of its own, for this
 * process alone: its file does not stay on disk. It has the yardsticks of `like`, the job's pool,
 * which must outlive it.
 */
int kl_pool_make_fresh(struct kl_pool **out, const struct kl_job *job, const struct kl_pool *like,
		       size_t draws);
/**
 * Build, in the same way, a pool of `draws` more draws of the band of `of`, a member of the job's
 * pool `like`. Pools of one job with different `number` have different draws. Draws of a further
 * band that cannot be made are left out.
 */
int kl_pool_make_again(struct kl_pool **out, const struct kl_job *job, const struct kl_pool *like,
		       const struct kl_member *of, size_t draws, int number);
/**
 * Return the index of the member with the point, band and draw of `of`; KL_POOL_NONE if there is
 * none.
 */
size_t kl_pool_find(const struct kl_pool *pool, const struct kl_member *of);
#define KL_POOL_NONE SIZE_MAX

#endif
