/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "worker/group.h"
#include "worker/multiset.h"
#include "worker/tensor.h"

#define BLOCK 512	/* elements looked at together: four arrays of doubles stay in L1 */
#define PIECE ((size_t)65536)	/* elements that a thread looks at together, however many there are */
#define PARTS ((size_t)65536)	/* pieces whose sums are kept at once */
#define SLOTS ((size_t)4096)	/* pieces whose wrong elements are kept at once ... */
#define FIRST_SLOTS ((size_t)32)	/* ... where the first one is enough */

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
	bool first;		/* look no further than to the first that is wrong */
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

/* -- pieces ------------------------------------------------------------- */

/* Groups in pieces of at most PIECE elements; piece p is part p % each of group p / each. */
struct pieces {
	size_t each, size;	/* in a group; elements of one */
	size_t grain;		/* so many make a thread's share */
};

static struct pieces pieces_of(const struct view *v)
{
	struct pieces p = { .size = v->groups.size < PIECE ? v->groups.size : PIECE };

	p.size = p.size ? p.size : 1;
	p.each = (v->groups.size + p.size - 1) / p.size;
	p.each = p.each ? p.each : 1;
	p.grain = (PIECE + p.size - 1) / p.size;
	return p;
}

/* The walk through one piece of a group. */
struct piece_walk {
	struct kl_group_walk walk;
	size_t left;
};

static void piece_start(struct piece_walk *w, const struct view *v, const struct pieces *p, size_t g,
			size_t part)
{
	kl_group_start(&w->walk, &v->groups, g);
	kl_group_skip(&w->walk, part * p->size);
	w->left = p->size;
}

static bool piece_next(struct piece_walk *w, size_t *off, size_t *n, size_t max)
{
	if (!w->left || !kl_group_next(&w->walk, off, n, w->left < max ? w->left : max))
		return false;
	w->left -= *n;
	return true;
}

/* What a pass over pieces of groups works on. */
struct pass {
	const struct view *v;
	const struct kl_yard *yard;
	struct pieces pieces;
	size_t first;		/* group of part[0] */
	struct part *part;
};

/* What is known of one piece after the fast pass. */
struct part {
	struct sums sums;
	double worst;
	size_t n;
	bool unclear;
};

static void part_add(struct part *to, const struct part *from)
{
	to->sums.max = fmax(to->sums.max, from->sums.max);
	to->sums.sq += from->sums.sq;
	to->worst = fmax(to->worst, from->worst);
	to->n += from->n;
	to->unclear = to->unclear || from->unclear;
}

/* Groups [p->first, ...) of a batch; how many there are. */
static size_t pass_run(struct pass *p, kl_par_fn *fn)
{
	size_t n = PARTS / p->pieces.each, left = p->v->groups.count - p->first;

	n = n ? n : 1;
	n = n < left ? n : left;
	if (!p->part)
		p->part = kl_calloc(n * p->pieces.each + 1, sizeof(*p->part));
	memset(p->part, 0, n * p->pieces.each * sizeof(*p->part));
	kl_par_for(n * p->pieces.each, p->pieces.grain, fn, p);
	return n;
}

/* All parts of the i-th group of a batch. */
static struct part pass_sum(const struct pass *p, size_t i)
{
	struct part all = { .n = 0 };

	for (size_t k = 0; k < p->pieces.each; k++)
		part_add(&all, &p->part[i * p->pieces.each + k]);
	return all;
}

static void yard_parts(void *ctx, size_t from, size_t to)
{
	struct pass *p = ctx;
	const struct view *v = p->v;
	double truth[BLOCK], honest[BLOCK];
	double limit = kl_tensor_max(v->dtype);

	for (size_t i = from; i < to; i++) {
		struct part *part = &p->part[i];
		struct piece_walk w;
		size_t off, n;

		piece_start(&w, v, &p->pieces, p->first + i / p->pieces.each, i % p->pieces.each);
		while (piece_next(&w, &off, &n, BLOCK)) {
			const double *y = load_truth(v, truth, off, n);

			finite_add(&part->sums, y, v->rule->kind == KL_RULE_NOISE ?
						   load_honest(v, honest, off, n) : NULL, n, limit);
			part->n += n;
		}
	}
}

int kl_yard_make(struct kl_yard *out, const struct kl_job *job, size_t rule,
		 const struct kl_member *w)
{
	const struct kl_rule *r = &job->rule[rule];
	struct view v;
	struct pass p = { .v = &v };
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
	p.pieces = pieces_of(&v);
	for (size_t n; p.first < v.groups.count; p.first += n) {
		n = pass_run(&p, yard_parts);
		for (size_t i = 0; i < n; i++) {
			struct part all = pass_sum(&p, i);

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

/* What is found in one piece by looking at each element. */
struct slot {
	struct kl_mismatch m;
	double sq, floor_sq;
	size_t n;
};

struct search {
	const struct view *v;
	const struct kl_yard *yard;
	struct pieces pieces;
	const size_t *piece;	/* those that are searched; NULL: the tensor's own */
	size_t first;		/* place of slot[0] among them */
	bool zeros_tie;
	struct slot *slot;
};

/* Pieces are put together in order, so that the first wrong element is the first of all. */
static void merge(struct kl_mismatch *m, const struct kl_mismatch *part)
{
	bool edge_only = m->out < 0 || m->edge_only;

	m->margin = fmax(m->margin, part->margin);
	if (!part->bad)
		return;
	if (m->out < 0) {
		m->out = part->out;
		m->naxes = part->naxes;
		memcpy(m->index, part->index, sizeof(m->index));
		memcpy(m->got, part->got, sizeof(m->got));
		memcpy(m->wanted, part->wanted, sizeof(m->wanted));
		memcpy(m->why, part->why, sizeof(m->why));
	}
	m->bad += part->bad;
	m->edge_only = edge_only && part->edge_only;
}

/* The next pieces of `total`; how many. */
static size_t search_run(struct search *s, size_t total, kl_par_fn *fn)
{
	size_t most = s->v->first ? FIRST_SLOTS : SLOTS;
	size_t n = total - s->first < most ? total - s->first : most;

	if (!s->slot)
		s->slot = kl_calloc(n + 1, sizeof(*s->slot));
	for (size_t i = 0; i < n; i++)
		s->slot[i] = (struct slot){ .m.out = -1 };
	kl_par_for(n, s->pieces.grain, fn, s);
	return n;
}

static void exact_piece(struct kl_mismatch *m, const struct view *v, size_t from, size_t end, bool zeros_tie)
{
	char wanted[8];

	for (size_t off = from; off < end; off += BLOCK) {
		size_t n = end - off < BLOCK ? end - off : BLOCK;

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
}

static void exact_pieces(void *ctx, size_t from, size_t to)
{
	struct search *s = ctx;

	for (size_t i = from; i < to; i++) {
		size_t at = (s->first + i) * PIECE, left = s->v->n - at;

		exact_piece(&s->slot[i].m, s->v, at, at + (left < PIECE ? left : PIECE), s->zeros_tie);
	}
}

static void check_exact(struct kl_mismatch *m, const struct view *v, bool zeros_tie)
{
	struct search s = { .v = v, .zeros_tie = zeros_tie, .pieces.grain = 1 };
	size_t total = (v->n + PIECE - 1) / PIECE;

	for (size_t n; s.first < total && !(v->first && m->bad); s.first += n) {
		n = search_run(&s, total, exact_pieces);
		for (size_t i = 0; i < n; i++)
			merge(m, &s.slot[i].m);
	}
	free(s.slot);
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
static bool integers_same(const struct view *v, size_t off, size_t n)
{
	size_t size = kl_dtype_bytes(v->dtype);

	return !memcmp((const char *)v->got + off * size,
		       (const char *)v->w->truth[v->arg] + off * size, n * size);
}

/* The fast pass over one piece; false: look closer. */
static bool piece_clear(struct part *part, const struct view *v, const struct judge *j, struct piece_walk *w)
{
	double got[BLOCK];
	size_t off, n;

	if (!kl_dtype_is_float(v->dtype)) {
		while (piece_next(w, &off, &n, SIZE_MAX))
			if (!integers_same(v, off, n))
				return false;
		return true;
	}
	while (piece_next(w, &off, &n, BLOCK)) {
		const double *y = (const double *)v->w->truth[v->arg] + off;

		kl_tensor_load(got, v->dtype, v->got, off, n);
		part->n += n;
		if (v->rule->zeros && zeros_broken(got, y, n))
			return false;
		if (v->rule->kind != KL_RULE_ELEMENTWISE)
			sums_add(&part->sums, got, y, n);
		else if (over(v, got, y, j->absum ? j->absum + off : y, n, &part->worst))
			return false;
	}
	return true;
}

static void clear_parts(void *ctx, size_t from, size_t to)
{
	struct pass *p = ctx;

	for (size_t i = from; i < to; i++) {
		size_t g = p->first + i / p->pieces.each;
		struct judge j = judge_of(p->v, p->yard, g);
		struct piece_walk w;

		piece_start(&w, p->v, &p->pieces, g, i % p->pieces.each);
		p->part[i].unclear = !piece_clear(&p->part[i], p->v, &j, &w);
	}
}

/* Is a group right whose pieces are? Integers are by now; floats by the sums. */
static bool group_clear(struct kl_mismatch *m, const struct view *v, const struct judge *j,
			const struct part *all)
{
	double rms;

	if (all->unclear)
		return false;
	if (!kl_dtype_is_float(v->dtype))
		return true;
	if (v->rule->kind == KL_RULE_ELEMENTWISE) {
		widen(m, all->worst, 1);
		return true;
	}
	rms = all->n ? sqrt(all->sums.sq / (double)all->n) : 0;
	if (!(rms <= j->rms) || (v->rule->kind == KL_RULE_NOISE && !(all->sums.max <= j->max)))
		return false;
	widen(m, rms, j->rms);
	if (v->rule->kind == KL_RULE_NOISE)
		widen(m, all->sums.max, j->max);
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

/* Each element of a piece. */
static void close_piece(struct slot *s, const struct view *v, const struct judge *j, struct piece_walk *w)
{
	struct kl_mismatch *m = &s->m;
	size_t i, n;

	for (; piece_next(w, &i, &n, 1); s->n++) {
		struct element e = element_at(v, i);
		struct verdict r = judge_one(v, j, e.g, e.y, e.h, i);
		double half = kl_tensor_ulp(v->dtype, e.y) / 2;

		if (r.allowed >= 0) {
			s->sq += r.d * r.d;
			s->floor_sq += half * half;
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
}

static void close_pieces(void *ctx, size_t from, size_t to)
{
	struct search *s = ctx;

	for (size_t i = from; i < to; i++) {
		size_t k = s->piece[s->first + i], g = k / s->pieces.each;
		struct judge j = judge_of(s->v, s->yard, g);
		struct piece_walk w;

		piece_start(&w, s->v, &s->pieces, g, k % s->pieces.each);
		close_piece(&s->slot[i], s->v, &j, &w);
	}
}

/* All pieces of a group are in `sum`; `before` elements were bad before it. */
static void group_close(struct kl_mismatch *m, const struct view *v, const struct kl_yard *yard, size_t g,
			const struct slot *sum, int64_t before)
{
	struct judge j = judge_of(v, yard, g);
	double allowed = j.rms, rms;

	if (j.rms < 0 || !sum->n)
		return;
	rms = sqrt(sum->sq / (double)sum->n);
	if (v->rule->kind == KL_RULE_NOISE)
		allowed = fmax(allowed, sqrt(sum->floor_sq / (double)sum->n));
	widen(m, rms, allowed);
	if (rms > allowed && m->bad == before)
		blame_group(m, v, &j, g, rms, allowed);
}

/* Pieces that the fast pass did not clear, element by element. Where sums count they come by whole groups. */
static void close_all(struct kl_mismatch *m, const struct view *v, const struct kl_yard *yard,
		      const size_t *piece, size_t total)
{
	struct search s = { .v = v, .yard = yard, .pieces = pieces_of(v), .piece = piece };
	struct slot sum = { .n = 0 };
	int64_t before = 0;

	for (size_t n; s.first < total && !(v->first && m->bad); s.first += n) {
		n = search_run(&s, total, close_pieces);
		for (size_t i = 0; i < n; i++) {
			size_t k = piece[s.first + i];

			if (k % s.pieces.each == 0) {
				sum = (struct slot){ .n = 0 };
				before = m->bad;
			}
			merge(m, &s.slot[i].m);
			sum.sq += s.slot[i].sq;
			sum.floor_sq += s.slot[i].floor_sq;
			sum.n += s.slot[i].n;
			if (k % s.pieces.each + 1 == s.pieces.each)
				group_close(m, v, yard, k / s.pieces.each, &sum, before);
		}
	}
	free(s.slot);
}

/* Pieces of the i-th group of a batch to be looked at closely; elementwise each stands for itself. */
static size_t put_unclear(size_t *out, struct kl_mismatch *m, const struct pass *p, size_t i)
{
	bool alone = p->v->rule->kind == KL_RULE_ELEMENTWISE && kl_dtype_is_float(p->v->dtype);
	size_t n = 0;

	for (size_t k = 0; k < p->pieces.each; k++) {
		const struct part *part = &p->part[i * p->pieces.each + k];

		if (alone && !part->unclear)
			widen(m, part->worst, 1);
		else
			out[n++] = (p->first + i) * p->pieces.each + k;
	}
	return n;
}

static void check_groups(struct kl_mismatch *m, const struct view *v, const struct kl_yard *yard)
{
	struct pass p = { .v = v, .yard = yard, .pieces = pieces_of(v) };
	KL_AUTO(kl_freep) size_t *unclear = NULL;
	size_t alloc = 0;

	for (size_t n, bad; p.first < v->groups.count && !(v->first && m->bad); p.first += n) {
		n = pass_run(&p, clear_parts);
		bad = 0;
		for (size_t i = 0; i < n; i++) {
			struct judge j = judge_of(v, yard, p.first + i);
			struct part all = pass_sum(&p, i);

			if (group_clear(m, v, &j, &all))
				continue;
			KL_GROW(unclear, bad + p.pieces.each, alloc);
			bad += put_unclear(unclear + bad, m, &p, i);
		}
		close_all(m, v, yard, unclear, bad);
	}
	free(p.part);
	m->elements += (int64_t)v->n;
}

/* -- all rules ---------------------------------------------------------- */

static int check_rule(struct kl_mismatch *m, const struct kl_job *job, const struct kl_member *w,
		      size_t rule, const void *const *got, bool first)
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
	v.first = first;
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

static int compare(struct kl_mismatch *m, const struct kl_job *job, const struct kl_member *w,
		   const void *const *got, bool first)
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
	return compare(m, job, w, got, false);
}

int kl_compare_first(struct kl_mismatch *m, const struct kl_job *job, const struct kl_member *w,
		     const void *const *got)
{
	return compare(m, job, w, got, true);
}
