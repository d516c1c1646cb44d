/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_FILL_H
#define KL_WORKER_POOL_FILL_H

#include "base/key.h"
#include "job/job.h"

/*
 * fill - generates tensors from canonical fills and a key (docs/formats.md, "Fills").
 *
 * The same fill, key, extents and dtype give the same bytes on every machine whose libm gives the
 * same results. Values are made in double, one row of the last axis after the other, in the order
 * kind, `map`, `scale`, `unit`, `lower`, `running`, the band's factor; then they are stored in the
 * dtype, rounded once. Whole numbers for integer tensors do not pass through double, so that 64-bit
 * ranges are exact. Rows are drawn in blocks of at most 65536 elements (at least one row), each
 * block from its own random stream. Blocks are drawn in parallel; the bytes do not depend on the
 * number of threads.
 */
struct kl_fill_spec {
	const json_t *fill;
	enum kl_dtype dtype;
	const int64_t *extent;
	size_t naxes;
	const char *point; /* id of the point; a fill "index" can have a bound for each point */
	struct kl_key key;
	double factor; /* factor by which a scale band multiplies values; 1 for other bands */
};

/**
 * Generate a tensor; `out` must have room for every element. Return KL_EINVALID if the fill is not
 * canonical; the error message says why.
 */
int kl_fill_make(void *out, const struct kl_fill_spec *spec);

/* The smallest part of a tensor that can be redrawn alone without violating the fill. */
enum kl_fill_grain { KL_GRAIN_ELEMENT, KL_GRAIN_ROW, KL_GRAIN_TENSOR };
enum kl_fill_grain kl_fill_grain(const json_t *fill);

/** Read a number of a fill: a JSON number or "inf", "-inf", "nan", "-0". */
int kl_fill_number(double *out, const json_t *value);

/**
 * Generate argument `arg` for a member (point, band, key) from the fill that the band sets for it,
 * or else from the argument's own fill. Each argument is drawn under its own key, derived from
 * `key`. Bands: "noise", "twin" (like noise), "exact<i>", "band<i>", "scale-up", "scale-down".
 */
int kl_fill_band(void *out, const struct kl_job *job, const struct kl_point *pt, const char *band,
		 const struct kl_key *key, size_t arg);

#endif
