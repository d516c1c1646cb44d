/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "worker/group.h"
#include "worker/multiset.h"
#include "worker/tensor.h"

#define BLOCK 512	/* elements looked at together: four arrays of doubles stay in L1 */

/* One output under one rule. */
struct view {
	const struct kl_rule *rule;
	const struct kl_member *w;
	int arg;
	enum kl_dtype dtype;
	const int64_t *extent;
	size_t naxes, n;	/* n: elements */
	struct kl_groups groups;
	const void *got;
};

static int view_init(struct view *v, const struct kl_job *job, const struct kl_rule *rule,
		     const struct kl_member *w, int arg)
{
	const struct kl_point *pt = w->point;
	int err;

	*v = (struct view){
		.rule = rule, .w = w, .arg = arg, .dtype = job->arg[arg].dtype,
		.extent = pt->arg[arg].extent, .naxes = pt->arg[arg].naxes,
		.n = (size_t)kl_point_elements(pt, (size_t)arg),
	};
	err = kl_groups_init(&v->groups, rule, v->extent, v->naxes);
	return err < 0 ? kl_error_in(err, "rule of '%s'", job->arg[arg].name) : 0;
}

/* Truth of elements [off, off + n) as doubles; borrowed where it lies so already. */
static const double *load_truth(const struct view *v, double *room, size_t off, size_t n)
{
	if (kl_dtype_is_float(v->dtype))
		return (const double *)v->w->truth[v->arg] + off;
	kl_tensor_load(room, v->dtype, v->w->truth[v->arg], off, n);
	return room;
}

/* The honest answer as the dtype holds it; integers: the truth. */
static const double *load_honest(const struct view *v, double *room, size_t off, size_t n)
{
	const float *h = v->w->honest[v->arg];

	if (!h)
		return load_truth(v, room, off, n);
	for (size_t i = 0; i < n; i++)
		room[i] = h[off + i];
	if (v->dtype == KL_F16 || v->dtype == KL_BF16)
		for (size_t i = 0; i < n; i++)
			room[i] = kl_tensor_round(v->dtype, room[i]);
	return room;
}

/* -- groups ------------------------------------------------------------- */

struct sums {
	double max, sq;		/* largest |d|, sum of d*d; a NaN shows in sq alone */
};

/* four chains, so that additions do not wait for one another */
static void sums_add(struct sums *s, const double *a, const double *b, size_t n)
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

/* The same for yardsticks: only what is finite in the dtype counts. `b` NULL: norms of y. */
static void finite_add(struct sums *s, const double *y, const double *b, size_t n, double limit)
{
	for (size_t i = 0; i < n; i++) {
		double d = fabs(b ? y[i] - b[i] : y[i]);

		d = fabs(y[i]) <= limit && d < INFINITY ? d : 0;
		s->max = d > s->max ? d : s->max;
		s->sq += d * d;
	}
}

static void yard_group(const struct view *v, size_t g, double *max, double *rms)
{
	double truth[BLOCK], honest[BLOCK];
	double limit = kl_tensor_max(v->dtype);
	struct kl_group_walk walk;
	size_t off, n, all = 0;
	struct sums s = { 0 };

	kl_group_start(&walk, &v->groups, g);
	while (kl_group_next(&walk, &off, &n, BLOCK)) {
		const double *y = load_truth(v, truth, off, n);

		finite_add(&s, y, v->rule->kind == KL_RULE_NOISE ?
				  load_honest(v, honest, off, n) : NULL, n, limit);
		all += n;
	}
	*max = s.max;
	*rms = all ? sqrt(s.sq / (double)all) : 0;
}

int kl_yard_make(struct kl_yard *out, const struct kl_job *job, size_t rule,
		 const struct kl_member *w)
{
	const struct kl_rule *r = &job->rule[rule];
	struct view v;
	int err;

	*out = (struct kl_yard){ 0 };
	if (r->kind != KL_RULE_NOISE && r->kind != KL_RULE_REL_L2)
		return 0;
	err = view_init(&v, job, r, w, r->out);
	if (err < 0)
		return err;
	out->ngroup = v.groups.count;
	out->max = kl_calloc(v.groups.count + 1, sizeof(*out->max));
	out->rms = kl_calloc(v.groups.count + 1, sizeof(*out->rms));
	for (size_t g = 0; g < v.groups.count; g++)
		yard_group(&v, g, &out->max[g], &out->rms[g]);
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
	struct view v;

	if (r->kind != KL_RULE_NOISE)
		return 0;
	if (view_init(&v, job, r, &m, r->out) < 0) {
		kl_error_clear();
		return 0;
	}
	return v.groups.size;
}

/* -- verdicts on single elements ---------------------------------------- */

struct judge {
	double max;		/* noise: a * max|h| */
	double rms;		/* allowed rms of d: noise b * rms h, rel-l2 t * rms truth; < 0: none */
	const double *absum;
	double zero;		/* rel-l2 with zeros: what counts as one where the truth is zero */
};

struct verdict {
	double d, allowed;	/* allowed < 0: not a matter of degree */
	const char *why;	/* NULL: right */
};

static double allowance(const struct view *v, const struct judge *j, double y, size_t i)
{
	const struct kl_rule *r = v->rule;
	double ulp = kl_tensor_ulp(v->dtype, y);

	if (r->kind == KL_RULE_NOISE)
		return fmax(j->max, ulp / 2);
	if (r->kind == KL_RULE_ELEMENTWISE)
		return r->ulps * ulp + r->acc * 0x1p-24 * fabs(j->absum ? j->absum[i] : y);
	return INFINITY;
}

static struct verdict judge_one(const struct view *v, const struct judge *j, double g, double y,
				double h, size_t i)
{
	double stored = kl_tensor_round(v->dtype, y);
	struct verdict out = { .allowed = -1 };

	if (isnan(y)) {
		out.why = isnan(g) ? NULL : "a number where the truth is nan";
		return out;
	}
	if (isnan(g)) {
		out.why = "nan where the truth is a number";
		return out;
	}
	if (isinf(stored)) {
		if (g == stored)
			return out;
		if (isinf(y) || isinf(g) || !isfinite(h)) {
			out.why = "not the infinity that the truth is in this dtype";
			return out;
		}
	} else if (isinf(g)) {
		out.why = "infinite where the truth is finite";
		return out;
	}
	if (v->rule->zeros && y == 0 && fabs(g) > j->zero) {
		out.why = "not zero where the truth is";
		return out;
	}
	out.d = fabs(g - y);
	out.allowed = allowance(v, j, y, i);
	if (!(out.d <= out.allowed))
		out.why = "beyond the allowed error";
	return out;
}

static bool exact_one(const struct view *v, size_t i, bool zeros_tie, char *wanted)
{
	size_t size = kl_dtype_bytes(v->dtype);
	const char *got = (const char *)v->got + i * size;
	double g, w;

	if (!kl_dtype_is_float(v->dtype)) {
		memcpy(wanted, (const char *)v->w->truth[v->arg] + i * size, size);
		return !memcmp(got, wanted, size);
	}
	kl_tensor_store(wanted, v->dtype, 0, (const double *)v->w->truth[v->arg] + i, 1);
	if (!memcmp(got, wanted, size))
		return true;
	kl_tensor_load(&g, v->dtype, got, 0, 1);
	kl_tensor_load(&w, v->dtype, wanted, 0, 1);
	return (isnan(g) && isnan(w)) || (zeros_tie && g == 0 && w == 0);
}

/* -- what is reported --------------------------------------------------- */

bool kl_compare_border(const int64_t *index, const int64_t *extent, size_t naxes)
{
	for (size_t a = 0; a < naxes; a++) {
		int64_t n = extent[a], last = n / 8;

		if (n < 4)
			continue;
		last = last < 1 ? 1 : last > 15 ? 15 : last;
		if (index[a] == 0 || index[a] >= n - last)
			return true;
	}
	return false;
}

/* Count a bad element; true when it is the first, whose details are wanted. */
static bool note_bad(struct kl_mismatch *m, const struct view *v, size_t i)
{
	int64_t index[KL_JOB_MAX_AXES];
	bool first = m->out < 0;

	kl_tensor_index(index, v->extent, v->naxes, i);
	m->bad++;
	if (first) {
		m->out = v->arg;
		m->naxes = v->naxes;
		memcpy(m->index, index, sizeof(index[0]) * v->naxes);
		m->edge_only = true;
	}
	m->edge_only = m->edge_only && kl_compare_border(index, v->extent, v->naxes);
	return first;
}

static void describe(struct kl_mismatch *m, const struct view *v, size_t i, double y)
{
	char stored[8];

	kl_tensor_print(m->got, sizeof(m->got), v->dtype, v->got, i);
	if (kl_dtype_is_float(v->dtype) && isfinite(y) && (y != 0 || !signbit(y))) {
		snprintf(m->wanted, sizeof(m->wanted), v->dtype == KL_F64 ? "%.17g" : "%.9g", y);
		return;
	}
	if (kl_dtype_is_float(v->dtype))
		kl_tensor_store(stored, v->dtype, 0, &y, 1);
	else
		memcpy(stored, (const char *)v->w->truth[v->arg] + i * kl_dtype_bytes(v->dtype),
		       kl_dtype_bytes(v->dtype));
	kl_tensor_print(m->wanted, sizeof(m->wanted), v->dtype, stored, 0);
}

static void widen(struct kl_mismatch *m, double error, double allowed)
{
	double r = error <= 0 ? 0 : allowed > 0 ? error / allowed : INFINITY;

	if (r > m->margin)
		m->margin = r;
}

/* -- exact -------------------------------------------------------------- */

/* One block by its bits; false: look closer. */
static bool exact_block(const struct view *v, size_t off, size_t n)
{
	size_t size = kl_dtype_bytes(v->dtype);
	char room[BLOCK * 8];
	const char *got = (const char *)v->got + off * size;

	if (!kl_dtype_is_float(v->dtype))
		return !memcmp(got, (const char *)v->w->truth[v->arg] + off * size, n * size);
	kl_tensor_store(room, v->dtype, 0, (const double *)v->w->truth[v->arg] + off, n);
	return !memcmp(got, room, n * size);
}

static void check_exact(struct kl_mismatch *m, const struct view *v, bool zeros_tie)
{
	char wanted[8];

	for (size_t off = 0; off < v->n; off += BLOCK) {
		size_t n = v->n - off < BLOCK ? v->n - off : BLOCK;

		if (exact_block(v, off, n))
			continue;
		for (size_t i = off; i < off + n; i++) {
			if (exact_one(v, i, zeros_tie, wanted) || !note_bad(m, v, i))
				continue;
			kl_tensor_print(m->got, sizeof(m->got), v->dtype, v->got, i);
			kl_tensor_print(m->wanted, sizeof(m->wanted), v->dtype, wanted, 0);
			snprintf(m->why, sizeof(m->why), "must be bit-equal to the truth");
		}
	}
	if (m->bad)
		m->margin = INFINITY;
	m->elements += (int64_t)v->n;
}

/* -- noise, elementwise, rel-l2 ----------------------------------------- */

/*
 * The honest error of few elements is itself a matter of luck: two honest
 * rms values over n elements differ by about 1/sqrt(n), so that a small group
 * needs room for three times that. 1.03 at ten thousand elements, 2 at nine.
 */
static double room(const struct view *v)
{
	return 1 + 3 / sqrt(v->groups.size ? (double)v->groups.size : 1);
}

static struct judge judge_of(const struct view *v, const struct kl_yard *yard, size_t g)
{
	struct judge j = { .rms = -1, .absum = v->w->absum[v->arg] };

	if (v->rule->kind == KL_RULE_NOISE) {
		j.max = v->rule->max * room(v) * yard->max[g];
		j.rms = v->rule->rms * room(v) * yard->rms[g];
	} else if (v->rule->kind == KL_RULE_REL_L2) {
		j.rms = v->rule->tol * yard->rms[g];
		/* a sum may cancel to zero in truth by chance, and nearly so in a kernel */
		j.zero = 0x1p-16 * yard->rms[g];
	}
	return j;
}

/* violations of the elementwise bound in a block; the largest ratio in *worst */
static size_t over(const struct view *v, const double *g, const double *y, const double *s,
		   size_t n, double *worst)
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
static bool integers_clear(const struct view *v, size_t g)
{
	size_t size = kl_dtype_bytes(v->dtype), off, n;
	struct kl_group_walk walk;

	kl_group_start(&walk, &v->groups, g);
	while (kl_group_next(&walk, &off, &n, SIZE_MAX))
		if (memcmp((const char *)v->got + off * size,
			   (const char *)v->w->truth[v->arg] + off * size, n * size))
			return false;
	return true;
}

/* The fast pass; true: the group is right. */
static bool group_clear(struct kl_mismatch *m, const struct view *v, const struct judge *j, size_t g)
{
	double got[BLOCK], worst = 0, rms;
	struct kl_group_walk walk;
	size_t off, n, all = 0;
	struct sums s = { 0 };

	if (!kl_dtype_is_float(v->dtype))
		return integers_clear(v, g);
	kl_group_start(&walk, &v->groups, g);
	while (kl_group_next(&walk, &off, &n, BLOCK)) {
		const double *y = (const double *)v->w->truth[v->arg] + off;

		kl_tensor_load(got, v->dtype, v->got, off, n);
		all += n;
		if (v->rule->zeros && zeros_broken(got, y, n))
			return false;
		if (v->rule->kind != KL_RULE_ELEMENTWISE)
			sums_add(&s, got, y, n);
		else if (over(v, got, y, j->absum ? j->absum + off : y, n, &worst))
			return false;
	}
	if (v->rule->kind == KL_RULE_ELEMENTWISE) {
		widen(m, worst, 1);
		return true;
	}
	rms = all ? sqrt(s.sq / (double)all) : 0;
	if (!(rms <= j->rms) || (v->rule->kind == KL_RULE_NOISE && !(s.max <= j->max)))
		return false;
	widen(m, rms, j->rms);
	if (v->rule->kind == KL_RULE_NOISE)
		widen(m, s.max, j->max);
	return true;
}

struct element {
	double g, y, h;
};

static struct element element_at(const struct view *v, size_t i)
{
	struct element e;
	double room;

	kl_tensor_load(&e.g, v->dtype, v->got, i, 1);
	e.y = *load_truth(v, &room, i, 1);
	e.h = *load_honest(v, &room, i, 1);
	/* 64-bit integers may lose their difference on the way to double */
	if (!kl_dtype_is_float(v->dtype) && e.g == e.y &&
	    !exact_one(v, i, false, (char[8]){ 0 }))
		e.g = nextafter(e.y, INFINITY);
	return e;
}

/* The sum is too large: name the elements that are too wrong on their own to fit it. */
static void blame_group(struct kl_mismatch *m, const struct view *v, const struct judge *j, size_t g,
			double rms, double allowed)
{
	bool l2 = v->rule->kind == KL_RULE_REL_L2;
	double unit = l2 && allowed > 0 ? v->rule->tol / allowed : 1;
	struct kl_group_walk walk;
	size_t i, n;

	kl_group_start(&walk, &v->groups, g);
	while (kl_group_next(&walk, &i, &n, 1)) {
		struct element e = element_at(v, i);
		struct verdict r = judge_one(v, j, e.g, e.y, e.h, i);

		if (r.allowed < 0 || r.d <= allowed || !note_bad(m, v, i))
			continue;
		describe(m, v, i, e.y);
		snprintf(m->why, sizeof(m->why), "%s error %.3g over group %zu of %zu, %.3g allowed",
			 l2 ? "relative l2" : "rms", rms * unit, g, v->groups.count, allowed * unit);
	}
}

static void group_close(struct kl_mismatch *m, const struct view *v, const struct judge *j, size_t g)
{
	double sq = 0, floor_sq = 0, allowed, rms;
	int64_t before = m->bad;
	struct kl_group_walk walk;
	size_t i, n, all = 0;

	kl_group_start(&walk, &v->groups, g);
	for (; kl_group_next(&walk, &i, &n, 1); all++) {
		struct element e = element_at(v, i);
		struct verdict r = judge_one(v, j, e.g, e.y, e.h, i);
		double half = kl_tensor_ulp(v->dtype, e.y) / 2;

		if (r.allowed >= 0) {
			sq += r.d * r.d;
			floor_sq += half * half;
			widen(m, r.d, r.allowed);
		} else if (r.why) {
			widen(m, INFINITY, 1);
		}
		if (!r.why || !note_bad(m, v, i))
			continue;
		describe(m, v, i, e.y);
		if (r.allowed < 0)
			snprintf(m->why, sizeof(m->why), "%s", r.why);
		else
			snprintf(m->why, sizeof(m->why), "error %.3g, %.3g allowed", r.d, r.allowed);
	}
	if (j->rms < 0 || !all)
		return;
	allowed = j->rms;
	rms = sqrt(sq / (double)all);
	if (v->rule->kind == KL_RULE_NOISE)
		allowed = fmax(allowed, sqrt(floor_sq / (double)all));
	widen(m, rms, allowed);
	if (rms > allowed && m->bad == before)
		blame_group(m, v, j, g, rms, allowed);
}

static void check_groups(struct kl_mismatch *m, const struct view *v, const struct kl_yard *yard)
{
	for (size_t g = 0; g < v->groups.count; g++) {
		struct judge j = judge_of(v, yard, g);

		if (!group_clear(m, v, &j, g))
			group_close(m, v, &j, g);
	}
	m->elements += (int64_t)v->n;
}

/* -- all rules ---------------------------------------------------------- */

static int check_rule(struct kl_mismatch *m, const struct kl_job *job, const struct kl_member *w,
		      size_t rule, const void *const *got)
{
	const struct kl_rule *r = &job->rule[rule];
	struct kl_yard own = { 0 };
	struct view v;
	int err;

	if (r->kind == KL_RULE_MULTISET)
		return kl_multiset_check(m, job, w, r, got);
	err = view_init(&v, job, r, w, r->out);
	if (err < 0)
		return err;
	v.got = got[r->out];
	if (w->exact || r->kind == KL_RULE_EXACT) {
		check_exact(m, &v, r->kind != KL_RULE_EXACT);
		return 0;
	}
	if (!w->yard && (err = kl_yard_make(&own, job, rule, w)) < 0)
		return err;
	check_groups(m, &v, w->yard ? &w->yard[rule] : &own);
	kl_yard_release(&own);
	return 0;
}

int kl_compare(struct kl_mismatch *m, const struct kl_job *job, const struct kl_member *w,
	       const void *const *got)
{
	*m = (struct kl_mismatch){ .out = -1 };
	for (size_t i = 0; i < job->nrule; i++) {
		int err = check_rule(m, job, w, i, got);

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
