/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_MACHINE_H
#define KL_BACKEND_MACHINE_H

#include "event/platform.h"

/*
 * machine - the processor and compiler of this machine, as the platform of kernels in C.
 */

/**
 * Detect the platform. `want` is a level, "cpu/x86-64-v1" to "-v4"; NULL: the highest level of the
 * processor, at most v3. KL_EINVALID: `want` is unknown. KL_ECANNOT: the processor does not support
 * it, or there is no compiler.
 */
int kl_machine_platform(struct kl_platform *out, const char *want);

#endif
