/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_AXIS_H
#define KL_REPORT_AXIS_H

#include "report/drawing.h"

/*
 * axis - places values along a side of a figure. On a logarithmic axis equal distances mean equal
 * factors; on a linear axis, equal differences.
 */
#define KL_AXIS_TICKS 64

struct kl_axis {
	bool linear;
	double lo, hi;   /* the range of values; of a logarithmic axis above 0 */
	double from, to; /* pixels at which it begins and ends */
};

double kl_axis_position(const struct kl_axis *axis, double value);
/** Extend the range so that it has this value. */
void kl_axis_include(struct kl_axis *axis, double value);
/** Add a margin to the range, and widen a range that is too small to draw. */
void kl_axis_widen(struct kl_axis *axis);
/** Choose round values inside the range, ascending. Returns how many. */
size_t kl_axis_ticks(double out[KL_AXIS_TICKS], const struct kl_axis *axis);
/** Draw a vertical axis at `left`, with grid lines up to `right`. `unit` follows each number. */
void kl_axis_draw(struct kl_drawing *drawing, const struct kl_axis *axis, double left, double right,
		  const char *unit);

#endif
