/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_CONVENTION_H
#define KL_WORKER_SUBJECT_CONVENTION_H

#include "worker/subject/trace.h"
#include "worker/subject/wire.h"

/*
 * convention - checks that a kernel kept to the calling convention. Besides registers and stack it
 * must restore the floating-point control words (flush to zero, rounding, masks), an empty x87
 * stack, the direction and alignment-check flags, and the segments. Otherwise its caller computes
 * differently from then on. The gate itself is not affected, because it sets all of them before
 * each call.
 *
 * Floating-point status bits and the upper halves of vector registers may change.
 */

/**
 * Check a traced child that is stopped after a call. `home` has its registers before the first
 * call, `now` those after this one. Returns NULL, or what the kernel left changed.
 */
const char *kl_convention_broken(pid_t pid, const struct kl_trace_regs *home,
				 const struct kl_trace_regs *now);
/** The same without ptrace, for the state that the stub saved; segments are not checked. */
const char *kl_convention_broken_saved(const struct kl_saved_state *saved);

#endif
