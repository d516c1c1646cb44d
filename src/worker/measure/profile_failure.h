/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_PROFILE_FAILURE_H
#define KL_WORKER_MEASURE_PROFILE_FAILURE_H

#include "worker/compare/compare.h"
#include "worker/pool/pool.h"

/*
 * profile_failure - reports a candidate that failed while it was timed. The functions set
 * result.status, class, message and correct.failure, whether or not stage correct ran.
 */

/* A sampler (blocks.h) returns this after it reported a failure of the candidate. */
#define KL_PROFILE_FAILED 1

/** Set status, class and message. Always returns KL_PROFILE_FAILED. */
int kl_profile_fail(json_t *result, const char *class, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/**
 * Set correct.failure: the input and, unless `mismatch` is NULL, the place (kl_failure()). If
 * numbers must be hidden (failure.h), remove them from correct.failure and from the message.
 */
void kl_profile_describe(json_t *result, const struct kl_job *job, const struct kl_member *at,
			 const struct kl_mismatch *mismatch, const char *why);
/** Report a call that did not end with KL_CALL_OK. Return KL_PROFILE_FAILED. */
int kl_profile_fail_end(json_t *result, const struct kl_job *job, const struct kl_member *at,
			const struct kl_call *call);
/**
 * Report a wrong answer. `kept` is the earlier input to which the answer is right; NULL if there is
 * no such input. Return KL_PROFILE_FAILED.
 */
int kl_profile_fail_wrong(json_t *result, const struct kl_job *job, const struct kl_member *at,
			  const struct kl_mismatch *mismatch, const struct kl_member *kept);

#endif
