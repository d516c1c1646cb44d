/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_GRADED_H
#define KL_WORKER_COMPARE_GRADED_H

#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * graded - judges an answer slice by slice along an axis, such as row by row.
 *
 * This check is for members whose inputs are graded: a few slices have far larger values than the
 * other slices. The rule `noise` has one tolerance for a whole group. The large slices determine
 * it, so that any values in the small slices would be within this tolerance.
 *
 * A slice is wrong if its root mean square error is more than KL_GRADED_ROOM times the error that
 * the rule would allow if the slice were a group. The answer is wrong if more than half of its
 * slices are wrong. A kernel that uses one exponent for a whole matrix gets all small slices wrong
 * and fails. A sound algorithm that combines two parts of a matrix (Strassen's) gets only those
 * small slices wrong that it combines with large slices, and passes.
 */
#define KL_GRADED_ROOM 8
#define KL_GRADED_LEAST 8 /* an answer with fewer slices is not checked */

/** Check an output under the rule `noise`, slice by slice along the axis in member->graded. */
void kl_graded_check(struct kl_mismatch *mismatch, const struct kl_output *output);

#endif
