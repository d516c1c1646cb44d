/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_TRIAL_H
#define KL_WORKER_SUBJECT_TRIAL_H

#include "worker/subject/subject.h"

/*
 * trial - calls one subject once on given inputs. Only through it do pool, audit and correctness
 * touch a process that runs foreign code.
 */

/**
 * Call a kernel once: copy the inputs in (`input[arg]` in the dtype), poison the outputs, call. The
 * answer is in kl_subject_buffer().
 */
int kl_trial_kernel(struct kl_call *end, struct kl_subject *subject, const struct kl_job *job,
		    const void *const *input, uint64_t poison);

/** Start an oracle in a child of its own, for many calls at `pt`. */
int kl_trial_oracle_start(struct kl_subject **out, const struct kl_job *job,
			  const struct kl_point *pt, bool real_is_double);
/**
 * Call an oracle from kl_trial_oracle_start() once, on inputs in the kernel's dtypes (exact as
 * kl_real or rounded to it). The answer is in kl_subject_buffer(): kl_real for float tensors, the
 * dtype for integers. KL_ECANNOT: the call failed; the message says how.
 */
int kl_trial_oracle(struct kl_subject *subject, const struct kl_job *job, const struct kl_point *pt,
		    const void *const *input, bool real_is_double);

#endif
