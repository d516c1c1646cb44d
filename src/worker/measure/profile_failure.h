/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_PROFILE_FAILURE_H
#define KL_WORKER_MEASURE_PROFILE_FAILURE_H

#include "worker/compare/compare.h"
#include "worker/pool/pool.h"

/*
 * profile_failure - reports a candidate that failed while it was timed: result.status, class,
 * message and correct.failure, whether or not the correctness stage ran.
 */

/* What samplers (blocks.h) return then. */
#define KL_PROFILE_FAILED 1

/** Always KL_PROFILE_FAILED. */
int kl_profile_fail(json_t *result, const char *class, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** On which input and, unless `mismatch` is NULL, where: as kl_failure() says it. */
void kl_profile_describe(json_t *result, const struct kl_job *job, const struct kl_member *at,
			 const struct kl_mismatch *mismatch, const char *why);
/** A call that ended otherwise than well. */
int kl_profile_fail_end(json_t *result, const struct kl_job *job, const struct kl_member *at,
			const struct kl_call *call);
/** A wrong answer; `kept` is the earlier input whose answer it is, or NULL. */
int kl_profile_fail_wrong(json_t *result, const struct kl_job *job, const struct kl_member *at,
			  const struct kl_mismatch *mismatch, const struct kl_member *kept);

#endif
