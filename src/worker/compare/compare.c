/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "job/tensor.h"
#include "worker/compare/element.h"
#include "worker/compare/graded.h"
#include "worker/compare/mismatch.h"
#include "worker/compare/multiset.h"
#include "worker/compare/odd.h"
#include "worker/compare/rules_by_group.h"
#include "worker/compare/slice.h"
#include "worker/compare/tolerance.h"

/* -- exact -------------------------------------------------------------- */

/*
 * Return true if one block of the answer has the bits of the truth; otherwise its elements must be
 * checked one by one.
 */
static bool exact_block(const struct kl_output *output, size_t off, size_t n)
{
	size_t size = kl_dtype_bytes(output->dtype);
	char room[KL_SLICE_BLOCK * 8];
	const char *got = (const char *)output->got + off * size;

	if (!kl_dtype_is_float(output->dtype))
		return !memcmp(got, (const char *)output->w->truth[output->arg] + off * size,
			       n * size);
	kl_tensor_store(room, output->dtype, 0, (const double *)output->w->truth[output->arg] + off,
			n);
	return !memcmp(got, room, n * size);
}

static void exact_slice(struct kl_mismatch *mismatch, const struct kl_output *output, size_t from,
			size_t end, bool zeros_tie)
{
	char wanted[8];

	for (size_t off = from; off < end; off += KL_SLICE_BLOCK) {
		size_t n = end - off < KL_SLICE_BLOCK ? end - off : KL_SLICE_BLOCK;

		if (exact_block(output, off, n))
			continue;
		for (size_t i = off; i < off + n; i++) {
			if (kl_element_exact(output, i, zeros_tie, wanted) ||
			    !kl_mismatch_note(mismatch, output, i))
				continue;
			kl_tensor_print(mismatch->got, sizeof(mismatch->got), output->dtype,
					output->got, i);
			kl_tensor_print(mismatch->wanted, sizeof(mismatch->wanted), output->dtype,
					wanted, 0);
			snprintf(mismatch->why, sizeof(mismatch->why),
				 "must be bit-equal to the truth");
		}
	}
}

static void exact_slices(void *ctx, size_t from, size_t to)
{
	struct kl_slice_search *search = ctx;

	for (size_t i = from; i < to; i++) {
		size_t at = (search->first + i) * KL_SLICE, left = search->v->n - at;

		exact_slice(&search->slot[i].m, search->v, at,
			    at + (left < KL_SLICE ? left : KL_SLICE), search->zeros_tie);
	}
}

static void check_exact(struct kl_mismatch *mismatch, const struct kl_output *output,
			bool zeros_tie)
{
	struct kl_slice_search search = { .v = output, .zeros_tie = zeros_tie, .slices.grain = 1 };
	size_t total = (output->n + KL_SLICE - 1) / KL_SLICE;

	for (size_t n; search.first < total && !(output->first && mismatch->bad);
	     search.first += n) {
		n = kl_slice_search_run(&search, total, exact_slices);
		for (size_t i = 0; i < n; i++)
			kl_mismatch_merge(mismatch, &search.slot[i].m);
	}
	free(search.slot);
	if (mismatch->bad)
		mismatch->margin = INFINITY;
	mismatch->elements += (int64_t)output->n;
}

/* -- all rules ---------------------------------------------------------- */

static int check_rule(struct kl_mismatch *mismatch, const struct kl_job *job,
		      const struct kl_member *member, size_t i, const void *const *got, bool first)
{
	const struct kl_rule *rule = &job->rule[i];
	KL_AUTO(kl_freep) char *settled = NULL;
	struct kl_tolerance own = { 0 };
	struct kl_output output;
	int err;

	if (rule->kind == KL_RULE_MULTISET)
		return kl_multiset_check(mismatch, job, member, rule, got);
	err = kl_output_init(&output, job, rule, member, rule->out);
	if (err < 0)
		return err;
	output.got = got[rule->out];
	output.first = first;
	if (member->exact || rule->kind == KL_RULE_EXACT) {
		check_exact(mismatch, &output, rule->kind != KL_RULE_EXACT || member->further);
		return 0;
	}
	if (member->further) {
		settled = kl_odd_settle(mismatch, &output);
		output.got = settled ? settled : output.got;
	}
	if (mismatch->out >= 0)
		return 0;
	if (!member->tolerance && (err = kl_tolerance_make(&own, job, i, member)) < 0)
		return err;
	kl_compare_groups(mismatch, &output, member->tolerance ? &member->tolerance[i] : &own);
	if (member->graded[rule->out] && rule->kind == KL_RULE_NOISE)
		kl_graded_check(mismatch, &output);
	kl_tolerance_release(&own);
	return 0;
}

static int compare_outputs(struct kl_mismatch *mismatch, const struct kl_job *job,
			   const struct kl_member *member, const void *const *got, bool first)
{
	*mismatch = (struct kl_mismatch){ .out = -1 };
	for (size_t i = 0; i < job->nrule; i++) {
		int err = check_rule(mismatch, job, member, i, got, first);

		if (err < 0)
			return err;
		if (mismatch->out >= 0)
			break;
	}
	if (mismatch->out < 0)
		return 0;
	/*
	 * an answer to values beyond those of the contract is never reported as wrong only at
	 * borders
	 */
	if (member->further)
		mismatch->edge_only = false;
	else if (!member->point->perf)
		mismatch->edge_only = true;
	return KL_ENO;
}

int kl_compare(struct kl_mismatch *mismatch, const struct kl_job *job,
	       const struct kl_member *member, const void *const *got)
{
	return compare_outputs(mismatch, job, member, got, false);
}

int kl_compare_first(struct kl_mismatch *mismatch, const struct kl_job *job,
		     const struct kl_member *member, const void *const *got)
{
	return compare_outputs(mismatch, job, member, got, true);
}

int kl_compare_all(struct kl_mismatch *each, const struct kl_job *job,
		   const struct kl_member *member, const void *const *got)
{
	int err = 0;

	for (size_t i = 0; i < job->nrule && err == 0; i++) {
		each[i] = (struct kl_mismatch){ .out = -1 };
		err = check_rule(&each[i], job, member, i, got, false);
	}
	return err;
}
