/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_FAILURE_H
#define KL_WORKER_MEASURE_FAILURE_H

#include "worker/compare/compare.h"
#include "worker/pool/pool.h"

/*
 * failure - how a stage reports a failure: the class of a call's end, and on which input, at which
 * place (result.correct.failure; docs/formats.md, "Job and result").
 */

/** Class of an end other than KL_CALL_OK. */
const char *kl_failure_class(enum kl_call_end end);
/** Class of a wrong answer. */
const char *kl_failure_class_wrong(const struct kl_mismatch *mismatch);
/**
 * The place where `mismatch` stands is given as well, unless `mismatch` is NULL or m->out is -1: no
 * answer was judged.
 */
json_t *kl_failure(const struct kl_job *job, const struct kl_member *at,
		   const struct kl_mismatch *mismatch, const char *why);

#endif
