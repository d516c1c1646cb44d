/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_MACHINE_H
#define KL_BACKEND_MACHINE_H

#include "event/platform.h"

/*
 * machine - detects the platform of kernels in C: the processor and compiler of this machine.
 */

/**
 * Detect the platform. `want` is the requested level, "cpu/x86-64-v1" to "cpu/x86-64-v4"; NULL for
 * the highest level that the processor supports, but at most v3. Return KL_EINVALID if `want` is
 * unknown. Return KL_ECANNOT if the processor does not support the level, or there is no compiler.
 */
int kl_machine_platform(struct kl_platform *out, const char *want);

#endif
