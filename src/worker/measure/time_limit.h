/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_TIME_LIMIT_H
#define KL_WORKER_MEASURE_TIME_LIMIT_H

#include "job/job.h"

/*
 * time_limit - how long a call on a GPU may take before it counts as hung: 20 times what the
 * candidate's own calls at other points predict, at least half a second, at most job->call_ms.
 *
 * Calls at the same point predict what they took. Otherwise the smaller points do, no dim of which is
 * larger, and the prediction is generous: the time may grow with the product of the factors by which
 * the dims grow, times the largest of them once more, as it does for an algorithm that is quadratic
 * in one dim; and the point that predicts most counts, since a kernel can have a slow way for some
 * shapes. Calls of other kernels predict nothing: a naive kernel may be a thousand times slower than
 * its successor.
 */

/**
 * Limit of a call at `pt`, in milliseconds. `ns[i]` is the longest time of a call at job->point[i],
 * 0 if there was none; job->call_ms if nothing predicts it.
 */
int64_t kl_time_limit(const struct kl_job *job, const struct kl_point *pt, const int64_t *ns);
/** Limit of `n` calls that are expected to take `ns` each; `ns` <= 0: unknown. */
int64_t kl_time_limit_of(const struct kl_job *job, double ns, size_t n);

#endif
