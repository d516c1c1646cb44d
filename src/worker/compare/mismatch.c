/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/mismatch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "job/tensor.h"

bool kl_mismatch_border(const int64_t *index, const int64_t *extent, size_t naxes)
{
	for (size_t axis = 0; axis < naxes; axis++) {
		int64_t n = extent[axis], edge = n / 8;

		if (n < 4)
			continue;
		edge = edge < 1 ? 1 : edge > 15 ? 15 : edge;
		if (index[axis] == 0 || index[axis] >= n - edge)
			return true;
	}
	return false;
}

bool kl_mismatch_note(struct kl_mismatch *mismatch, const struct kl_output *output, size_t i)
{
	int64_t index[KL_MAX_AXES];
	bool first = mismatch->out < 0;

	kl_tensor_index(index, output->extent, output->naxes, i);
	mismatch->bad++;
	if (first) {
		mismatch->out = output->arg;
		mismatch->naxes = output->naxes;
		memcpy(mismatch->index, index, sizeof(index[0]) * output->naxes);
		mismatch->edge_only = true;
	}
	mismatch->edge_only = mismatch->edge_only &&
			      kl_mismatch_border(index, output->extent, output->naxes);
	return first;
}

void kl_mismatch_describe(struct kl_mismatch *mismatch, const struct kl_output *output, size_t i,
			  double truth)
{
	char stored[8];

	kl_tensor_print(mismatch->got, sizeof(mismatch->got), output->dtype, output->got, i);
	if (kl_dtype_is_float(output->dtype) && isfinite(truth) &&
	    (truth != 0 || !signbit(truth))) {
		snprintf(mismatch->wanted, sizeof(mismatch->wanted),
			 output->dtype == KL_F64 ? "%.17g" : "%.9g", truth);
		return;
	}
	if (kl_dtype_is_float(output->dtype))
		kl_tensor_store(stored, output->dtype, 0, &truth, 1);
	else
		memcpy(stored,
		       (const char *)output->w->truth[output->arg] +
			       i * kl_dtype_bytes(output->dtype),
		       kl_dtype_bytes(output->dtype));
	kl_tensor_print(mismatch->wanted, sizeof(mismatch->wanted), output->dtype, stored, 0);
}

void kl_mismatch_widen(struct kl_mismatch *mismatch, double error, double allowed)
{
	double ratio = error <= 0 ? 0 : allowed > 0 ? error / allowed : INFINITY;

	if (ratio > mismatch->margin)
		mismatch->margin = ratio;
}

void kl_mismatch_merge(struct kl_mismatch *mismatch, const struct kl_mismatch *part)
{
	bool edge_only = mismatch->out < 0 || mismatch->edge_only;

	mismatch->margin = fmax(mismatch->margin, part->margin);
	if (!part->bad)
		return;
	if (mismatch->out < 0) {
		mismatch->out = part->out;
		mismatch->naxes = part->naxes;
		memcpy(mismatch->index, part->index, sizeof(mismatch->index));
		memcpy(mismatch->got, part->got, sizeof(mismatch->got));
		memcpy(mismatch->wanted, part->wanted, sizeof(mismatch->wanted));
		memcpy(mismatch->why, part->why, sizeof(mismatch->why));
	}
	mismatch->bad += part->bad;
	mismatch->edge_only = edge_only && part->edge_only;
}
