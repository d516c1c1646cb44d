/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_TIME_LIMIT_H
#define KL_WORKER_MEASURE_TIME_LIMIT_H

#include "job/job.h"

/*
 * time_limit - computes how long a call on a GPU may take before it counts as hung: 20 times the
 * time that earlier calls of the candidate predict, at least half a second, at most job->call_ms.
 *
 * If there were calls at the same point, the time of the longest is the predicted time. Otherwise
 * each point that had calls and has no larger dim predicts a time; the longest of these times
 * counts, since a kernel can be slow for some shapes. The time is assumed to grow at most with the
 * product of the factors by which the dims grow, times the largest of these factors once more, as
 * for an algorithm that is quadratic in one dim. Calls of other kernels predict nothing: a naive
 * kernel may be a thousand times slower than its successor.
 */

/**
 * Return the limit of a call at `pt` in milliseconds; job->call_ms if no earlier call predicts its
 * time. `ns[i]` is the longest time of a call at job->point[i]; 0 if there is no call.
 */
int64_t kl_time_limit(const struct kl_job *job, const struct kl_point *pt, const int64_t *ns);
/**
 * Return the limit in ms of `n` calls together, expected to take `ns` each; `ns` is 0 or less if
 * unknown.
 */
int64_t kl_time_limit_of(const struct kl_job *job, double ns, size_t n);

#endif
