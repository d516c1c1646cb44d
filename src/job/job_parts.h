/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_JOB_PARTS_H
#define KL_JOB_JOB_PARTS_H

#include "job/job.h"

/*
 * job_parts - the parsers of a job's sections. job.c calls them in this order; each relies on
 * those before it. What they fill is the job's, and kl_job_free() frees it, however far they came.
 * KL_EINVALID, with the place.
 */

/** "args": what the kernel is called with. */
int kl_job_parse_args(struct kl_job *job, const json_t *doc);
/** "points": where it is called, each with the extents of its tensors. */
int kl_job_parse_points(struct kl_job *job, const json_t *doc);
/** "accept": what judges its outputs, every one of them. */
int kl_job_parse_rules(struct kl_job *job, const json_t *doc);
/** "accept" again. */
json_t *kl_job_write_rules(const struct kl_job *job);
/**
 * "exact" and "bands": the list in `doc`, checked, a reference of the caller's; empty where none
 * is.
 */
int kl_job_parse_bands(json_t **out, const struct kl_job *job, const json_t *doc, const char *key);

#endif
