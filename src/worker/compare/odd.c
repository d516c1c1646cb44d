/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/odd.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "job/tensor.h"
#include "worker/compare/mismatch.h"
#include "worker/compare/slice.h"

struct settling {
	struct kl_mismatch *mismatch;
	const struct kl_output *output;
	char *copy;                 /* NULL: nothing is settled yet */
	size_t odd, finite, stray;  /* elements of the truth; strays among the finite ones */
	size_t first;               /* the first stray */
	double got[KL_SLICE_BLOCK]; /* a block of elements */
	double honest[KL_SLICE_BLOCK];
};

/* Give element i the truth. */
static void settle_element(struct settling *settling, size_t i, double truth)
{
	const struct kl_output *output = settling->output;
	size_t bytes = output->n * kl_dtype_bytes(output->dtype);

	if (!settling->copy) {
		settling->copy = kl_malloc(bytes);
		memcpy(settling->copy, output->got, bytes);
	}
	kl_tensor_store(settling->copy, output->dtype, i, &truth, 1);
}

static void note_wrong(struct settling *settling, size_t i, double truth, const char *why)
{
	struct kl_mismatch *mismatch = settling->mismatch;

	mismatch->margin = INFINITY;
	if (!kl_mismatch_note(mismatch, settling->output, i))
		return;
	kl_mismatch_describe(mismatch, settling->output, i, truth);
	snprintf(mismatch->why, sizeof(mismatch->why), "%s", why);
}

/* The truth is not finite in the output's type, and neither is the honest answer. */
static void judge_infinite(struct settling *settling, size_t i, double got, double truth)
{
	enum kl_odd odd = settling->output->w->odd;

	settling->odd++;
	if (isnan(truth) && odd == KL_ODD_NAN ? !isnan(got) : isfinite(got))
		note_wrong(settling, i, truth,
			   isnan(truth) ? "a number where the truth is nan" :
					  "finite where the truth is infinite");
	else
		settle_element(settling, i, truth);
}

static void judge_finite(struct settling *settling, size_t i, double got, double truth)
{
	settling->finite++;
	if (isfinite(got) || settling->output->w->odd == KL_ODD_NONE)
		return;
	settling->first = settling->stray++ ? settling->first : i;
	settle_element(settling, i, truth);
}

static void settle_block(struct settling *settling, const double *truth, size_t off, size_t n)
{
	const struct kl_output *output = settling->output;

	for (size_t k = 0; k < n; k++) {
		bool finite = isfinite(kl_tensor_round(output->dtype, truth[k]));
		bool honest = output->dtype == KL_F64 ? finite : isfinite(settling->honest[k]);

		if (finite != honest)
			settle_element(settling, off + k, truth[k]);
		else if (finite)
			judge_finite(settling, off + k, settling->got[k], truth[k]);
		else
			judge_infinite(settling, off + k, settling->got[k], truth[k]);
	}
}

char *kl_odd_settle(struct kl_mismatch *mismatch, const struct kl_output *output)
{
	struct settling settling = { .mismatch = mismatch, .output = output };
	double truth_room[KL_SLICE_BLOCK], honest_room[KL_SLICE_BLOCK];
	char why[120];

	if (!kl_dtype_is_float(output->dtype))
		return NULL;
	for (size_t off = 0, n; off < output->n; off += n) {
		n = output->n - off < KL_SLICE_BLOCK ? output->n - off : KL_SLICE_BLOCK;
		kl_tensor_load(settling.got, output->dtype, output->got, off, n);
		memcpy(settling.honest, kl_output_honest(output, honest_room, off, n),
		       n * sizeof(double));
		settle_block(&settling, kl_output_truth(output, truth_room, off, n), off, n);
	}
	if (!settling.odd || output->n < KL_ODD_FEW || 4 * settling.stray <= 3 * output->n)
		return settling.copy;
	snprintf(why, sizeof(why), "not finite where the truth is, as in %zu of %zu such places",
		 settling.stray, settling.finite);
	note_wrong(&settling, settling.first,
		   *kl_output_truth(output, truth_room, settling.first, 1), why);
	return settling.copy;
}
