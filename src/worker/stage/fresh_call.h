/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_FRESH_CALL_H
#define KL_WORKER_STAGE_FRESH_CALL_H

#include "worker/stage/inquiry.h"
#include "worker/subject/trial.h"

/*
 * fresh_call - calls the candidate once in a new process. If its answer to an input is wrong after
 * other calls but right in a new process, the kernel keeps something from call to call.
 */

/**
 * Call the candidate, a kernel in C, with `member` and with the addresses and poison of `trial`.
 * Returns 1 if it answers correctly, 0 if it answers wrongly, faults or hangs, or an error if it
 * cannot be called.
 */
int kl_fresh_call(const struct kl_inquiry *inquiry, const struct kl_member *member,
		  const struct kl_trial *trial);

#endif
