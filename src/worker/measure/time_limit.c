/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/time_limit.h"

#include <math.h>

#define TIMES 20
#define LEAST_MS 500

/*
 * Return the factor by which a call's time may grow from `from` to `to`; 0 if a dim of `from` is
 * larger than that of `to`, so that a call at `from` predicts nothing.
 */
static double growth_between(const struct kl_job *job, const struct kl_point *from,
			     const struct kl_point *to)
{
	double product = 1, most = 1;

	for (size_t i = 0; i < job->ndim; i++) {
		double factor = from->dim[i] > 0 ? (double)to->dim[i] / (double)from->dim[i] :
						   (double)to->dim[i];

		if (factor < 1)
			return 0;
		product *= factor;
		most = fmax(factor, most);
	}
	return product * most;
}

int64_t kl_time_limit_of(const struct kl_job *job, double ns, size_t n)
{
	double most = (double)job->call_ms * (double)n, ms = TIMES * ns * (double)n / 1e6;

	if (!(ns > 0) || ms >= most)
		return (int64_t)most;
	return (int64_t)fmin(fmax(ceil(ms), LEAST_MS), most);
}

int64_t kl_time_limit(const struct kl_job *job, const struct kl_point *pt, const int64_t *ns)
{
	double most = (double)ns[pt - job->point];

	for (size_t i = 0; i < job->npoint && !ns[pt - job->point]; i++)
		most = fmax(most, (double)ns[i] * growth_between(job, &job->point[i], pt));
	return kl_time_limit_of(job, most, 1);
}
