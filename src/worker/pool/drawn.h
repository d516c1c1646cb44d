/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_DRAWN_H
#define KL_WORKER_POOL_DRAWN_H

#include "base/key.h"
#include "worker/pool/pool.h"

/*
 * drawn - a job whose points are drawn in the domain of another job.
 *
 * They are drawn anew in each run, so that nobody can prepare a kernel for them. The points come in
 * pairs, a larger one and a smaller one ("drawn0" and "drawn1", and so on); none is a listed one.
 *
 * What the oracle costs at the listed points bounds their size: all oracle calls at drawn points
 * together are to take no more than a fraction of a second. In every dim, and in bytes, they stay
 * within about twice what the contract lists.
 */
#define KL_DRAWN_POINTS 6

struct kl_drawn {
	/* a copy of the other job with other points, fills and bands; it borrows the rest */
	struct kl_job job;
};

/**
 * Draw points under `key` for out->job: KL_DRAWN_POINTS, or as many as can be found, perhaps none.
 * `pool` is that of `job`, which knows what its oracle costs.
 */
int kl_drawn_make(struct kl_drawn *out, const struct kl_job *job, const struct kl_pool *pool,
		  const struct kl_key *key);
/**
 * Make a job with only the `n` points in `of`, named "drawn0" and so on, like the job that replays a
 * failure at them (docs/formats.md, "Drawn points").
 */
int kl_drawn_again(struct kl_drawn *out, const struct kl_job *job, const struct kl_point *const *of,
		   size_t n);
void kl_drawn_release(struct kl_drawn *drawn);

#endif
