/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_POOL_PARTS_H
#define KL_WORKER_POOL_POOL_PARTS_H

#include "worker/pool/key.h"
#include "worker/pool/pool.h"
#include "worker/pool/yardsticks.h"

/*
 * pool_parts - the struct and functions that the files of the pool share. pool.c makes and maps the
 * file of the members, pool_tolerances.c computes tolerances.
 */
struct kl_pool {
	char *dir;
	const struct kl_job *job;
	struct kl_poolindex index;
	size_t nrule;
	struct kl_member *member;
	size_t n;
	char *base; /* the mapped file of all members; NULL if not mapped */
	size_t bytes;
	size_t *at; /* where each planned member begins in the file */
	/* true for each planned member that could not be made, or is late and not needed */
	bool *none;
	bool *measured; /* true for each planned member whose honest errors are in the yardsticks */
	struct kl_yardsticks yardsticks;
};

/**
 * Compute the tolerances of all members that were made and have none yet, and add their honest
 * errors to the yardsticks.
 */
int kl_pool_measure(struct kl_pool *pool);
/**
 * Forget all tolerances and yardsticks, so that kl_pool_measure() adds up the errors of all members
 * in the same order as it does after the pool is opened again.
 */
void kl_pool_forget(struct kl_pool *pool);
/** Let the tolerances of all members use `yardsticks`, which must outlive the pool. */
void kl_pool_set_yardsticks(struct kl_pool *pool, const struct kl_yardsticks *yardsticks);
/**
 * Return true if no tolerance can be computed for a member of the further band `constant`: its true
 * answer vanishes in some group, as in a normalization of rows of one value, and elements share
 * roundings, so that an honest answer can only be exact by chance.
 */
bool kl_pool_vanishes(const struct kl_pool *pool, const struct kl_member *member);
void kl_pool_free_tolerances(const struct kl_member *member, size_t nrule);

#endif
