/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_JOB_READ_H
#define KL_JOB_JOB_READ_H

#include <stdbool.h>

#include "text/json.h"

/*
 * job_read - reads and checks members of a job's objects. A job is untrusted input: a value of the
 * wrong type, length or range is KL_EINVALID, and the message names the member.
 */

/**
 * Check that `obj` is an object whose members are all in the NULL-terminated list `known`. `where`
 * names the object in messages.
 */
int kl_job_read_only(const json_t *obj, const char *where, const char *const *known);
/** Read a string of 1 to size - 1 bytes. */
int kl_job_read_str(char *out, size_t size, const json_t *obj, const char *key);
/**
 * Read a string of any length into *out, which the caller frees. With `optional`, *out is left
 * unchanged if the member is missing or null.
 */
int kl_job_read_heap(char **out, const json_t *obj, const char *key, bool optional);
/** Read an integer from `min` to `max`. */
int kl_job_read_int(int64_t *out, const json_t *obj, const char *key, int64_t min, int64_t max);
/** Read a finite number of at least 0; *out is `dflt` if the member is missing. */
int kl_job_read_num(double *out, const json_t *obj, const char *key, double dflt);
/** Read a boolean; *out is `dflt` if the member is missing. */
int kl_job_read_bool(bool *out, const json_t *obj, const char *key, bool dflt);

#endif
