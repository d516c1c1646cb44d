/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_CONVENTION_H
#define KL_WORKER_SUBJECT_CONVENTION_H

#include "worker/subject/trace.h"
#include "worker/subject/wire.h"

/*
 * convention - checks that a kernel kept to the calling convention. Besides registers and stack it
 * must restore the control words of floating point (flush to zero, rounding, masks), an empty x87
 * stack, the direction and alignment-check flags, and the segments. A kernel that does not changes
 * what its caller computes from then on. The gate itself is not affected: it sets all of them before
 * each call.
 *
 * The status bits of floating point and the upper halves of vector registers may change.
 */

/** With ptrace: the child is stopped behind a call. NULL: all is well; otherwise what was changed. */
const char *kl_convention_broken(pid_t pid, const struct kl_trace_regs *home,
				 const struct kl_trace_regs *now);
/** Without ptrace: the same for what the stub saved, as far as it does. */
const char *kl_convention_broken_saved(const struct kl_saved_state *saved);

#endif
