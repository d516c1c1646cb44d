/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_STATS_H
#define KL_BASE_STATS_H

#include <stddef.h>

/* stats - computes robust estimates from few, noisy samples. */
struct kl_interval {
	double mid, lo, hi;
};

/** Return the median of `values`, and sort them in place; NaN if `n` is 0. */
double kl_stats_median(double *values, size_t n);

/**
 * Return the Hodges-Lehmann estimate of the centre of `values`, with the distribution-free interval
 * of the Wilcoxon signed-rank test at the smallest possible coverage of at least 95 % (Hollander &
 * Wolfe, Nonparametric Statistical Methods, ch. 3). Fewer than 6 samples allow no such interval, so
 * Student's t is used for them. The interval is infinite if `n` is 0 or 1. `values` is not changed.
 */
struct kl_interval kl_stats_centre(const double *values, size_t n);

#endif
