/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_PTX_CLOCK_H
#define KL_BACKEND_CUDA_PTX_CLOCK_H

#include "backend/cuda/ptx.h"

/*
 * ptx_clock - checks how a kernel uses clocks.
 *
 * A clock may bound a wait: how long a thread sleeps, how often it polls, or when it gives up by a
 * trap. No result may depend on a clock, because a kernel could otherwise do its work at some times
 * and not at others. Therefore the check follows every register that depends on a clock: through
 * arithmetic, through loads from an address that depends on it, and into every register that is set
 * between a branch on it and the point where the paths of the branch meet. Such a register may be
 * used only by arithmetic, loads, nanosleep, traps and branches. Between such a branch and the
 * point where its paths meet, only arithmetic, loads, fences, nanosleep, traps and branches are
 * allowed.
 */

/**
 * Check that `fn` uses clocks only to bound waits. The PTX text that `fn` points into must not have
 * been freed. If `fn` reads no clock, return 0. Return KL_ENO if another instruction depends on a
 * clock. The message names it.
 */
int kl_ptx_clock(const struct kl_ptx_fn *fn);

#endif
