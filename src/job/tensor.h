/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_TENSOR_H
#define KL_JOB_TENSOR_H

#include "job/job.h"

/*
 * tensor - element types of tensors, their rounding and ulps: to double and back, one unit in the
 * last place, and the same values with fewer bits.
 *
 * Conversions from double round once, to nearest, ties to even. Integers
 * saturate and NaN becomes 0. 64-bit integers beyond 2^53 do not survive the way
 * through double; whoever needs them compares bits.
 *
 * `off` and `n` count elements.
 */
void kl_tensor_load(double *to, enum kl_dtype dtype, const void *from, size_t off, size_t n);
void kl_tensor_store(void *to, enum kl_dtype dtype, size_t off, const double *from, size_t n);
/**
 * `n` elements of type `ft` as `tt`: a load and a store, side by side where there are processors.
 */
void kl_tensor_convert(void *to, enum kl_dtype to_type, const void *from, enum kl_dtype from_type,
		       size_t n);
/** |from|, likewise. */
void kl_tensor_abs(void *to, enum kl_dtype dtype, const void *from, size_t n);
/** Is there no infinity and no NaN? */
bool kl_tensor_finite(enum kl_dtype dtype, const void *from, size_t n);
/** The value that `value` becomes when stored. */
double kl_tensor_round(enum kl_dtype dtype, double value);
/** Distance of neighbouring values of `dtype` in the binade of `other`; 1 for integers. */
double kl_tensor_ulp(enum kl_dtype dtype, double value);

/** The largest finite value of a float format; infinity for integers. */
double kl_tensor_max(enum kl_dtype dtype);

/**
 * Round every element, in place, to the next lower format and return how
 * many changed. Only the significand is cut, the range stays, so that
 * overflow never does an audit's work:
 *	f64 to 23 bits (f32), f32 to 10 (tf32), f16 to 7 (bf16), bf16 to 3 (fp8 e4m3).
 * Integers have no lower format: nothing changes.
 */
size_t kl_tensor_lower(void *data, enum kl_dtype dtype, size_t n);
/** Name of that format, for people: "tf32"; NULL for integers. */
const char *kl_tensor_lower_name(enum kl_dtype dtype);

/** "%.9g" (f64: "%.17g"), decimal for integers; the bits in hex first for -0 and NaN. */
void kl_tensor_print(char *out, size_t cap, enum kl_dtype dtype, const void *base, size_t i);
/** Row-major position to one index an axis. */
void kl_tensor_index(int64_t *index, const int64_t *extent, size_t naxes, size_t i);

#endif
