/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_MISMATCH_H
#define KL_WORKER_COMPARE_MISMATCH_H

#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * mismatch - what is reported of wrong answers (struct kl_mismatch of compare.h): the first in
 * full, of the others how many and whether all lie on borders. One begins as { .out = -1 }.
 */

/**
 * Is this place on a border? In some axis of at least 4: the first index, or
 * within the last eighth (at least 1, at most 15 places): where halos and the
 * remainders of tiles lie.
 */
bool kl_mismatch_border(const int64_t *index, const int64_t *extent, size_t naxes);

/** Count a bad element; true when it is the first, whose details are wanted. */
bool kl_mismatch_note(struct kl_mismatch *mismatch, const struct kl_output *output, size_t i);
/** `got` and `wanted` of element i, whose truth is y. */
void kl_mismatch_describe(struct kl_mismatch *mismatch, const struct kl_output *output, size_t i,
			  double truth);
/** An error, and what was allowed: the margin is the worst of all. */
void kl_mismatch_widen(struct kl_mismatch *mismatch, double error, double allowed);
/** Add what comes after it. */
void kl_mismatch_merge(struct kl_mismatch *mismatch, const struct kl_mismatch *part);

#endif
