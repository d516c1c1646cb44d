/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_HALF_H
#define KL_JOB_HALF_H

#include "job/job.h"

/*
 * half - converts f16 and bf16 elements to double and back, for job/tensor.h.
 *
 * Arrays are converted with the widest vectors of the processor. `dtype` is KL_F16 or KL_BF16; `n`
 * counts elements.
 */
void kl_half_load(double *to, enum kl_dtype dtype, const uint16_t *from, size_t n);
/**
 * Store values. Each is rounded once, to nearest, ties to even. A NaN becomes a quiet NaN with the
 * same sign.
 */
void kl_half_store(uint16_t *to, enum kl_dtype dtype, const double *from, size_t n);
/** Round values in place as kl_half_store() rounds them; NaN stays unchanged. */
void kl_half_round(enum kl_dtype dtype, double *values, size_t n);
/** Return `value` rounded as kl_half_round() does. */
double kl_half_rounded(enum kl_dtype dtype, double value);

#endif
