/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_GRADED_H
#define KL_WORKER_COMPARE_GRADED_H

#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * graded - judges an answer slice by slice along an axis, such as row by row.
 *
 * It is for members whose inputs are graded: a few of their slices are far larger than the others.
 * Rule noise has one tolerance for a whole group, and the large slices set it; small ones
 * could then have any value.
 *
 * A slice is wrong if its root mean square error is more than KL_GRADED_ROOM times what the rule
 * allows for that of the honest answer in this slice. The answer is wrong if more than half of the
 * slices are: a kernel that has one exponent for a whole matrix loses all small ones. A sound
 * algorithm that combines two parts of a matrix (Strassen's) loses only the counterparts of large
 * ones.
 */
#define KL_GRADED_ROOM 8
#define KL_GRADED_LEAST 8 /* fewer slices are not judged */

/** Check an output under rule noise, along the axis member->graded; see above. */
void kl_graded_check(struct kl_mismatch *mismatch, const struct kl_output *output);

#endif
