/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_FRESH_CALL_H
#define KL_WORKER_MEASURE_FRESH_CALL_H

#include "worker/compare/member.h"
#include "worker/subject/trial.h"

/*
 * fresh_call - calls the candidate in a new process. If its answer to an input is wrong after
 * other calls but right in a new process, the kernel keeps something from call to call.
 *
 *	err = kl_fresh_start(&subject, &(struct kl_fresh){ .job = job, .cpu = -1 }, m, &trial);
 *	right = kl_fresh_answer(subject, job, m, &trial);
 */
struct kl_fresh {
	const struct kl_job *job;
	int cpu; /* processor of the process; -1 for any */
	/* longest time of a call at each point (time_limit.h); NULL if unknown */
	const int64_t *ns;
};

/** Start the candidate in a new process at the point of `member`, on the guard side of `trial`. */
int kl_fresh_start(struct kl_subject **out, const struct kl_fresh *fresh,
		   const struct kl_member *member, const struct kl_trial *trial);
/**
 * Call the candidate once with the input, addresses and poison of `trial`. Return 1 if the call
 * ended well, with its outputs in `got`; 0 if not, with the reason in *end; negative on error.
 */
int kl_fresh_call(struct kl_call *end, const void **got, struct kl_subject *subject,
		  const struct kl_job *job, const struct kl_trial *trial);
/**
 * Call the candidate once and judge its answer to `member`. Return 1 if it is right; 0 if it is
 * wrong or if the call did not end well; negative on error.
 */
int kl_fresh_answer(struct kl_subject *subject, const struct kl_job *job,
		    const struct kl_member *member, const struct kl_trial *trial);

#endif
