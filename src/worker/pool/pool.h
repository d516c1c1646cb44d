/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_POOL_H
#define KL_WORKER_POOL_POOL_H

#include "worker/compare/member.h"
#include "worker/subject/subject.h"

/*
 * pool - inputs with precomputed answers, in files of job->pool. So the oracle runs once per
 * operation, however many candidates are judged.
 *
 * A member is one (point, band, draw): the bytes of every input, and for every
 * output the truth (the oracle in double) and the honest answer (the oracle in
 * float). Which members there are follows from job and seed: at every
 * point the noise band, each exact band and each of `bands`; at a performance
 * point three noise draws and, if any argument is swept, all swept arguments
 * scaled up by 2^6 and down by 2^-10; at performance points and small others the
 * twin of the first noise draw (twin.h), if it can have one.
 *
 * All bytes derive from one seed, drawn from the operating system or given by
 * job->seed: who gives a logged seed back gets the same members. A second
 * process of the same operation opens the files as they are; a pool made from
 * other oracle objects, another job or another seed is made anew.
 *
 * The files hold the truth: mode 0600 in a directory of 0700, and only the
 * worker's parent process ever maps them.
 */
#define KL_POOL_DRAWS 3     /* noise members of a performance point */
#define KL_POOL_TWIN "twin" /* the band of a twin */

struct kl_pool;
/**
 * Open or build; the pool borrows `job`. KL_ECANNOT: the oracle faults, hangs,
 * or is not finite where it must be; the message says.
 */
int kl_pool_open(struct kl_pool **out, const struct kl_job *job);
void kl_pool_free(struct kl_pool *pool);
KL_DEFINE_CLEANUP(struct kl_pool *, kl_pool_free)
size_t kl_pool_size(const struct kl_pool *pool);
const struct kl_member *kl_pool_get(const struct kl_pool *pool, size_t i);
/** The noise-band members of a point, for profiling: at least 3 for a perf point. */
size_t kl_pool_noise(const struct kl_pool *pool, const struct kl_point *pt,
		     const struct kl_member **out, size_t max);
/** The twin of the point's first noise member; NULL: it has none. */
const struct kl_member *kl_pool_twin(const struct kl_pool *pool, const struct kl_point *pt);
uint64_t kl_pool_seed(const struct kl_pool *pool);

#endif
