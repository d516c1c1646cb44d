/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_POOLED_H
#define KL_EVENT_POOLED_H

#include <stddef.h>

#include "text/json.h"

/*
 * pooled - combines the profiles of several rounds, which measured the same kernels, into one. Each
 * ratio is the geometric mean of the rounds' ratios. Its interval covers two uncertainties: that of
 * the rounds' own intervals, whose half-widths are independent and so add in quadrature, and the
 * differences between rounds (Student's t). The second is needed because a slow change of the
 * machine hardly shows within a round, only between rounds.
 */

/**
 * Pool the members "profile" of workers' results (docs/formats.md, §8). A comparison that some
 * rounds lack is pooled from the other rounds. The caller owns the result; NULL if there are no
 * rounds, or their points differ.
 */
json_t *kl_pooled_profile(json_t *const *doc, size_t n);

#endif
