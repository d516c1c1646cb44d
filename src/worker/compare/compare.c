/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "job/tensor.h"
#include "worker/compare/element.h"
#include "worker/compare/mismatch.h"
#include "worker/compare/multiset.h"
#include "worker/compare/rules_by_group.h"
#include "worker/compare/slice.h"
#include "worker/compare/yard.h"

/* -- exact -------------------------------------------------------------- */

/* One block by its bits; false: look closer. */
static bool exact_block(const struct kl_output *v, size_t off, size_t n)
{
	size_t size = kl_dtype_bytes(v->dtype);
	char room[KL_SLICE_BLOCK * 8];
	const char *got = (const char *)v->got + off * size;

	if (!kl_dtype_is_float(v->dtype))
		return !memcmp(got, (const char *)v->w->truth[v->arg] + off * size, n * size);
	kl_tensor_store(room, v->dtype, 0, (const double *)v->w->truth[v->arg] + off, n);
	return !memcmp(got, room, n * size);
}

static void exact_slice(struct kl_mismatch *m, const struct kl_output *v, size_t from, size_t end,
			bool zeros_tie)
{
	char wanted[8];

	for (size_t off = from; off < end; off += KL_SLICE_BLOCK) {
		size_t n = end - off < KL_SLICE_BLOCK ? end - off : KL_SLICE_BLOCK;

		if (exact_block(v, off, n))
			continue;
		for (size_t i = off; i < off + n; i++) {
			if (kl_element_exact(v, i, zeros_tie, wanted) || !kl_mismatch_note(m, v, i))
				continue;
			kl_tensor_print(m->got, sizeof(m->got), v->dtype, v->got, i);
			kl_tensor_print(m->wanted, sizeof(m->wanted), v->dtype, wanted, 0);
			snprintf(m->why, sizeof(m->why), "must be bit-equal to the truth");
		}
	}
}

static void exact_slices(void *ctx, size_t from, size_t to)
{
	struct kl_slice_search *s = ctx;

	for (size_t i = from; i < to; i++) {
		size_t at = (s->first + i) * KL_SLICE, left = s->v->n - at;

		exact_slice(&s->slot[i].m, s->v, at, at + (left < KL_SLICE ? left : KL_SLICE),
			    s->zeros_tie);
	}
}

static void check_exact(struct kl_mismatch *m, const struct kl_output *v, bool zeros_tie)
{
	struct kl_slice_search s = { .v = v, .zeros_tie = zeros_tie, .slices.grain = 1 };
	size_t total = (v->n + KL_SLICE - 1) / KL_SLICE;

	for (size_t n; s.first < total && !(v->first && m->bad); s.first += n) {
		n = kl_slice_search_run(&s, total, exact_slices);
		for (size_t i = 0; i < n; i++)
			kl_mismatch_merge(m, &s.slot[i].m);
	}
	free(s.slot);
	if (m->bad)
		m->margin = INFINITY;
	m->elements += (int64_t)v->n;
}

/* -- all rules ---------------------------------------------------------- */

static int check_rule(struct kl_mismatch *m, const struct kl_job *job, const struct kl_member *w,
		      size_t rule, const void *const *got, bool first)
{
	const struct kl_rule *r = &job->rule[rule];
	struct kl_yard own = { 0 };
	struct kl_output v;
	int err;

	if (r->kind == KL_RULE_MULTISET)
		return kl_multiset_check(m, job, w, r, got);
	err = kl_output_init(&v, job, r, w, r->out);
	if (err < 0)
		return err;
	v.got = got[r->out];
	v.first = first;
	if (w->exact || r->kind == KL_RULE_EXACT) {
		check_exact(m, &v, r->kind != KL_RULE_EXACT);
		return 0;
	}
	if (!w->yard && (err = kl_yard_make(&own, job, rule, w)) < 0)
		return err;
	kl_compare_groups(m, &v, w->yard ? &w->yard[rule] : &own);
	kl_yard_release(&own);
	return 0;
}

static int compare_outputs(struct kl_mismatch *m, const struct kl_job *job,
			   const struct kl_member *w, const void *const *got, bool first)
{
	*m = (struct kl_mismatch){ .out = -1 };
	for (size_t i = 0; i < job->nrule; i++) {
		int err = check_rule(m, job, w, i, got, first);

		if (err < 0)
			return err;
		if (m->out >= 0)
			break;
	}
	if (m->out < 0)
		return 0;
	if (!w->point->perf)
		m->edge_only = true;
	return KL_ENO;
}

int kl_compare(struct kl_mismatch *m, const struct kl_job *job, const struct kl_member *w,
	       const void *const *got)
{
	return compare_outputs(m, job, w, got, false);
}

int kl_compare_first(struct kl_mismatch *m, const struct kl_job *job, const struct kl_member *w,
		     const void *const *got)
{
	return compare_outputs(m, job, w, got, true);
}
