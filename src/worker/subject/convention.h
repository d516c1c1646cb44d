/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_CONVENTION_H
#define KL_WORKER_SUBJECT_CONVENTION_H

#include "worker/subject/trace.h"
#include "worker/subject/wire.h"

/*
 * convention - checks that a kernel kept to the calling convention. Besides registers and stack, a
 * kernel must restore the floating-point control words (flush to zero, rounding, masks), the
 * direction and alignment-check flags and the segments, and leave the x87 stack empty. Otherwise
 * its caller would compute differently from then on. The gate itself is not affected, because it
 * resets all this state before each call.
 *
 * Floating-point status bits and the upper halves of vector registers may change.
 */

/**
 * Check a traced child that is stopped after a call. `home` has the child's registers before the
 * first call, `now` those after this call. Return a message about a change that the kernel left
 * behind, to follow "the kernel "; NULL if there is none.
 */
const char *kl_convention_broken(pid_t pid, const struct kl_trace_regs *home,
				 const struct kl_trace_regs *now);
/** Check an untraced child by the state that its stub saved. Segments are not checked. */
const char *kl_convention_broken_saved(const struct kl_saved_state *saved);

#endif
