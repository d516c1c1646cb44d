/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_STATS_H
#define KL_BASE_STATS_H

#include <stddef.h>

/*
 * stats - robust figures from few, noisy samples.
 */
struct kl_interval {
	double mid, lo, hi;
};

/** Sorts `values`. */
double kl_stats_median(double *values, size_t n);

/**
 * Hodges-Lehmann estimate of the centre of `values` with the distribution-free
 * interval of the Wilcoxon signed-rank test at the coverage nearest to but
 * not below 95 % (Hollander & Wolfe, Nonparametric Statistical Methods,
 * ch. 3). Below 6 samples no such interval exists: Student's t then.
 * n = 1 gives an infinite interval. `values` is not changed.
 */
struct kl_interval kl_stats_centre(const double *values, size_t n);

#endif
