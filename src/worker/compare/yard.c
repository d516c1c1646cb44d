/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/yard.h"

#include <math.h>

#include "base/error.h"
#include "job/tensor.h"
#include "worker/compare/slice.h"

/* Only what is finite in the dtype counts. `b` NULL: norms of y. */
static void finite_add(struct kl_slice_error *s, const double *y, const double *b, size_t n,
		       double limit)
{
	for (size_t i = 0; i < n; i++) {
		double d = fabs(b ? y[i] - b[i] : y[i]);

		d = fabs(y[i]) <= limit && d < INFINITY ? d : 0;
		s->max = d > s->max ? d : s->max;
		s->sq += d * d;
	}
}

static void yard_parts(void *ctx, size_t from, size_t to)
{
	struct kl_slice_pass *p = ctx;
	const struct kl_output *v = p->v;
	double truth[KL_SLICE_BLOCK], honest[KL_SLICE_BLOCK];
	double limit = kl_tensor_max(v->dtype);

	for (size_t i = from; i < to; i++) {
		struct kl_slice_sum *part = &p->part[i];
		struct kl_slice_walk w;
		size_t off, n;

		kl_slice_start(&w, v, &p->slices, p->first + i / p->slices.each,
			       i % p->slices.each);
		while (kl_slice_next(&w, &off, &n, KL_SLICE_BLOCK)) {
			const double *y = kl_output_truth(v, truth, off, n);

			finite_add(&part->sums, y,
				   v->rule->kind == KL_RULE_NOISE ?
					   kl_output_honest(v, honest, off, n) :
					   NULL,
				   n, limit);
			part->n += n;
		}
	}
}

int kl_yard_make(struct kl_yard *out, const struct kl_job *job, size_t rule,
		 const struct kl_member *w)
{
	const struct kl_rule *r = &job->rule[rule];
	struct kl_output v;
	struct kl_slice_pass p = { .v = &v };
	int err;

	*out = (struct kl_yard){ 0 };
	if (r->kind != KL_RULE_NOISE && r->kind != KL_RULE_REL_L2)
		return 0;
	err = kl_output_init(&v, job, r, w, r->out);
	if (err < 0)
		return err;
	out->ngroup = v.groups.count;
	out->max = kl_calloc(v.groups.count + 1, sizeof(*out->max));
	out->rms = kl_calloc(v.groups.count + 1, sizeof(*out->rms));
	p.slices = kl_slices_of(&v);
	for (size_t n; p.first < v.groups.count; p.first += n) {
		n = kl_slice_pass_run(&p, yard_parts);
		for (size_t i = 0; i < n; i++) {
			struct kl_slice_sum all = kl_slice_pass_sum(&p, i);

			out->max[p.first + i] = all.sums.max;
			out->rms[p.first + i] = all.n ? sqrt(all.sums.sq / (double)all.n) : 0;
		}
	}
	free(p.part);
	return 0;
}

void kl_yard_release(struct kl_yard *y)
{
	free(y->max);
	free(y->rms);
	*y = (struct kl_yard){ 0 };
}

void kl_yard_merge(struct kl_yard *y, const struct kl_yard *other, size_t n)
{
	for (size_t g = 0; g < y->ngroup && g < other->ngroup; g++) {
		double sq = y->rms[g] * y->rms[g] * (double)n + other->rms[g] * other->rms[g];

		y->max[g] = fmax(y->max[g], other->max[g]);
		y->rms[g] = sqrt(sq / (double)(n + 1));
	}
}

size_t kl_yard_group(const struct kl_job *job, size_t rule, const struct kl_point *pt)
{
	const struct kl_rule *r = &job->rule[rule];
	struct kl_member m = { .point = pt };
	struct kl_output v;

	if (r->kind != KL_RULE_NOISE)
		return 0;
	if (kl_output_init(&v, job, r, &m, r->out) < 0) {
		kl_error_clear();
		return 0;
	}
	return v.groups.size;
}
