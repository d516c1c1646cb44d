/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_ODD_H
#define KL_WORKER_COMPARE_ODD_H

#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * odd - judges the elements of answers to further values that no rule can judge by their error: the
 * truth, the honest answer or the kernel's answer is not finite.
 *
 *	truth		honest		the answer must be
 *	NaN		not finite	NaN; not finite if no input is NaN
 *	infinite	not finite	not finite
 *	not finite	finite		anything, since plain arithmetic gives a finite answer
 *	finite		not finite	anything
 *	finite		finite		finite; but if an input is not finite, some such answers
 *					need not be finite either: they are called strays
 *
 * Strays are allowed because sound algorithms can spread a NaN to other elements: by multiplying
 * padding by zero, or by adding blocks of a matrix before multiplying them. But at most three
 * quarters of the elements may be strays if the output has at least KL_ODD_FEW elements and its
 * truth is not finite somewhere: this refuses a kernel that answers everything with NaN. For
 * an f64 output, which has no honest answer, the truth is used instead.
 */
#define KL_ODD_FEW 16

/**
 * Judge these elements and record the wrong ones in `mismatch`. Returns a copy of the answer, freed
 * by the caller, in which the accepted ones are settled: they have the value of the truth, so that
 * the rules accept them. NULL: no element is settled.
 */
char *kl_odd_settle(struct kl_mismatch *mismatch, const struct kl_output *output);

#endif
