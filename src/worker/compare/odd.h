/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_ODD_H
#define KL_WORKER_COMPARE_ODD_H

#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * odd - settles the elements of an answer to further values that no rule can judge by its error:
 * those where the truth, the honest answer or the answer is not finite.
 *
 *	truth		honest		the answer must be
 *	NaN		not finite	NaN; not finite if no input is NaN
 *	infinite	not finite	not finite
 *	not finite	finite		anything: so is that of plain arithmetic
 *	finite		not finite	anything
 *	finite		finite		finite; if an input is not, some of these may be not
 *					finite, too: strays
 *
 * Strays are allowed because sound algorithms carry a NaN to neighbours: one that multiplies padding
 * by zero, or adds blocks of a matrix before it multiplies them. But they must be no more than three
 * quarters of all elements, if the output has at least KL_ODD_FEW and shows the input at all: a
 * kernel that answers everything with NaN does something else. An f64 output has no honest answer;
 * its truth stands for it.
 */
#define KL_ODD_FEW 16

/**
 * Check the elements that are not finite; a wrong one goes into `mismatch`. Returns a copy of the
 * answer in which each settled element has the truth, for the caller to free; NULL: none is settled.
 */
char *kl_odd_settle(struct kl_mismatch *mismatch, const struct kl_output *output);

#endif
