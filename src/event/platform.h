/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_PLATFORM_H
#define KL_EVENT_PLATFORM_H

#include "base/vec.h"

/*
 * platform - describes where a kernel was judged, for events and cache keys.
 */
struct kl_platform {
	char id[32];        /* "cpu/x86-64-v3", "cuda/sm_90" */
	char march[32];     /* "x86-64-v3", "sm_90a" */
	char device[128];   /* model of the processor or GPU; "" if not known yet */
	char compiler[384]; /* "gcc 12.2.0", "nvcc 13.0.88, cutlass 0123456789ab" */
};

/** A platform as stored in an event. Strings live as long as the event (event.h); "" if absent. */
struct kl_place {
	const char *id, *device, *driver, *compiler;
	struct kl_strvec flags; /* flags given to the compiler */
};

#endif
