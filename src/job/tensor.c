/* SPDX-License-Identifier: Apache-2.0 */
#include "job/tensor.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/par.h"
#include "job/half.h"

/* A float format, and the next lower format, to which kl_tensor_lower() rounds. */
struct format {
	/*
	 * stored bits of the significand; exponent of the smallest normal value; stored bits of the
	 * significand in the lower format
	 */
	int bits, emin, lower;
	double max;             /* largest finite value */
	const char *lower_name; /* name of the lower format */
};

static const struct format formats[] = {
	[KL_F64] = { 52, -1022, 23, 0x1.fffffffffffffp+1023, "f32" },
	[KL_F32] = { 23, -126, 10, 0x1.fffffep+127, "tf32" },
	[KL_F16] = { 10, -14, 7, 65504.0, "bf16" },
	[KL_BF16] = { 7, -126, 3, 0x1.fep+127, "fp8" },
};

const char *kl_tensor_lower_name(enum kl_dtype dtype)
{
	return kl_dtype_is_float(dtype) ? formats[dtype].lower_name : NULL;
}

/* Return the power of two at or below |value|, without a library call; 0 for subnormals. */
static double value_binade(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	bits &= 0x7ff0000000000000u;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

double kl_tensor_ulp(enum kl_dtype dtype, double value)
{
	/* indexed by dtype: the smallest normal value, and the ulp at 1 */
	static const double least[] = { 0x1p-1022, 0x1p-126, 0x1p-14, 0x1p-126 };
	static const double unit[] = { 0x1p-52, 0x1p-23, 0x1p-10, 0x1p-7 };
	double binade;

	if (!kl_dtype_is_float(dtype))
		return 1.0;
	binade = value_binade(value);
	return (binade < least[dtype] ? least[dtype] : binade) * unit[dtype];
}

double kl_tensor_max(enum kl_dtype dtype)
{
	return kl_dtype_is_float(dtype) ? formats[dtype].max : INFINITY;
}

double kl_tensor_overflow(enum kl_dtype dtype)
{
	const struct format *format;

	if (!kl_dtype_is_float(dtype) || dtype == KL_F64)
		return INFINITY;
	format = &formats[dtype];
	/* half an ulp above the largest value, which has an odd significand: the tie rounds up */
	return format->max + kl_tensor_ulp(dtype, format->max) / 2;
}

double kl_tensor_round(enum kl_dtype dtype, double value)
{
	switch (dtype) {
	case KL_F64:
		return value;
	case KL_F32:
		return (float)value;
	case KL_F16:
	case KL_BF16:
		return kl_half_rounded(dtype, value);
	default: {
		uint64_t word = 0;
		double rounded;

		kl_tensor_store(&word, dtype, 0, &value, 1);
		kl_tensor_load(&rounded, dtype, &word, 0, 1);
		return rounded;
	}
	}
}

#define LOAD(type)                                        \
	do {                                              \
		const type *p = (const type *)from + off; \
		for (size_t i = 0; i < n; i++)            \
			to[i] = (double)p[i];             \
	} while (0)

void kl_tensor_load(double *to, enum kl_dtype dtype, const void *from, size_t off, size_t n)
{
	switch (dtype) {
	case KL_F64:
		LOAD(double);
		break;
	case KL_F32:
		LOAD(float);
		break;
	case KL_I64:
		LOAD(int64_t);
		break;
	case KL_I32:
		LOAD(int32_t);
		break;
	case KL_I16:
		LOAD(int16_t);
		break;
	case KL_I8:
		LOAD(int8_t);
		break;
	case KL_U64:
		LOAD(uint64_t);
		break;
	case KL_U32:
		LOAD(uint32_t);
		break;
	case KL_U16:
		LOAD(uint16_t);
		break;
	case KL_U8:
		LOAD(uint8_t);
		break;
	case KL_F16:
	case KL_BF16:
		kl_half_load(to, dtype, (const uint16_t *)from + off, n);
		break;
	}
}

/*
 * Store integers: round, and keep within `lo` and `largest`; NaN becomes 0. `above` is `largest` +
 * 1. `lo` and `above` are 0 or plus or minus a power of two, so they are exact as doubles;
 * `largest` may not be.
 */
#define SATURATE(type, lo, above, largest)                 \
	do {                                               \
		type *p = (type *)to + off;                \
		for (size_t i = 0; i < n; i++) {           \
			double v = rint(from[i]);          \
			p[i] = isnan(v)     ? 0 :          \
			       v <= (lo)    ? (type)(lo) : \
			       v >= (above) ? (largest) :  \
					      (type)v;     \
		}                                          \
	} while (0)

void kl_tensor_store(void *to, enum kl_dtype dtype, size_t off, const double *from, size_t n)
{
	float *single = (float *)to + off;

	switch (dtype) {
	case KL_F64:
		if (n)
			memcpy((double *)to + off, from, n * sizeof(double));
		break;
	case KL_F32:
		for (size_t i = 0; i < n; i++)
			single[i] = (float)from[i];
		break;
	case KL_F16:
	case KL_BF16:
		kl_half_store((uint16_t *)to + off, dtype, from, n);
		break;
	case KL_I64:
		SATURATE(int64_t, -0x1p63, 0x1p63, INT64_MAX);
		break;
	case KL_I32:
		SATURATE(int32_t, -0x1p31, 0x1p31, INT32_MAX);
		break;
	case KL_I16:
		SATURATE(int16_t, -0x1p15, 0x1p15, INT16_MAX);
		break;
	case KL_I8:
		SATURATE(int8_t, -0x1p7, 0x1p7, INT8_MAX);
		break;
	case KL_U64:
		SATURATE(uint64_t, 0.0, 0x1p64, UINT64_MAX);
		break;
	case KL_U32:
		SATURATE(uint32_t, 0.0, 0x1p32, UINT32_MAX);
		break;
	case KL_U16:
		SATURATE(uint16_t, 0.0, 0x1p16, UINT16_MAX);
		break;
	case KL_U8:
		SATURATE(uint8_t, 0.0, 0x1p8, UINT8_MAX);
		break;
	}
}

#define PART ((size_t)512)
#define GRAIN ((size_t)1 << 16)

struct convert {
	void *to;
	const void *from;
	enum kl_dtype to_type, from_type;
};

static void convert_part(void *ctx, size_t from, size_t to)
{
	const struct convert *convert = ctx;
	double values[PART];

	for (size_t off = from; off < to; off += PART) {
		size_t n = to - off < PART ? to - off : PART;

		if (convert->to_type == KL_F64) {
			kl_tensor_load((double *)convert->to + off, convert->from_type,
				       convert->from, off, n);
			continue;
		}
		kl_tensor_load(values, convert->from_type, convert->from, off, n);
		kl_tensor_store(convert->to, convert->to_type, off, values, n);
	}
}

void kl_tensor_convert(void *to, enum kl_dtype to_type, const void *from, enum kl_dtype from_type,
		       size_t n)
{
	struct convert convert = {
		.to = to, .from = from, .to_type = to_type, .from_type = from_type
	};

	if (to_type == from_type)
		kl_par_copy(to, from, n * kl_dtype_bytes(to_type));
	else
		kl_par_for(n, GRAIN, convert_part, &convert);
}

/*
 * Round the bits of a float to a significand with `drop` fewer bits. IEEE magnitudes are ordered
 * like their bits as integers, so rounding the bits rounds the value. An infinity, a NaN, and a
 * value that would round to infinity stay unchanged.
 */
static uint64_t cut_bits(uint64_t bits, uint64_t sign, uint64_t inf, int drop)
{
	uint64_t unit = (uint64_t)1 << drop, mag = bits & (sign - 1);
	uint64_t cut = (mag + (unit / 2 - 1) + (mag >> drop & 1)) & ~(unit - 1);

	return mag >= inf || cut >= inf ? bits : (bits & sign) | cut;
}

#define CUT(type, sign, inf)                                                   \
	do {                                                                   \
		type *p = (type *)lower->data + from;                          \
		for (size_t i = 0; i < to - from; i++) {                       \
			type v = (type)cut_bits(p[i], sign, inf, lower->drop); \
			changed += v != p[i];                                  \
			p[i] = v;                                              \
		}                                                              \
	} while (0)

struct lower {
	void *data;
	enum kl_dtype dtype;
	int drop;
	atomic_size_t changed;
};

static void lower_part(void *ctx, size_t from, size_t to)
{
	struct lower *lower = ctx;
	size_t changed = 0;

	switch (lower->dtype) {
	case KL_F64:
		CUT(uint64_t, (uint64_t)1 << 63, (uint64_t)0x7ff << 52);
		break;
	case KL_F32:
		CUT(uint32_t, 0x80000000u, 0x7f800000u);
		break;
	case KL_F16:
		CUT(uint16_t, 0x8000u, 0x7c00u);
		break;
	default:
		CUT(uint16_t, 0x8000u, 0x7f80u);
		break;
	}
	atomic_fetch_add(&lower->changed, changed);
}

size_t kl_tensor_lower(void *data, enum kl_dtype dtype, size_t n)
{
	struct lower lower = { .data = data, .dtype = dtype };

	if (!kl_dtype_is_float(dtype))
		return 0;
	lower.drop = formats[dtype].bits - formats[dtype].lower;
	kl_par_for(n, GRAIN, lower_part, &lower);
	return atomic_load(&lower.changed);
}

struct finite {
	const void *from;
	enum kl_dtype dtype;
	atomic_bool nonfinite;
};

static void finite_part(void *ctx, size_t from, size_t to)
{
	struct finite *finite = ctx;
	double values[PART], sum = 0;

	for (size_t off = from; off < to && !atomic_load(&finite->nonfinite); off += PART) {
		size_t n = to - off < PART ? to - off : PART;

		kl_tensor_load(values, finite->dtype, finite->from, off, n);
		for (size_t i = 0; i < n; i++)
			/* infinity and NaN give NaN, anything else gives 0 */
			sum += values[i] * 0;
		if (sum != 0)
			atomic_store(&finite->nonfinite, true);
	}
}

bool kl_tensor_finite(enum kl_dtype dtype, const void *from, size_t n)
{
	struct finite finite = { .from = from, .dtype = dtype };

	kl_par_for(n, GRAIN, finite_part, &finite);
	return !atomic_load(&finite.nonfinite);
}

struct within {
	const double *values;
	double limit;
	atomic_bool beyond;
};

static void within_part(void *ctx, size_t from, size_t to)
{
	struct within *within = ctx;
	size_t beyond = 0;

	for (size_t i = from; i < to; i++)
		beyond += !(fabs(within->values[i]) <= within->limit);
	if (beyond)
		atomic_store(&within->beyond, true);
}

bool kl_tensor_within(const double *values, size_t n, double limit)
{
	struct within within = { .values = values, .limit = limit };

	kl_par_for(n, GRAIN, within_part, &within);
	return !atomic_load(&within.beyond);
}

struct absolute {
	void *to;
	const void *from;
	enum kl_dtype dtype;
};

static void absolute_part(void *ctx, size_t from, size_t to)
{
	const struct absolute *absolute = ctx;
	double values[PART];

	for (size_t off = from; off < to; off += PART) {
		size_t n = to - off < PART ? to - off : PART;

		kl_tensor_load(values, absolute->dtype, absolute->from, off, n);
		for (size_t i = 0; i < n; i++)
			values[i] = fabs(values[i]);
		kl_tensor_store(absolute->to, absolute->dtype, off, values, n);
	}
}

void kl_tensor_abs(void *to, enum kl_dtype dtype, const void *from, size_t n)
{
	struct absolute absolute = { .to = to, .from = from, .dtype = dtype };

	kl_par_for(n, GRAIN, absolute_part, &absolute);
}

static uint64_t word_of(enum kl_dtype dtype, const void *base, size_t i)
{
	size_t size = kl_dtype_bytes(dtype);
	uint64_t word = 0;

	/* every platform that the gate runs on is little-endian */
	memcpy(&word, (const char *)base + i * size, size);
	return word;
}

void kl_tensor_print(char *out, size_t cap, enum kl_dtype dtype, const void *base, size_t i)
{
	uint64_t word = word_of(dtype, base, i);
	int digits = (int)kl_dtype_bytes(dtype) * 2;
	double value;

	if (dtype >= KL_U64) {
		snprintf(out, cap, "%" PRIu64, word);
		return;
	}
	if (dtype == KL_I64) {
		snprintf(out, cap, "%" PRId64, (int64_t)word);
		return;
	}
	kl_tensor_load(&value, dtype, base, i, 1);
	if (isnan(value))
		snprintf(out, cap, "0x%0*" PRIx64 " (nan)", digits, word);
	else if (value == 0.0 && signbit(value))
		snprintf(out, cap, "0x%0*" PRIx64 " (-0)", digits, word);
	else
		snprintf(out, cap, dtype == KL_F64 ? "%.17g" : "%.9g", value);
}

void kl_tensor_index(int64_t *index, const int64_t *extent, size_t naxes, size_t i)
{
	for (size_t axis = naxes; axis-- > 0;) {
		size_t n = extent[axis] > 0 ? (size_t)extent[axis] : 1;

		index[axis] = (int64_t)(i % n);
		i /= n;
	}
}
