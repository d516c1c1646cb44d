/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_PTX_CLOCK_H
#define KL_BACKEND_CUDA_PTX_CLOCK_H

#include "backend/cuda/ptx.h"

/*
 * ptx_clock - what a kernel does with a clock.
 *
 * A clock may bound a wait: how long a thread sleeps, how often it looks again, when it gives up with
 * a trap. It may not decide over a result, or a kernel could do its work at one time and not at
 * another. So every register that depends on a clock is followed: by arithmetic, by loads whose
 * address it is in, and into every register that is set between a branch on it and the place where
 * the branch's paths meet. Such values may reach nanosleep, traps and branches only; and between
 * such a branch and that place there may be nothing but arithmetic, loads, fences, nanosleep and
 * traps.
 */

/**
 * Check a function whose text must still be there. KL_ENO: a clock reaches something else; the
 * message names it. 0 if the function reads no clock.
 */
int kl_ptx_clock(const struct kl_ptx_fn *fn);

#endif
