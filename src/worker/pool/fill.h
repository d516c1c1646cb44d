/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_FILL_H
#define KL_WORKER_POOL_FILL_H

#include "job/job.h"

/*
 * fill - tensors from canonical fills (docs/formats.md, "Fills") and a seed.
 *
 * The same fill, seed, extents and dtype give the same bytes, on every
 * machine whose libm agrees. Values are made in double, row of the last axis by row,
 * in the order: kind, `map`, `scale`, `unit`, `lower`, `running`, the band's factor; then stored
 * in the dtype, rounded once. Whole numbers for integer tensors do not pass through double, so that
 * 64-bit ranges are exact. Rows are drawn in blocks of at most 65536 elements (of one row at
 * least), each from a stream of its own, side by side where there are processors: the bytes are the
 * same however many.
 */
struct kl_fill_spec {
	const json_t *fill;
	enum kl_dtype dtype;
	const int64_t *extent;
	size_t naxes;
	const char *point; /* id: `index` may differ by point */
	uint64_t seed;
	double factor; /* of a scale band; 1 otherwise */
};

/** KL_EINVALID names what is no canonical fill; `out` has room for every element. */
int kl_fill_make(void *out, const struct kl_fill_spec *spec);

/* The least part of a tensor that can be drawn anew without breaking the fill's promise. */
enum kl_fill_grain { KL_GRAIN_ELEMENT, KL_GRAIN_ROW, KL_GRAIN_TENSOR };
enum kl_fill_grain kl_fill_grain(const json_t *fill);

/** A number of a fill: a JSON number or "inf", "-inf", "nan", "-0". */
int kl_fill_number(double *out, const json_t *value);

/**
 * The bytes of argument `arg` for a member (point, band, seed): the band's
 * own fill for it or the argument's, from a stream of its own. Bands: "noise",
 * "twin" (as noise), "exact<i>", "band<i>", "scale-up", "scale-down".
 */
int kl_fill_band(void *out, const struct kl_job *job, const struct kl_point *pt, const char *band,
		 uint64_t seed, size_t arg);

#endif
