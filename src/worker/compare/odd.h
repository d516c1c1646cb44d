/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_ODD_H
#define KL_WORKER_COMPARE_ODD_H

#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * odd - judges elements of answers that no rule can judge by their error. The truth, the honest
 * answer or the kernel's answer for such an element is not finite. Only answers to values beyond
 * those of the contract are judged in this way (pool/further.h).
 *
 *	truth		honest		the answer must be
 *	NaN		not finite	NaN; not finite if no input is NaN
 *	infinite	not finite	not finite
 *	not finite	finite		anything, since plain arithmetic gives a finite answer
 *	finite		not finite	anything
 *	finite		finite		finite; but if an input is not finite, some elements
 *					need not be finite either: they are called strays
 *
 * Strays are allowed because sound algorithms can spread a NaN to other elements: by multiplying
 * padding by zero, or by adding blocks of a matrix before multiplying them. But if the output has
 * at least KL_ODD_FEW elements and its truth is not finite somewhere, at most three quarters of the
 * elements may be strays: this refuses a kernel that answers everything with NaN. For an f64 output
 * the truth takes the place of the honest answer, which is only computed in float.
 */
#define KL_ODD_FEW 16

/**
 * Judge the elements that are described above and record the wrong ones in `mismatch`. Return a
 * copy of the answer, which the caller frees. In this copy each accepted element has the value of
 * the truth, because the rules would refuse its own value. Return NULL if no element had to be
 * replaced.
 */
char *kl_odd_settle(struct kl_mismatch *mismatch, const struct kl_output *output);

#endif
