/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/rules_by_group.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "job/tensor.h"
#include "worker/compare/element.h"
#include "worker/compare/mismatch.h"
#include "worker/compare/slice.h"

/* four chains, so that additions do not wait for one another */
static void sums_add(struct kl_slice_error *s, const double *a, const double *b, size_t n)
{
	double m[4] = { s->max, 0, 0, 0 }, q[4] = { 0 };
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++) {
			double d = fabs(a[i + k] - b[i + k]);

			m[k] = d > m[k] ? d : m[k];
			q[k] += d * d;
		}
	for (; i < n; i++) {
		double d = fabs(a[i] - b[i]);

		m[0] = d > m[0] ? d : m[0];
		q[0] += d * d;
	}
	s->max = fmax(fmax(m[0], m[1]), fmax(m[2], m[3]));
	s->sq += (q[0] + q[1]) + (q[2] + q[3]);
}

/* violations of the elementwise bound in a block; the largest ratio in *worst */
static size_t count_over(const struct kl_output *v, const double *g, const double *y,
			 const double *s, size_t n, double *worst)
{
	double a = v->rule->acc * 0x1p-24, u = v->rule->ulps;
	double least = kl_tensor_ulp(v->dtype, 0), unit = kl_tensor_ulp(v->dtype, 1.0);
	size_t bad = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t bits;
		double ulp, d = fabs(g[i] - y[i]), allowed;

		memcpy(&bits, &y[i], sizeof(bits));
		bits &= 0x7ff0000000000000u;
		memcpy(&ulp, &bits, sizeof(ulp));
		ulp *= unit;
		allowed = u * (ulp > least ? ulp : least) + a * fabs(s[i]);
		bad += !(d <= allowed && d < INFINITY);
		if (d > *worst * allowed)
			*worst = d / allowed;
	}
	return bad;
}

/* Is there a number where the truth is zero? */
static bool zeros_broken(const double *g, const double *y, size_t n)
{
	size_t bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += y[i] == 0 && g[i] != 0;
	return bad;
}

/* as doubles, large integers might look equal */
static bool integers_same(const struct kl_output *v, size_t off, size_t n)
{
	size_t size = kl_dtype_bytes(v->dtype);

	return !memcmp((const char *)v->got + off * size,
		       (const char *)v->w->truth[v->arg] + off * size, n * size);
}

/* The fast pass over one slice; false: look closer. */
static bool slice_clear(struct kl_slice_sum *part, const struct kl_output *v,
			const struct kl_allowed *j, struct kl_slice_walk *w)
{
	double got[KL_SLICE_BLOCK];
	size_t off, n;

	if (!kl_dtype_is_float(v->dtype)) {
		while (kl_slice_next(w, &off, &n, SIZE_MAX))
			if (!integers_same(v, off, n))
				return false;
		return true;
	}
	while (kl_slice_next(w, &off, &n, KL_SLICE_BLOCK)) {
		const double *y = (const double *)v->w->truth[v->arg] + off;

		kl_tensor_load(got, v->dtype, v->got, off, n);
		part->n += n;
		if (v->rule->zeros && zeros_broken(got, y, n))
			return false;
		if (v->rule->kind != KL_RULE_ELEMENTWISE)
			sums_add(&part->sums, got, y, n);
		else if (count_over(v, got, y, j->absum ? j->absum + off : y, n, &part->worst))
			return false;
	}
	return true;
}

static void clear_parts(void *ctx, size_t from, size_t to)
{
	struct kl_slice_pass *p = ctx;

	for (size_t i = from; i < to; i++) {
		size_t g = p->first + i / p->slices.each;
		struct kl_allowed j = kl_element_allowed(p->v, p->yard, g);
		struct kl_slice_walk w;

		kl_slice_start(&w, p->v, &p->slices, g, i % p->slices.each);
		p->part[i].unclear = !slice_clear(&p->part[i], p->v, &j, &w);
	}
}

/* Is a group right whose slices are? Integers are by now; floats by the sums. */
static bool group_clear(struct kl_mismatch *m, const struct kl_output *v,
			const struct kl_allowed *j, const struct kl_slice_sum *all)
{
	double rms;

	if (all->unclear)
		return false;
	if (!kl_dtype_is_float(v->dtype))
		return true;
	if (v->rule->kind == KL_RULE_ELEMENTWISE) {
		kl_mismatch_widen(m, all->worst, 1);
		return true;
	}
	rms = all->n ? sqrt(all->sums.sq / (double)all->n) : 0;
	if (!(rms <= j->rms) || (v->rule->kind == KL_RULE_NOISE && !(all->sums.max <= j->max)))
		return false;
	kl_mismatch_widen(m, rms, j->rms);
	if (v->rule->kind == KL_RULE_NOISE)
		kl_mismatch_widen(m, all->sums.max, j->max);
	return true;
}

struct element {
	double g, y, h;
};

static struct element element_at(const struct kl_output *v, size_t i)
{
	struct element e;
	double room;

	kl_tensor_load(&e.g, v->dtype, v->got, i, 1);
	e.y = *kl_output_truth(v, &room, i, 1);
	e.h = *kl_output_honest(v, &room, i, 1);
	/* 64-bit integers may lose their difference on the way to double */
	if (!kl_dtype_is_float(v->dtype) && e.g == e.y &&
	    !kl_element_exact(v, i, false, (char[8]){ 0 }))
		e.g = nextafter(e.y, INFINITY);
	return e;
}

/* The sum is too large: name the elements that are too wrong on their own to fit it. */
static void blame_group(struct kl_mismatch *m, const struct kl_output *v,
			const struct kl_allowed *j, size_t g, double rms, double allowed)
{
	bool l2 = v->rule->kind == KL_RULE_REL_L2;
	double unit = l2 && allowed > 0 ? v->rule->tol / allowed : 1;
	struct kl_group_walk walk;
	size_t i, n;

	kl_group_start(&walk, &v->groups, g);
	while (kl_group_next(&walk, &i, &n, 1)) {
		struct element e = element_at(v, i);
		struct kl_element_result r = kl_element_judge(v, j, e.g, e.y, e.h, i);

		if (r.allowed < 0 || r.d <= allowed || !kl_mismatch_note(m, v, i))
			continue;
		kl_mismatch_describe(m, v, i, e.y);
		snprintf(m->why, sizeof(m->why),
			 "%s error %.3g over group %zu of %zu, %.3g allowed",
			 l2 ? "relative l2" : "rms", rms * unit, g, v->groups.count,
			 allowed * unit);
	}
}

/* Each element of a slice. */
static void close_slice(struct kl_slice_found *s, const struct kl_output *v,
			const struct kl_allowed *j, struct kl_slice_walk *w)
{
	struct kl_mismatch *m = &s->m;
	size_t i, n;

	for (; kl_slice_next(w, &i, &n, 1); s->n++) {
		struct element e = element_at(v, i);
		struct kl_element_result r = kl_element_judge(v, j, e.g, e.y, e.h, i);
		double half = kl_tensor_ulp(v->dtype, e.y) / 2;

		if (r.allowed >= 0) {
			s->sq += r.d * r.d;
			s->floor_sq += half * half;
			kl_mismatch_widen(m, r.d, r.allowed);
		} else if (r.why) {
			kl_mismatch_widen(m, INFINITY, 1);
		}
		if (!r.why || !kl_mismatch_note(m, v, i))
			continue;
		kl_mismatch_describe(m, v, i, e.y);
		if (r.allowed < 0)
			snprintf(m->why, sizeof(m->why), "%s", r.why);
		else
			snprintf(m->why, sizeof(m->why), "error %.3g, %.3g allowed", r.d,
				 r.allowed);
	}
}

static void close_slices(void *ctx, size_t from, size_t to)
{
	struct kl_slice_search *s = ctx;

	for (size_t i = from; i < to; i++) {
		size_t k = s->slice[s->first + i], g = k / s->slices.each;
		struct kl_allowed j = kl_element_allowed(s->v, s->yard, g);
		struct kl_slice_walk w;

		kl_slice_start(&w, s->v, &s->slices, g, k % s->slices.each);
		close_slice(&s->slot[i], s->v, &j, &w);
	}
}

/* All slices of a group are in `sum`; `before` elements were bad before it. */
static void group_close(struct kl_mismatch *m, const struct kl_output *v,
			const struct kl_yard *yard, size_t g, const struct kl_slice_found *sum,
			int64_t before)
{
	struct kl_allowed j = kl_element_allowed(v, yard, g);
	double allowed = j.rms, rms;

	if (j.rms < 0 || !sum->n)
		return;
	rms = sqrt(sum->sq / (double)sum->n);
	if (v->rule->kind == KL_RULE_NOISE)
		allowed = fmax(allowed, sqrt(sum->floor_sq / (double)sum->n));
	kl_mismatch_widen(m, rms, allowed);
	if (rms > allowed && m->bad == before)
		blame_group(m, v, &j, g, rms, allowed);
}

/*
 * Slices that the fast pass did not clear, element by element; where sums count, by whole groups.
 */
static void close_all(struct kl_mismatch *m, const struct kl_output *v, const struct kl_yard *yard,
		      const size_t *slice, size_t total)
{
	struct kl_slice_search s = {
		.v = v, .yard = yard, .slices = kl_slices_of(v), .slice = slice
	};
	struct kl_slice_found sum = { .n = 0 };
	int64_t before = 0;

	for (size_t n; s.first < total && !(v->first && m->bad); s.first += n) {
		n = kl_slice_search_run(&s, total, close_slices);
		for (size_t i = 0; i < n; i++) {
			size_t k = slice[s.first + i];

			if (k % s.slices.each == 0) {
				sum = (struct kl_slice_found){ .n = 0 };
				before = m->bad;
			}
			kl_mismatch_merge(m, &s.slot[i].m);
			sum.sq += s.slot[i].sq;
			sum.floor_sq += s.slot[i].floor_sq;
			sum.n += s.slot[i].n;
			if (k % s.slices.each + 1 == s.slices.each)
				group_close(m, v, yard, k / s.slices.each, &sum, before);
		}
	}
	free(s.slot);
}

/* Slices of a batch's i-th group to be looked at closely; elementwise each stands for itself. */
static size_t put_unclear(size_t *out, struct kl_mismatch *m, const struct kl_slice_pass *p,
			  size_t i)
{
	bool alone = p->v->rule->kind == KL_RULE_ELEMENTWISE && kl_dtype_is_float(p->v->dtype);
	size_t n = 0;

	for (size_t k = 0; k < p->slices.each; k++) {
		const struct kl_slice_sum *part = &p->part[i * p->slices.each + k];

		if (alone && !part->unclear)
			kl_mismatch_widen(m, part->worst, 1);
		else
			out[n++] = (p->first + i) * p->slices.each + k;
	}
	return n;
}

void kl_compare_groups(struct kl_mismatch *m, const struct kl_output *v, const struct kl_yard *yard)
{
	struct kl_slice_pass p = { .v = v, .yard = yard, .slices = kl_slices_of(v) };
	KL_AUTO(kl_freep) size_t *unclear = NULL;
	size_t alloc = 0;

	for (size_t n, bad; p.first < v->groups.count && !(v->first && m->bad); p.first += n) {
		n = kl_slice_pass_run(&p, clear_parts);
		bad = 0;
		for (size_t i = 0; i < n; i++) {
			struct kl_allowed j = kl_element_allowed(v, yard, p.first + i);
			struct kl_slice_sum all = kl_slice_pass_sum(&p, i);

			if (group_clear(m, v, &j, &all))
				continue;
			KL_GROW(unclear, bad + p.slices.each, alloc);
			bad += put_unclear(unclear + bad, m, &p, i);
		}
		close_all(m, v, yard, unclear, bad);
	}
	free(p.part);
	m->elements += (int64_t)v->n;
}
