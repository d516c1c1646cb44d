/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_TENSOR_H
#define KL_JOB_TENSOR_H

#include "job/job.h"

/*
 * tensor - converts tensor elements to double and back, rounds and prints them.
 *
 * Conversions from double round once, to nearest, ties to even. For integer types, values beyond
 * the range saturate and NaN becomes 0. 64-bit integers beyond 2^53 do not survive the conversion
 * to double and back; compare their bits instead.
 *
 * `off` and `n` count elements.
 */
void kl_tensor_load(double *to, enum kl_dtype dtype, const void *from, size_t off, size_t n);
void kl_tensor_store(void *to, enum kl_dtype dtype, size_t off, const double *from, size_t n);
/**
 * Convert `n` elements from `from_type` to `to_type`, with the results of a load and a store. Runs
 * in parallel if there are several processors.
 */
void kl_tensor_convert(void *to, enum kl_dtype to_type, const void *from, enum kl_dtype from_type,
		       size_t n);
/** Store the absolute values of `n` elements, in parallel like kl_tensor_convert(). */
void kl_tensor_abs(void *to, enum kl_dtype dtype, const void *from, size_t n);
/** Return true if none of the `n` elements is infinite or NaN. */
bool kl_tensor_finite(enum kl_dtype dtype, const void *from, size_t n);
/** Round `value` as kl_tensor_store() rounds it for `dtype`. */
double kl_tensor_round(enum kl_dtype dtype, double value);
/** Return the distance between neighbouring `dtype` values around `value`; 1 for integers. */
double kl_tensor_ulp(enum kl_dtype dtype, double value);

/** Return the largest finite value of a float format; infinity for integers. */
double kl_tensor_max(enum kl_dtype dtype);
/** Return the smallest magnitude that rounds to infinity; infinity for f64 and integers. */
double kl_tensor_overflow(enum kl_dtype dtype);
/**
 * Return true if all `n` values have a magnitude of at most `limit`; false if one is NaN. Runs in
 * parallel.
 */
bool kl_tensor_within(const double *values, size_t n, double limit);

/**
 * Round every element, in place, to the next lower format and return how many changed. Only the
 * significand is shortened; the range of the exponent stays, so that an audit never passes merely
 * because of an overflow:
 *	f64 to 23 bits (f32), f32 to 10 (tf32), f16 to 7 (bf16), bf16 to 3 (fp8 e4m3).
 * Integers have no lower format and do not change.
 */
size_t kl_tensor_lower(void *data, enum kl_dtype dtype, size_t n);
/** Return the name of the format that kl_tensor_lower() rounds to ("tf32"); NULL for integers. */
const char *kl_tensor_lower_name(enum kl_dtype dtype);

/**
 * Print element `i` into `out`, of `cap` bytes, with "%.9g" (f64: "%.17g"), or in decimal for
 * integers. For -0 and NaN, print the bits in hex, then "(-0)" or "(nan)".
 */
void kl_tensor_print(char *out, size_t cap, enum kl_dtype dtype, const void *base, size_t i);
/** Convert the row-major position `i` to one index per axis. */
void kl_tensor_index(int64_t *index, const int64_t *extent, size_t naxes, size_t i);

#endif
