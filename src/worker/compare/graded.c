/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/graded.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "job/tensor.h"
#include "worker/compare/element.h"
#include "worker/compare/mismatch.h"
#include "worker/compare/slice.h"

/* Sums over one slice, and its element with the largest error. */
struct graded_slice {
	double error, honest,
		least;       /* sums of squares: of errors, honest errors and kl_element_least() */
	double worst, truth; /* the largest error, and the truth of the element that has it */
	size_t at, n;        /* index of that element; number of elements */
};

static void add_element(struct graded_slice *slice, const struct kl_output *output, size_t i,
			double got, double truth, double honest)
{
	double error = fabs(got - truth), least = kl_element_least(output, truth);
	double noise = fabs(honest - truth);

	if (!isfinite(truth) || !isfinite(honest)) /* kl_odd_settle() has judged this element */
		return;
	slice->error += error * error;
	slice->honest += noise * noise;
	slice->least += least * least;
	slice->n++;
	if (error > slice->worst) {
		slice->worst = error;
		slice->truth = truth;
		slice->at = i;
	}
}

static void add_block(struct graded_slice *slices, const struct kl_output *output, size_t inner,
		      size_t off, size_t n)
{
	size_t extent = (size_t)output->extent[output->w->graded[output->arg] - 1];
	double got[KL_SLICE_BLOCK], truth_room[KL_SLICE_BLOCK], honest_room[KL_SLICE_BLOCK];
	const double *truth = kl_output_truth(output, truth_room, off, n);
	const double *honest = kl_output_honest(output, honest_room, off, n);

	kl_tensor_load(got, output->dtype, output->got, off, n);
	for (size_t k = 0; k < n; k++)
		add_element(&slices[(off + k) / inner % extent], output, off + k, got[k], truth[k],
			    honest[k]);
}

/* Return the largest root mean square error that is allowed for a slice. */
static double allowed_rms(const struct graded_slice *slice, const struct kl_output *output)
{
	double room = KL_GRADED_ROOM * kl_element_room((double)slice->n);

	return room * output->rule->rms *
	       sqrt(fmax(slice->honest, slice->least) / (double)slice->n);
}

static void note_slices(struct kl_mismatch *mismatch, const struct kl_output *output,
			const struct graded_slice *slice, size_t wrong, size_t extent)
{
	mismatch->margin = INFINITY;
	if (!kl_mismatch_note(mismatch, output, slice->at))
		return;
	kl_mismatch_describe(mismatch, output, slice->at, slice->truth);
	snprintf(mismatch->why, sizeof(mismatch->why),
		 "error %.3g, rms %.3g allowed in its slice; wrong in %zu of %zu slices of axis %d",
		 slice->worst, allowed_rms(slice, output), wrong, extent,
		 output->w->graded[output->arg] - 1);
}

void kl_graded_check(struct kl_mismatch *mismatch, const struct kl_output *output)
{
	size_t axis = (size_t)output->w->graded[output->arg] - 1;
	size_t extent = (size_t)output->extent[axis], inner = 1, wrong = 0, first = 0;
	KL_AUTO(kl_freep) struct graded_slice *slices = kl_calloc(extent + 1, sizeof(*slices));

	if (extent < KL_GRADED_LEAST || !kl_dtype_is_float(output->dtype) ||
	    output->dtype == KL_F64)
		return;
	for (size_t i = axis + 1; i < output->naxes; i++)
		inner *= (size_t)output->extent[i];
	for (size_t off = 0, n; off < output->n; off += n) {
		n = output->n - off < KL_SLICE_BLOCK ? output->n - off : KL_SLICE_BLOCK;
		add_block(slices, output, inner, off, n);
	}
	for (size_t i = 0; i < extent; i++) {
		const struct graded_slice *slice = &slices[i];

		if (!slice->n ||
		    sqrt(slice->error / (double)slice->n) <= allowed_rms(slice, output))
			continue;
		first = wrong++ ? first : i;
	}
	if (2 * wrong > extent)
		note_slices(mismatch, output, &slices[first], wrong, extent);
}
