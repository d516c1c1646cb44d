/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_TRIAL_H
#define KL_WORKER_SUBJECT_TRIAL_H

#include "base/rng.h"
#include "worker/subject/subject.h"

/*
 * trial - calls one subject once on given inputs. Except for the profile on a GPU, the other parts
 * of the worker call foreign code only through these functions.
 */

/*
 * The inputs and circumstances of one call. Place and poison are drawn in the same way for timed
 * and for other calls, so that a kernel cannot tell them apart.
 */
struct kl_trial {
	struct kl_place place;
	uint64_t poison;          /* seed for kl_subject_poison() */
	const void *const *input; /* borrowed: elements of each input, by argument, in its dtype */
	bool cold;                /* evict all tensors from the caches before the call */
	bool further;             /* the inputs are those of a further band */
};

/*
 * The factor by which the time limit of a kernel in C grows if the inputs are those of a further
 * band. These inputs can be denormal or have denormal products, and some processors need over a
 * hundred more cycles for each operation on such a number. So a slow but sound kernel would exceed
 * the usual limit.
 */
#define KL_TRIAL_FURTHER_TIMES 10

/** Draw the place, at the subject's main point, and the poison of the next call. */
void kl_trial_draw(struct kl_trial *trial, struct kl_rng *rng);
/**
 * Call a kernel once: place the tensors, poison the outputs, copy the inputs in, call. The outputs
 * are then in kl_subject_buffer().
 */
int kl_trial_kernel(struct kl_call *end, struct kl_subject *subject, const struct kl_job *job,
		    const struct kl_trial *trial);

/** Start an oracle in a child of its own, for many calls at `pt`. */
int kl_trial_oracle_start(struct kl_subject **out, const struct kl_job *job,
			  const struct kl_point *pt, bool real_is_double);
/**
 * Call an oracle from kl_trial_oracle_start() once, on inputs in the kernel's dtypes, which are
 * converted to kl_real. The outputs are then in kl_subject_buffer(): kl_real for float tensors, the
 * dtype for integers. *ns (`ns` may be NULL) is the processor time of the call, or its wall time if
 * that is unknown; on surface cuda it is 0. Return KL_ECANNOT if the call failed. The message says
 * how.
 */
int kl_trial_oracle(struct kl_subject *subject, const struct kl_job *job, const struct kl_point *pt,
		    const void *const *input, bool real_is_double, int64_t *ns);

#endif
