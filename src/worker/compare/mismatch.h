/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_MISMATCH_H
#define KL_WORKER_COMPARE_MISMATCH_H

#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * mismatch - records wrong elements in a struct kl_mismatch (compare.h). The first wrong element is
 * recorded in full; the others are only counted, and `edge_only` tells whether all lie on borders.
 * Initialize the struct with { .out = -1 }.
 */

/**
 * Return true if the element lies on a border of the tensor, where halos and the remainders of
 * tiles are. The borders of an axis with an extent of at least 4 are its first index and the last
 * eighth of its indices (at least 1, at most 15); a shorter axis has none.
 */
bool kl_mismatch_border(const int64_t *index, const int64_t *extent, size_t naxes);

/**
 * Count element i as wrong. Return true if it is the first wrong element: the caller must then fill
 * in `got`, `wanted` and `why`.
 */
bool kl_mismatch_note(struct kl_mismatch *mismatch, const struct kl_output *output, size_t i);
/** Fill in `got` and `wanted` of element i, whose true value is `truth`. */
void kl_mismatch_describe(struct kl_mismatch *mismatch, const struct kl_output *output, size_t i,
			  double truth);
/** Raise the margin to error / allowed, unless the margin is already larger. */
void kl_mismatch_widen(struct kl_mismatch *mismatch, double error, double allowed);
/** Merge `part`, the result for a later part of the output, into `mismatch`. */
void kl_mismatch_merge(struct kl_mismatch *mismatch, const struct kl_mismatch *part);

#endif
