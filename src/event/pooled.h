/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_POOLED_H
#define KL_EVENT_POOLED_H

#include <stddef.h>

#include "text/json.h"

/*
 * pooled - makes one profile of those that several rounds measured of the same kernels. A ratio is
 * the geometric mean of those of the rounds. Its interval holds what the rounds' own intervals
 * leave open (their half-widths are independent, so they add in quadrature) and how much the rounds
 * differ from each other (Student's t): what changes slowly on a machine is the same within a round
 * and shows only between rounds.
 */

/**
 * Pool members "profile" of workers' results (docs/formats.md, §8). A comparison that some rounds
 * lack is pooled from the others. The caller owns the result; NULL: there is no round, or the
 * rounds have not the same points.
 */
json_t *kl_pooled_profile(json_t *const *doc, size_t n);

#endif
