/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/rules_by_group.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "job/tensor.h"
#include "worker/compare/element.h"
#include "worker/compare/mismatch.h"
#include "worker/compare/slice.h"

/* Add up errors in four independent sums, so that no addition waits for the previous one. */
static void sums_add(struct kl_slice_error *sums, const double *got, const double *truth, size_t n)
{
	double max[4] = { sums->max, 0, 0, 0 }, sq[4] = { 0 };
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++) {
			double distance = fabs(got[i + k] - truth[i + k]);

			max[k] = distance > max[k] ? distance : max[k];
			sq[k] += distance * distance;
		}
	for (; i < n; i++) {
		double distance = fabs(got[i] - truth[i]);

		max[0] = distance > max[0] ? distance : max[0];
		sq[0] += distance * distance;
	}
	sums->max = fmax(fmax(max[0], max[1]), fmax(max[2], max[3]));
	sums->sq += (sq[0] + sq[1]) + (sq[2] + sq[3]);
}

/*
 * Count the elements of a block whose error is larger than the rule `elementwise` allows. Raise
 * *worst to the largest ratio of an error to the allowed error.
 */
static size_t count_over(const struct kl_output *output, const double *got, const double *truth,
			 const double *scale, size_t n, double *worst)
{
	double acc = output->rule->acc * 0x1p-24, ulps = output->rule->ulps;
	double least = kl_tensor_ulp(output->dtype, 0), unit = kl_tensor_ulp(output->dtype, 1.0);
	size_t bad = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t bits;
		double ulp, distance = fabs(got[i] - truth[i]), allowed;

		memcpy(&bits, &truth[i], sizeof(bits));
		bits &= 0x7ff0000000000000u;
		memcpy(&ulp, &bits, sizeof(ulp));
		ulp *= unit;
		allowed = ulps * (ulp > least ? ulp : least) + acc * fabs(scale[i]);
		bad += !(distance <= allowed && distance < INFINITY);
		if (distance > *worst * allowed)
			*worst = distance / allowed;
	}
	return bad;
}

/* Return true if any of `n` answers is nonzero where the truth is zero. */
static bool zeros_broken(const double *got, const double *truth, size_t n)
{
	size_t bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += truth[i] == 0 && got[i] != 0;
	return bad;
}

/* Compare integers by their bits, since different large integers can be equal as doubles. */
static bool integers_same(const struct kl_output *output, size_t off, size_t n)
{
	size_t size = kl_dtype_bytes(output->dtype);

	return !memcmp((const char *)output->got + off * size,
		       (const char *)output->w->truth[output->arg] + off * size, n * size);
}

/*
 * Run the fast pass over one slice. Return false if the elements of the slice must be checked one
 * by one.
 */
static bool slice_clear(struct kl_slice_sum *part, const struct kl_output *output,
			const struct kl_allowed *allowed, struct kl_slice_walk *walk)
{
	double got[KL_SLICE_BLOCK];
	size_t off, n;

	if (!kl_dtype_is_float(output->dtype)) {
		while (kl_slice_next(walk, &off, &n, SIZE_MAX))
			if (!integers_same(output, off, n))
				return false;
		return true;
	}
	while (kl_slice_next(walk, &off, &n, KL_SLICE_BLOCK)) {
		const double *truth = (const double *)output->w->truth[output->arg] + off;

		kl_tensor_load(got, output->dtype, output->got, off, n);
		part->n += n;
		if (output->rule->zeros && zeros_broken(got, truth, n))
			return false;
		if (output->rule->kind != KL_RULE_ELEMENTWISE)
			sums_add(&part->sums, got, truth, n);
		else if (count_over(output, got, truth,
				    allowed->absum ? allowed->absum + off : truth, n, &part->worst))
			return false;
	}
	return true;
}

static void clear_parts(void *ctx, size_t from, size_t to)
{
	struct kl_slice_pass *pass = ctx;

	for (size_t i = from; i < to; i++) {
		size_t group = pass->first + i / pass->slices.each;
		struct kl_allowed allowed = kl_element_allowed(pass->v, pass->tolerance, group);
		struct kl_slice_walk walk;

		kl_slice_start(&walk, pass->v, &pass->slices, group, i % pass->slices.each);
		pass->part[i].unclear = !slice_clear(&pass->part[i], pass->v, &allowed, &walk);
	}
}

/*
 * Return true if the fast pass accepts a group: slice_clear() accepted all its slices and, for
 * floats, the sums over the group, `all`, are within the limits.
 */
static bool group_clear(struct kl_mismatch *mismatch, const struct kl_output *output,
			const struct kl_allowed *allowed, const struct kl_slice_sum *all)
{
	double rms;

	if (all->unclear)
		return false;
	if (!kl_dtype_is_float(output->dtype))
		return true;
	if (output->rule->kind == KL_RULE_ELEMENTWISE) {
		kl_mismatch_widen(mismatch, all->worst, 1);
		return true;
	}
	rms = all->n ? sqrt(all->sums.sq / (double)all->n) : 0;
	if (!(rms <= allowed->rms) ||
	    (output->rule->kind == KL_RULE_NOISE && !(all->sums.max <= allowed->max)))
		return false;
	kl_mismatch_widen(mismatch, rms, allowed->rms);
	if (output->rule->kind == KL_RULE_NOISE)
		kl_mismatch_widen(mismatch, all->sums.max, allowed->max);
	return true;
}

/* Consecutive elements of an output. */
struct block {
	double got[KL_SLICE_BLOCK], truth[KL_SLICE_BLOCK], honest[KL_SLICE_BLOCK];
};

static void block_load(struct block *block, const struct kl_output *output, size_t off, size_t n)
{
	double room[KL_SLICE_BLOCK];

	kl_tensor_load(block->got, output->dtype, output->got, off, n);
	memcpy(block->truth, kl_output_truth(output, room, off, n), n * sizeof(*room));
	memcpy(block->honest, kl_output_honest(output, room, off, n), n * sizeof(*room));
	if (kl_dtype_is_float(output->dtype))
		return;
	/* different 64-bit integers can become equal when converted to double: keep them apart */
	for (size_t i = 0; i < n; i++)
		if (block->got[i] == block->truth[i] &&
		    !kl_element_exact(output, off + i, false, (char[8]){ 0 }))
			block->got[i] = nextafter(block->truth[i], INFINITY);
}

/*
 * Record the wrong elements of a group whose rms error, `rms`, is larger than `allowed`. An element
 * counts as wrong if its own error is larger than `allowed`.
 */
static void blame_group(struct kl_mismatch *mismatch, const struct kl_output *output,
			const struct kl_allowed *limits, size_t group, double rms, double allowed)
{
	bool l2 = output->rule->kind == KL_RULE_REL_L2;
	double unit = l2 && allowed > 0 ? output->rule->tol / allowed : 1;
	struct kl_group_walk walk;
	struct block block;
	size_t off, n;

	kl_group_start(&walk, &output->groups, group);
	while (kl_group_next(&walk, &off, &n, KL_SLICE_BLOCK)) {
		block_load(&block, output, off, n);
		for (size_t k = 0; k < n; k++) {
			struct kl_element_result result = kl_element_judge(
				output, limits, block.got[k], block.truth[k], block.honest[k],
				off + k);

			if (result.allowed < 0 || result.d <= allowed ||
			    !kl_mismatch_note(mismatch, output, off + k))
				continue;
			kl_mismatch_describe(mismatch, output, off + k, block.truth[k]);
			snprintf(mismatch->why, sizeof(mismatch->why),
				 "%s error %.3g over group %zu of %zu, %.3g allowed",
				 l2 ? "relative l2" : "rms", rms * unit, group,
				 output->groups.count, allowed * unit);
		}
	}
}

/* Check element i and add its error to the sums of its slice, `found`. */
static void close_element(struct kl_slice_found *found, const struct kl_output *output,
			  const struct kl_allowed *allowed, double got, double truth, double honest,
			  size_t i)
{
	struct kl_element_result result = kl_element_judge(output, allowed, got, truth, honest, i);
	double least = kl_element_least(output, truth);
	struct kl_mismatch *mismatch = &found->m;

	if (result.allowed >= 0) {
		found->sq += result.d * result.d;
		found->floor_sq += least * least;
		kl_mismatch_widen(mismatch, result.d, result.allowed);
	} else if (result.why) {
		kl_mismatch_widen(mismatch, INFINITY, 1);
	}
	if (!result.why || !kl_mismatch_note(mismatch, output, i))
		return;
	kl_mismatch_describe(mismatch, output, i, truth);
	if (result.allowed < 0)
		snprintf(mismatch->why, sizeof(mismatch->why), "%s", result.why);
	else
		snprintf(mismatch->why, sizeof(mismatch->why), "error %.3g, %.3g allowed", result.d,
			 result.allowed);
}

/* Check that each element of a slice is within its tolerance. */
static void close_slice(struct kl_slice_found *found, const struct kl_output *output,
			const struct kl_allowed *allowed, struct kl_slice_walk *walk)
{
	struct block block;
	size_t off, n;

	for (; kl_slice_next(walk, &off, &n, KL_SLICE_BLOCK); found->n += n) {
		block_load(&block, output, off, n);
		for (size_t k = 0; k < n; k++)
			close_element(found, output, allowed, block.got[k], block.truth[k],
				      block.honest[k], off + k);
	}
}

static void close_slices(void *ctx, size_t from, size_t to)
{
	struct kl_slice_search *search = ctx;

	for (size_t i = from; i < to; i++) {
		size_t slice = search->slice[search->first + i],
		       group = slice / search->slices.each;
		struct kl_allowed allowed = kl_element_allowed(search->v, search->tolerance, group);
		struct kl_slice_walk walk;

		kl_slice_start(&walk, search->v, &search->slices, group,
			       slice % search->slices.each);
		close_slice(&search->slot[i], search->v, &allowed, &walk);
	}
}

/*
 * Judge the rms of a group, with the sums over all its slices in `sum`. `before` is the number of
 * wrong elements found before this group.
 */
static void group_close(struct kl_mismatch *mismatch, const struct kl_output *output,
			const struct kl_tolerance *tolerance, size_t group,
			const struct kl_slice_found *sum, int64_t before)
{
	struct kl_allowed limits = kl_element_allowed(output, tolerance, group);
	double allowed = limits.rms, rms;

	if (limits.rms < 0 || !sum->n)
		return;
	rms = sqrt(sum->sq / (double)sum->n);
	if (output->rule->kind == KL_RULE_NOISE)
		allowed = fmax(allowed, sqrt(sum->floor_sq / (double)sum->n));
	kl_mismatch_widen(mismatch, rms, allowed);
	if (rms > allowed && mismatch->bad == before)
		blame_group(mismatch, output, &limits, group, rms, allowed);
}

/*
 * Check element by element the `total` slices whose numbers are in `slice`, because the fast pass
 * did not accept them. If the rule limits the rms, `slice` must have all slices of a group or none
 * of them.
 */
static void close_all(struct kl_mismatch *mismatch, const struct kl_output *output,
		      const struct kl_tolerance *tolerance, const size_t *slice, size_t total)
{
	struct kl_slice_search search = {
		.v = output, .tolerance = tolerance, .slices = kl_slices_of(output), .slice = slice
	};
	struct kl_slice_found sum = { .n = 0 };
	int64_t before = 0;

	for (size_t n; search.first < total && !(output->first && mismatch->bad);
	     search.first += n) {
		n = kl_slice_search_run(&search, total, close_slices);
		for (size_t i = 0; i < n; i++) {
			size_t k = slice[search.first + i];

			if (k % search.slices.each == 0) {
				sum = (struct kl_slice_found){ .n = 0 };
				before = mismatch->bad;
			}
			kl_mismatch_merge(mismatch, &search.slot[i].m);
			sum.sq += search.slot[i].sq;
			sum.floor_sq += search.slot[i].floor_sq;
			sum.n += search.slot[i].n;
			if (k % search.slices.each + 1 == search.slices.each)
				group_close(mismatch, output, tolerance, k / search.slices.each,
					    &sum, before);
		}
	}
	free(search.slot);
}

/*
 * Store into `out` the slices of the batch's i-th group that must be checked element by element.
 * For floats under the rule `elementwise` these are the slices that the fast pass did not accept;
 * otherwise they are all slices of the group. Return the number of slices stored.
 */
static size_t put_unclear(size_t *out, struct kl_mismatch *mismatch,
			  const struct kl_slice_pass *pass, size_t i)
{
	bool alone = pass->v->rule->kind == KL_RULE_ELEMENTWISE &&
		     kl_dtype_is_float(pass->v->dtype);
	size_t n = 0;

	for (size_t k = 0; k < pass->slices.each; k++) {
		const struct kl_slice_sum *part = &pass->part[i * pass->slices.each + k];

		if (alone && !part->unclear)
			kl_mismatch_widen(mismatch, part->worst, 1);
		else
			out[n++] = (pass->first + i) * pass->slices.each + k;
	}
	return n;
}

void kl_compare_groups(struct kl_mismatch *mismatch, const struct kl_output *output,
		       const struct kl_tolerance *tolerance)
{
	struct kl_slice_pass pass = { .v = output,
				      .tolerance = tolerance,
				      .slices = kl_slices_of(output) };
	KL_AUTO(kl_freep) size_t *unclear = NULL;
	size_t alloc = 0;

	for (size_t n, bad; pass.first < output->groups.count && !(output->first && mismatch->bad);
	     pass.first += n) {
		n = kl_slice_pass_run(&pass, clear_parts);
		bad = 0;
		for (size_t i = 0; i < n; i++) {
			struct kl_allowed allowed = kl_element_allowed(output, tolerance,
								       pass.first + i);
			struct kl_slice_sum all = kl_slice_pass_sum(&pass, i);

			if (group_clear(mismatch, output, &allowed, &all))
				continue;
			KL_GROW(unclear, bad + pass.slices.each, alloc);
			bad += put_unclear(unclear + bad, mismatch, &pass, i);
		}
		close_all(mismatch, output, tolerance, unclear, bad);
	}
	free(pass.part);
	mismatch->elements += (int64_t)output->n;
}
