/* SPDX-License-Identifier: Apache-2.0 */
/* correct - stage correct: the candidate's answers on inputs it has not seen */
#include "worker/stage/stages.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "worker/measure/blocks.h"
#include "worker/stage/inquiry.h"

/*
 * What the calls at one point may cost; a kernel that needs more is asked less often. Never left
 * out are, once each, two noise draws and every band at a performance point; at any other a noise
 * draw under one guard side and another input under the other, and the first again, for its bits.
 */
#define POINT_NS ((int64_t)3000000000)
/* A kernel whose call takes longer leaves the third full-shape draw to the profile. */
#define VERY_DEAR_NS 1000000000
#define SOAK_CALLS 50 /* and up to SOAK_MORE more, so that no kernel can count them */
#define SOAK_MORE 16
#define SOAK_NS 500000000 /* what the soak may cost in all */

/* One point, and what is left out there. */
struct course {
	struct kl_inquiry *r;
	const struct kl_point *point;
	size_t *all; /* its members, the twin at the end */
	size_t n;
	bool twin;
	/* of a round: */
	const size_t *member;
	size_t spare;       /* a call, by its place, made only if calls are dear */
	size_t first, step; /* dear: of the places these alone */
};

static void course_release(struct course *c)
{
	free(c->all);
}

static bool is_twin(const struct kl_inquiry *r, size_t member)
{
	const struct kl_member *m = kl_pool_get(r->pool, member);

	return m == kl_pool_twin(r->pool, m->point);
}

static void course_init(struct course *c, struct kl_inquiry *r, const struct kl_point *pt)
{
	size_t at = SIZE_MAX;

	*c = (struct course){ .r = r, .point = pt, .spare = SIZE_MAX };
	c->all = kl_calloc(kl_pool_size(r->pool) + 2, sizeof(*c->all));
	for (size_t i = 0; i < kl_pool_size(r->pool); i++) {
		if (kl_pool_get(r->pool, i)->point != pt)
			continue;
		if (is_twin(r, i))
			at = i;
		else
			c->all[c->n++] = i;
	}
	c->twin = at != SIZE_MAX;
	if (c->twin)
		c->all[c->n++] = at;
}

/* -- what calls cost ------------------------------------------------------ */

enum thrift {
	NONE,
	LEAN, /* each input once */
	LEAST /* and not each of them */
};

static int64_t course_cost(const struct course *c)
{
	return c->r->cost[c->point - c->r->job->point];
}

/* Calls that would be made were they cheap. */
static size_t full_size(const struct course *c)
{
	return c->point->perf ? c->n + 14 : 3 * c->n + 2;
}

/*
 * Of what is known so far: costs only fall, so that what is left out is, if anything, too little.
 */
static enum thrift course_thrift(const struct course *c)
{
	if (course_cost(c) * (int64_t)full_size(c) <= POINT_NS)
		return NONE;
	return c->point->perf || course_cost(c) * (int64_t)(c->n + 2) <= POINT_NS ? LEAN : LEAST;
}

/* How many inputs there is time for; the first, which is noise, twice. */
static size_t affordable_members(const struct course *c)
{
	int64_t n = POINT_NS / (course_cost(c) ? course_cost(c) : 1) - 1;

	return n < 2 ? 2 : (size_t)n;
}

static void note_course(json_t *notes, const struct course *c)
{
	int64_t made = c->r->made[c->point - c->r->job->point];
	size_t met = 0;

	if (course_thrift(c) == NONE || c->r->class)
		return;
	for (size_t i = 0; i < c->n; i++)
		met += c->r->passed[0][c->all[i]] || c->r->passed[1][c->all[i]];
	kl_blocks_note(notes,
		       "%s: calls of %.2g s: %" PRId64 " made to judge the answers, %zu of %zu "
		       "inputs",
		       c->point->id, (double)course_cost(c) / 1e9, made, met, c->n);
}

/* -- performance points --------------------------------------------------- */

/*
 * The twin and then the first input in one process, and in another both by
 * turns. Each is met before the other once, so that what is wrong after the other
 * alone was kept. Where there is no twin, another input stands in for it.
 */
static int run_twins(struct kl_inquiry *r, struct kl_round v, size_t first, size_t other, bool twin)
{
	const size_t order[] = { first, other, first, other }, turned[] = { other, first };
	int err;

	v.member = turned;
	v.n = 2;
	v.twins = twin;
	err = kl_inquiry_round(r, &v);
	if (err < 0 || r->class)
		return err;
	v.member = order;
	v.n = 4;
	return kl_inquiry_round(r, &v);
}

static bool leave_perf(const void *ctx, size_t i)
{
	const struct course *c = ctx;

	if (course_cost(c) > VERY_DEAR_NS && kl_pool_get(c->r->pool, c->member[i])->draw > 1)
		return true;
	return i == c->spare && course_thrift(c) == NONE;
}

/*
 * Every second member from `side` on; the twin after its sibling, where it would not come
 * otherwise.
 */
static int run_half(struct course *c, struct kl_round v, size_t side)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(c->n + 1, sizeof(*order));

	v.member = c->member = order;
	v.leave = leave_perf;
	v.ctx = c;
	c->spare = SIZE_MAX;
	for (size_t i = side; i < c->n - c->twin; i += 2) {
		order[v.n++] = c->all[i];
		if (i == 0 && c->twin) {
			c->spare = v.n;
			order[v.n++] = c->all[c->n - 1];
		}
	}
	return kl_inquiry_round(c->r, &v);
}

/*
 * Every member but the twin once, in turn in a child with left-aligned and in one with
 * right-aligned buffers. Then, unless calls are dear, the first input of each again in a new child,
 * after another input and after itself: the bits must be those of the first time. The twin comes
 * there; where calls are dear, right after its sibling.
 */
static int perf_point(struct course *c, bool alone)
{
	struct kl_inquiry *r = c->r;
	size_t n = c->n - c->twin;
	int err = 0;

	for (size_t side = 0; side < 2 && side < n && err == 0 && !r->class; side++) {
		const size_t next = c->all[(side + 1) % n];
		const size_t again[] = { next, c->all[side], next, c->all[side] };
		struct kl_kept kept = { 0 };
		struct kl_round v = {
			.point = c->point,
			.right = side,
			.watch = c->all[side],
			.kept = &kept,
			.where = "",
		};

		err = run_half(c, v, side);
		v.member = again;
		v.n = 4;
		if (course_thrift(c) != NONE) {
			/* where no other point can show it, once at least */
			v.member = again + 1;
			v.n = alone && side == 0;
		}
		if (err == 0 && !r->class && v.n == 4 && side == 0)
			err = run_twins(r, v, c->all[0], c->twin ? c->all[n] : next, c->twin);
		else if (err == 0 && !r->class && v.n)
			err = kl_inquiry_round(r, &v);
		kl_kept_release(&kept);
	}
	return err;
}

/* -- other points ----------------------------------------------------------- */

/*
 * Noise first, its twin behind it, the bands in a drawn order: where not all are asked, others each
 * time.
 */
static void draw_order(struct course *c)
{
	size_t fixed = c->twin ? 2 : 1, last = c->all[c->n - 1];
	struct kl_rng rng;

	kl_rng_seed(&rng, kl_rng_derive(c->r->seed, c->point->id));
	if (c->twin && c->n > 2) {
		memmove(c->all + 2, c->all + 1, (c->n - 2) * sizeof(*c->all));
		c->all[1] = last;
	}
	for (size_t i = c->n; i > fixed + 1; i--) {
		size_t k = fixed + kl_rng_below(&rng, i - fixed), t = c->all[i - 1];

		c->all[i - 1] = c->all[k];
		c->all[k] = t;
	}
}

/* By the place among the members; one beyond them is the first again. */
static bool leave_also(const void *ctx, size_t i)
{
	const struct course *c = ctx;
	enum thrift now = course_thrift(c);

	if (now == NONE)
		return false;
	if (i == c->n)
		return now == LEAST || c->first;
	return i % c->step != c->first || (now == LEAST && i >= affordable_members(c));
}

static bool leave_backward(const void *ctx, size_t i)
{
	const struct course *c = ctx;

	return course_thrift(c) != NONE && i + 1 < c->n;
}

/* Inputs that were left out before calls turned out cheaper than the first ones. */
static int catch_up(struct course *c, struct kl_round v)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(c->n + 1, sizeof(*order));

	v.leave = NULL;
	v.right = false;
	v.watch = SIZE_MAX;
	v.member = order;
	v.n = 0;
	for (size_t i = 0; i < c->n && course_thrift(c) != LEAST; i++)
		if (!c->r->passed[0][c->all[i]] && !c->r->passed[1][c->all[i]])
			order[v.n++] = c->all[i];
	return v.n ? kl_inquiry_round(c->r, &v) : 0;
}

/*
 * Every member under both guard sides and the first once more; then, in a new child, backward.
 * Where calls are dear every second one under either side, and in the new child the first alone.
 */
static int also_rounds(struct course *c, struct kl_kept kept[2])
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(c->n + 1, sizeof(*order));
	struct kl_round v = {
		.point = c->point,
		.member = order,
		.n = c->n + 1,
		.watch = c->all[0],
		.where = "",
		.leave = leave_also,
		.ctx = c,
	};
	int err = 0;

	memcpy(order, c->all, c->n * sizeof(*order));
	order[c->n] = c->all[0];
	c->step = 2;
	for (int right = 0; right < 2 && err == 0 && !c->r->class; right++) {
		v.right = right;
		v.kept = &kept[right];
		c->first = right && c->n > 1;
		err = kl_inquiry_round(c->r, &v);
	}
	if (err == 0 && !c->r->class)
		err = catch_up(c, v);
	if (err < 0 || c->r->class)
		return err;
	for (size_t i = 0; i < c->n; i++)
		order[i] = c->all[c->n - 1 - i];
	v.right = false;
	v.kept = &kept[0];
	v.n = c->n;
	v.leave = leave_backward;
	return kl_inquiry_round(c->r, &v);
}

static int also_point(struct course *c)
{
	struct kl_kept kept[2] = { 0 };
	int err;

	if (!c->n)
		return 0;
	draw_order(c);
	err = also_rounds(c, kept);
	kl_kept_release(&kept[0]);
	kl_kept_release(&kept[1]);
	return err;
}

/* -- many calls ------------------------------------------------------------- */

/* The largest point where many are cheap; dearer is larger, as long as it is cheap enough. */
static size_t soak_point(const struct kl_inquiry *r)
{
	size_t best = 0;

	for (size_t p = 1; p < r->job->npoint; p++) {
		bool cheap = r->cost[p] <= SOAK_NS / SOAK_CALLS;
		bool was = r->cost[best] <= SOAK_NS / SOAK_CALLS;

		if (cheap ? !was || r->cost[p] > r->cost[best] : !was && r->cost[p] < r->cost[best])
			best = p;
	}
	return best;
}

/* In one process with changing inputs: for kernels that are right a few times only. */
static int soak_members(struct kl_inquiry *r)
{
	size_t order[SOAK_CALLS + SOAK_MORE], p = soak_point(r);
	struct kl_round v = { .member = order, .watch = SIZE_MAX, .where = "soak: " };
	KL_AUTO(course_release) struct course c = { .all = NULL };
	struct kl_rng rng;

	course_init(&c, r, &r->job->point[p]);
	kl_rng_seed(&rng, kl_rng_derive(r->seed, "soak"));
	v.point = c.point;
	v.n = SOAK_CALLS + kl_rng_below(&rng, SOAK_MORE);
	if (r->cost[p] > SOAK_NS / SOAK_CALLS)
		v.n = (size_t)(SOAK_NS / r->cost[p]);
	for (size_t i = 0; i < v.n && c.n; i++)
		order[i] = c.all[kl_rng_below(&rng, c.n)];
	return c.n && v.n ? kl_inquiry_round(r, &v) : 0;
}

/* Performance points first: who passes there and fails elsewhere is wrong at an edge. */
static int all_points(struct kl_inquiry *r, json_t *notes)
{
	bool also = false;
	int err = 0;

	for (size_t i = 0; i < r->job->npoint; i++)
		also = also || !r->job->point[i].perf;
	for (size_t k = 0; k < 2 * r->job->npoint && err == 0 && !r->class; k++) {
		const struct kl_point *pt = &r->job->point[k % r->job->npoint];
		KL_AUTO(course_release) struct course c = { .all = NULL };

		if (pt->perf != (k < r->job->npoint))
			continue;
		course_init(&c, r, pt);
		err = pt->perf ? perf_point(&c, !also) : also_point(&c);
		note_course(notes, &c);
	}
	return err < 0 || r->class ? err : soak_members(r);
}

/* -- result ------------------------------------------------------------- */

static int64_t count_cases(const struct kl_inquiry *r)
{
	int64_t n = 0;

	for (size_t i = 0; i < kl_pool_size(r->pool); i++)
		n += r->passed[0][i] || r->passed[1][i];
	return n;
}

static void report_inquiry(json_t *result, struct kl_inquiry *r, json_t *notes)
{
	json_t *o = json_object(), *seeds = json_array();
	double ppm = r->margin * 1e6;
	char seed[24];

	snprintf(seed, sizeof(seed), "%" PRIu64, kl_pool_seed(r->pool));
	json_array_append_new(seeds, json_string(seed));
	kl_json_set(o, "seeds", seeds);
	kl_json_set_int(o, "cases", count_cases(r));
	kl_json_set_int(o, "calls", r->calls);
	kl_json_set_int(o, "elements", r->elements);
	/* infinite where no error at all was allowed */
	kl_json_set_int(o, "margin_ppm", ppm < 1e15 ? (int64_t)ceil(ppm) : 1000000000000000);
	if (json_array_size(notes))
		kl_json_set(o, "notes", json_incref(notes));
	if (r->failure)
		kl_json_set(o, "failure", json_incref(r->failure));
	kl_json_set(result, "correct", o);
	if (!r->class)
		return;
	kl_json_set_str(result, "status", "fail");
	kl_json_set_str(result, "class", r->class);
	kl_json_set_str(result, "message", r->message);
}

int kl_stage_correct(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(kl_inquiry_release) struct kl_inquiry r = { .pool = NULL };
	KL_AUTO(json_decrefp) json_t *notes = json_array();
	int err;

	if (!job->candidate_so)
		return kl_error(KL_EINVALID, "the job names no candidate to judge");
	kl_inquiry_init(&r, job, pool, 2 * kl_pool_size(pool) + SOAK_CALLS + SOAK_MORE);
	err = all_points(&r, notes);
	if (err == 0)
		report_inquiry(result, &r, notes);
	return err;
}
