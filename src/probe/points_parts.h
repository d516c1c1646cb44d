/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_POINTS_PARTS_H
#define KL_PROBE_POINTS_PARTS_H

#include "probe/points.h"

/* points_parts - the meaning of an axis of a user's grid for a contract. Inside src/probe only. */
struct kl_probe_axis_of {
	enum {
		KL_PROBE_AXIS_NONE, /* the contract has no dim or tensor of this name */
		KL_PROBE_AXIS_DIM,
		KL_PROBE_AXIS_VALUES,
		KL_PROBE_AXIS_ALIGN,
	} kind;
	size_t at; /* index of the dim, or of the argument */
};
struct kl_probe_axis_of kl_probe_axis_find(const struct kl_contract *contract, const char *name);
/**
 * Check the axes of the grid. Return KL_EUSAGE if an axis names a part that the contract does not
 * have, or has impossible values.
 */
int kl_probe_axes_check(const struct kl_probe_points_of *of);

#endif
