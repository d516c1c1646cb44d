/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_DRAWN_H
#define KL_WORKER_POOL_DRAWN_H

#include "base/key.h"
#include "worker/pool/pool.h"

/*
 * drawn - makes a job whose points are drawn in the domain of another job.
 *
 * New points are drawn in each run, so that nobody can prepare a kernel for them. They come in
 * pairs, a larger point and a smaller one ("drawn0" and "drawn1", and so on). No drawn point is one
 * that the contract lists.
 *
 * The size of the points is limited by the time of the oracle at the listed points, so that all
 * oracle calls at drawn points together take no more than a fraction of a second. Each dim, and the
 * size in bytes, is at most about twice the largest that the contract lists.
 */
#define KL_DRAWN_POINTS 6

struct kl_drawn {
	/* a copy of the given job with new points, fills and bands; the rest is borrowed from it */
	struct kl_job job;
};

/**
 * Make a job with points drawn under `key`: KL_DRAWN_POINTS, or fewer (possibly none) if no more
 * can be found. `pool` is the pool of `job`, which tells how long the oracles take.
 */
int kl_drawn_make(struct kl_drawn *out, const struct kl_job *job, const struct kl_pool *pool,
		  const struct kl_key *key);
/**
 * Make a job with only the `n` points in `of`, named "drawn0" and so on, as in the job that replays
 * a failure at these points (docs/formats.md, "Drawn points").
 */
int kl_drawn_again(struct kl_drawn *out, const struct kl_job *job, const struct kl_point *const *of,
		   size_t n);
void kl_drawn_release(struct kl_drawn *drawn);

#endif
