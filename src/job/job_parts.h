/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_JOB_PARTS_H
#define KL_JOB_JOB_PARTS_H

#include "job/job.h"

/*
 * job_parts - declares the parsers of a job's sections. job.c calls them in this order, since each
 * uses members that the parsers before it have set. kl_job_free() frees all that they allocated,
 * even after a failure. The parsers return KL_EINVALID if the section is malformed. The message
 * says what is wrong.
 */

/** Parse "args": the kernel's arguments. */
int kl_job_parse_args(struct kl_job *job, const json_t *doc);
/**
 * Parse "points": the sets of dims that the kernel is called with, with the extents of its tensors.
 */
int kl_job_parse_points(struct kl_job *job, const json_t *doc);
/** Parse "accept": the acceptance rules; every output must have one. */
int kl_job_parse_rules(struct kl_job *job, const json_t *doc);
/** Return the rules as the value of "accept"; the caller frees it. */
json_t *kl_job_write_rules(const struct kl_job *job);
/**
 * Parse "exact" or "bands": check the list at `key` and return a new reference to it, or a new
 * empty list if `doc` has none.
 */
int kl_job_parse_bands(json_t **out, const struct kl_job *job, const json_t *doc, const char *key);

#endif
