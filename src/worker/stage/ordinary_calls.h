/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_ORDINARY_CALLS_H
#define KL_WORKER_STAGE_ORDINARY_CALLS_H

#include "worker/stage/inquiry.h"

/*
 * ordinary_calls - calls the candidate as a program calls it: many times in one process and with
 * one copy of its code, while nothing is reloaded, overwritten or poisoned between two calls (stage
 * correct, backend cuda).
 *
 * Every other kind of judged call begins with cleaned memory, so that a kernel cannot rely on its
 * content. But this hides a kernel that keeps something from call to call: a count in shared
 * memory, in a constant or in a variable, or an answer that still lies in its output. In ordinary
 * calls such a kernel finds the data that it kept, and every answer is judged. Inputs are ordered
 * such that a kept answer is wrong: an input and its twin alternate, and now and then comes another
 * input.
 */

/**
 * Make ordinary calls at every point: first at the performance points, then at the others, then,
 * unless calls are slow, at the first performance point again. Return 0 whatever the kernel did.
 * Appends to `notes` each performance point at which calls are too slow to make all of them.
 */
int kl_ordinary_calls(struct kl_inquiry *inquiry, json_t *notes);

#endif
