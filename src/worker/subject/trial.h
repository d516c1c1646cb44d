/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_TRIAL_H
#define KL_WORKER_SUBJECT_TRIAL_H

#include "base/rng.h"
#include "worker/subject/subject.h"

/*
 * trial - calls one subject once on given inputs. Only through it do pool, audit and correctness
 * touch a process that runs foreign code.
 */

/* What a kernel is called with. All of it is drawn alike for calls that are timed and that are not. */
struct kl_trial {
	struct kl_place place;
	uint64_t poison;
	const void *const *input; /* `input[arg]` in the dtype */
	bool cold;                /* evict all tensors from the caches before the call */
};

/** Draw a place for the next call at the subject's main point, and poison for it. */
void kl_trial_draw(struct kl_trial *trial, struct kl_rng *rng);
/**
 * Call a kernel once: place the tensors, poison the outputs, copy the inputs in, call. The answer is
 * in kl_subject_buffer().
 */
int kl_trial_kernel(struct kl_call *end, struct kl_subject *subject, const struct kl_job *job,
		    const struct kl_trial *trial);

/** Start an oracle in a child of its own, for many calls at `pt`. */
int kl_trial_oracle_start(struct kl_subject **out, const struct kl_job *job,
			  const struct kl_point *pt, bool real_is_double);
/**
 * Call an oracle from kl_trial_oracle_start() once, on inputs in the kernel's dtypes (exact as
 * kl_real or rounded to it). The answer is in kl_subject_buffer(): kl_real for float tensors, the
 * dtype for integers. *ns (may be NULL) is its time, of a function in C its processor time.
 * KL_ECANNOT: the call failed; the message says how.
 */
int kl_trial_oracle(struct kl_subject *subject, const struct kl_job *job, const struct kl_point *pt,
		    const void *const *input, bool real_is_double, int64_t *ns);

#endif
