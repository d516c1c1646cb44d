/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_MEMBERS_H
#define KL_WORKER_POOL_MEMBERS_H

#include "worker/pool/pool.h"

/*
 * members - plans which members a pool has (pool.h). The members of a point follow each other, its
 * first noise draw first.
 */

/**
 * Plan the members of a job's pool; the caller frees *out. `choice` is the seed by which some
 * members are chosen at random; with 0, plan all members that could be chosen, for a replay.
 */
void kl_members_plan(struct kl_member **out, size_t *n, const struct kl_job *job, uint64_t choice);

/** Plan `draws` noise draws at every performance point, for kl_pool_make_fresh(). */
void kl_members_plan_timed(struct kl_member **out, size_t *n, const struct kl_job *job,
			   size_t draws);

/**
 * Return the degrees of freedom (compare/yardstick.h) with which the noise band of a point needs no
 * late draws.
 */
double kl_members_freedom(const struct kl_job *job, const struct kl_point *pt);

/**
 * Plan `draws` more draws of the band of `of`, or of the noise band if `of` is a twin, for
 * kl_pool_make_again().
 */
void kl_members_plan_again(struct kl_member **out, size_t *n, const struct kl_job *job,
			   const struct kl_member *of, size_t draws);

/**
 * Return true if the member is a spare draw: it is used only to compute tolerances, and no kernel
 * is called with it.
 */
bool kl_members_is_spare(const struct kl_member *member);
/** Return true if the tolerances of `of` depend on the honest answer to `member`. */
bool kl_members_measures(const struct kl_member *member, const struct kl_member *of);

#endif
