/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_JOB_READ_H
#define KL_JOB_JOB_READ_H

#include <stdbool.h>

#include "text/json.h"

/*
 * job_read - reads members of a job's objects, with checks. A job came from elsewhere: what is not
 * of the type, the length or the range that it has to be is KL_EINVALID, with the member's name.
 */

/** Every member of `obj`, which `where` calls by a name, is one of the NULL-terminated list. */
int kl_job_read_only(const json_t *obj, const char *where, const char *const *known);
/** A string of 1 to size - 1 bytes. */
int kl_job_read_str(char *out, size_t size, const json_t *obj, const char *key);
/** A string of any length, the caller's to free; where `optional` it may be absent or null. */
int kl_job_read_heap(char **out, const json_t *obj, const char *key, bool optional);
int kl_job_read_int(int64_t *out, const json_t *obj, const char *key, int64_t min, int64_t max);
/** A number from 0 on; absent: dflt. */
int kl_job_read_num(double *out, const json_t *obj, const char *key, double dflt);
/** Absent: dflt. */
int kl_job_read_bool(bool *out, const json_t *obj, const char *key, bool dflt);

#endif
