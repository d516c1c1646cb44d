/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_TRIAL_H
#define KL_WORKER_SUBJECT_TRIAL_H

#include "worker/subject/subject.h"

/*
 * trial - one call of one subject on given inputs: the only way in which
 * pool, audit and correctness touch a process that runs other people's code.
 */

/**
 * A kernel once: inputs copied in (`input[arg]` in the dtype), outputs poisoned,
 * called. The answer is at kl_subject_buffer().
 */
int kl_trial_kernel(struct kl_call *end, struct kl_subject *subject, const struct kl_job *job,
		    const void *const *input, uint64_t poison);

/** An oracle in a child of its own, for many calls at `pt`. */
int kl_trial_oracle_start(struct kl_subject **out, const struct kl_job *job,
			  const struct kl_point *pt, bool real_is_double);
/**
 * That oracle once, on inputs in the kernel's dtypes (exact as kl_real or
 * rounded to it). The answer is at kl_subject_buffer(): kl_real for float
 * tensors, the dtype for integers. KL_ECANNOT: it did not come to an end; the message
 * says how.
 */
int kl_trial_oracle(struct kl_subject *subject, const struct kl_job *job, const struct kl_point *pt,
		    const void *const *input, bool real_is_double);

#endif
