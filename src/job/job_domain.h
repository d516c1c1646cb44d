/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_JOB_DOMAIN_H
#define KL_JOB_JOB_DOMAIN_H

#include "job/job.h"

/*
 * job_domain - reads and writes the domain of a job: the conditions that points must meet, and the
 * shapes of the tensors as expressions over the dims. The worker uses the domain to make points
 * that the job does not list.
 */

/** If the document has "domain", set job->domain from it and check the expressions. */
int kl_job_parse_domain(struct kl_job *job, const json_t *doc);
/** Return the domain as the value of "domain"; the caller frees it. */
json_t *kl_job_write_domain(const struct kl_job *job);
void kl_job_domain_free(struct kl_job_domain *domain);

/**
 * Make a point with the id `id` and the dims `dim`, in the order of the job. Return KL_EINVALID if
 * an extent is below 1, a dim does not fit its type, or a tensor is too large.
 */
int kl_job_point_at(struct kl_point *out, const struct kl_job *job, const char *id,
		    const int64_t *dim);
/**
 * Copy `fill`; if it has a member `index`, add the bound of the indices at this point to it. Return
 * KL_EINVALID if the fill has no expression for the bound, or the bound is below 1. The caller
 * frees *out.
 */
int kl_job_fill_at(json_t **out, const struct kl_job *job, const json_t *fill,
		   const struct kl_point *point);

#endif
