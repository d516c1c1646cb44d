/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_ROOFLINE_H
#define KL_REPORT_ROOFLINE_H

#include "report/content.h"

/*
 * roofline - computes the least time of a call on a device: the bytes that the contract's floor says
 * it must move by the device's memory bandwidth, or its operations by the device's arithmetic rate,
 * whichever takes longer. It is unknown for a kernel that is timed at several cases, or with its data in
 * the caches. The rates of devices are those that their maker publishes; the rate of f32 is that
 * without tensor cores, so a kernel that computes in TF32 can take less time.
 */
struct kl_roofline {
	double ns;         /* the least time; 0: the floor or the device is not known */
	const char *bound; /* "memory" or "arithmetic" */
};
struct kl_roofline kl_roofline_of(const struct kl_report_content *content);

#endif
