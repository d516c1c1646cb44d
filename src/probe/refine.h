/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_REFINE_H
#define KL_PROBE_REFINE_H

#include "probe/probing.h"

/*
 * refine - adds points that decide between conditions which the judged points cannot tell apart: the
 * nearest failing value of a bound at a passing point, at most `between` values, evenly spaced,
 * between a bound's last failure and first pass, and odd multiples of a divisor. Inside src/probe only.
 */
void kl_probe_refine(struct kl_probe_points *points, const struct kl_probing *probe, size_t step,
		     size_t between);

#endif
