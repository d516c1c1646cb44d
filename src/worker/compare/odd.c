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
	char *copy; /* copy of the answer with settled elements; NULL if none is settled yet */
	/*
	 * numbers of elements whose truth is not finite, whose truth is finite, and that are strays
	 */
	size_t odd, finite, stray;
	size_t first;               /* index of the first stray */
	double got[KL_SLICE_BLOCK]; /* one block of the kernel's and of the honest answer */
	double honest[KL_SLICE_BLOCK];
};

/* Settle element i: give it the value of the truth, so that every rule accepts it. */
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

/* Judge an element whose truth, in the output's dtype, and honest answer are both not finite. */
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

static void settle_elements(struct settling *settling, const double *truth, size_t off, size_t n)
{
	const struct kl_output *output = settling->output;
	double overflow = kl_tensor_overflow(output->dtype);

	for (size_t k = 0; k < n; k++) {
		bool finite = fabs(truth[k]) < overflow;
		bool honest = output->dtype == KL_F64 ? finite : isfinite(settling->honest[k]);

		if (finite != honest)
			settle_element(settling, off + k, truth[k]);
		else if (finite)
			judge_finite(settling, off + k, settling->got[k], truth[k]);
		else
			judge_infinite(settling, off + k, settling->got[k], truth[k]);
	}
}

/*
 * The blocks in which the truth, the honest answer and the kernel's answer are finite everywhere.
 */
struct plain_search {
	const struct kl_output *output;
	bool *plain; /* one for each block */
};

static size_t block_size(const struct kl_output *output, size_t off)
{
	return output->n - off < KL_SLICE_BLOCK ? output->n - off : KL_SLICE_BLOCK;
}

static void find_plain(void *ctx, size_t from, size_t to)
{
	const struct plain_search *search = ctx;
	const struct kl_output *output = search->output;
	size_t size = kl_dtype_bytes(output->dtype);
	double room[KL_SLICE_BLOCK], largest = kl_tensor_max(output->dtype);

	for (size_t i = from; i < to; i++) {
		size_t off = i * KL_SLICE_BLOCK, n = block_size(output, off);

		search->plain[i] =
			kl_tensor_within(kl_output_truth(output, room, off, n), n, largest) &&
			kl_tensor_within(kl_output_honest(output, room, off, n), n, largest) &&
			kl_tensor_finite(output->dtype, (const char *)output->got + off * size, n);
	}
}

/* Judge the elements of one block one by one. */
static void settle_block(struct settling *settling, size_t off, size_t n)
{
	const struct kl_output *output = settling->output;
	double truth_room[KL_SLICE_BLOCK], honest_room[KL_SLICE_BLOCK];

	kl_tensor_load(settling->got, output->dtype, output->got, off, n);
	memcpy(settling->honest, kl_output_honest(output, honest_room, off, n), n * sizeof(double));
	settle_elements(settling, kl_output_truth(output, truth_room, off, n), off, n);
}

char *kl_odd_settle(struct kl_mismatch *mismatch, const struct kl_output *output)
{
	struct settling settling = { .mismatch = mismatch, .output = output };
	size_t nblock = (output->n + KL_SLICE_BLOCK - 1) / KL_SLICE_BLOCK;
	KL_AUTO(kl_freep) bool *plain = NULL;
	struct plain_search search = { .output = output };
	char why[120];
	double room;

	if (!kl_dtype_is_float(output->dtype))
		return NULL;
	search.plain = plain = kl_calloc(nblock + 1, sizeof(*plain));
	kl_par_for(nblock, KL_SLICE / KL_SLICE_BLOCK, find_plain, &search);
	for (size_t i = 0, off = 0; i < nblock; i++, off += KL_SLICE_BLOCK) {
		size_t n = block_size(output, off);

		if (plain[i])
			settling.finite += n;
		else
			settle_block(&settling, off, n);
	}
	if (!settling.odd || output->n < KL_ODD_FEW || 4 * settling.stray <= 3 * output->n)
		return settling.copy;
	snprintf(why, sizeof(why), "not finite where the truth is finite, in %zu of %zu elements",
		 settling.stray, settling.finite);
	note_wrong(&settling, settling.first, *kl_output_truth(output, &room, settling.first, 1),
		   why);
	return settling.copy;
}
