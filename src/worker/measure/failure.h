/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_FAILURE_H
#define KL_WORKER_MEASURE_FAILURE_H

#include "worker/compare/compare.h"
#include "worker/pool/pool.h"

/*
 * failure - builds the report of a kernel's failure: its class, the input and the place
 * (result.correct.failure; docs/formats.md, "Job and result").
 */

/** Return the failure class of a call that did not end with KL_CALL_OK. */
const char *kl_failure_class(enum kl_call_end end);
/** Return the failure class of a wrong answer. */
const char *kl_failure_class_wrong(const struct kl_mismatch *mismatch);
/*
 * Numbers are hidden because the values and places of a failure reveal something about the inputs,
 * and a kernel could choose its wrong answers to reveal more. The next candidate of a live session
 * is judged on the same pool, so a failure that cannot be repeated on other inputs is reported
 * without its numbers.
 */
/** Return true if the numbers of a failure on this member must be hidden. */
bool kl_failure_is_secret(const struct kl_job *job, const struct kl_member *member);
/** Remove the place and the values from a failure, and all numbers from its `why`. */
void kl_failure_hide(json_t *failure);
/** Copy a message with "..." in place of each number; the caller frees the copy. */
char *kl_failure_hidden(const char *text);

/**
 * Name the point and band of a member for a message: "'also1', band 'noise'". For a drawn point,
 * also name its dims: "'drawn0' (M=3, N=7), band 'noise'".
 */
void kl_failure_place(char *out, size_t cap, const struct kl_job *job, const struct kl_member *at);
/** Return the dims of a point as a JSON object; the caller owns it. */
json_t *kl_failure_dims(const struct kl_job *job, const struct kl_point *pt);
/**
 * Build the failure object; the caller owns it. It has a seed only if the job is a replay. It
 * includes the place and values of `mismatch`, unless `mismatch` is NULL or its `out` is -1 because
 * no answer was judged.
 */
json_t *kl_failure(const struct kl_job *job, const struct kl_member *at,
		   const struct kl_mismatch *mismatch, const char *why);

#endif
