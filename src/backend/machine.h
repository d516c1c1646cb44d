/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_MACHINE_H
#define KL_BACKEND_MACHINE_H

#include "event/platform.h"

/*
 * machine - the processor of this machine and its compiler, as the platform of kernels in C.
 */

/**
 * `want` is a level, "cpu/x86-64-v1" to "-v4"; NULL: the highest that the processor has, at most
 * v3. KL_ECANNOT: the processor is below `want`, or there is no compiler.
 */
int kl_machine_platform(struct kl_platform *out, const char *want);

#endif
