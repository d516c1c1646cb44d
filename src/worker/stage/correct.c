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
	struct kl_inquiry *inquiry;
	const struct kl_point *point;
	size_t *all; /* its members, the twin at the end */
	size_t n;
	bool twin;
	/* of a round: */
	const size_t *member;
	size_t spare;       /* a call, by its place, made only if calls are dear */
	size_t first, step; /* dear: of the places these alone */
};

static void course_release(struct course *course)
{
	free(course->all);
}

static bool is_twin(const struct kl_inquiry *inquiry, size_t index)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, index);

	return member == kl_pool_twin(inquiry->pool, member->point);
}

static void course_init(struct course *course, struct kl_inquiry *inquiry,
			const struct kl_point *pt)
{
	size_t twin = SIZE_MAX;

	*course = (struct course){ .inquiry = inquiry, .point = pt, .spare = SIZE_MAX };
	course->all = kl_calloc(kl_pool_size(inquiry->pool) + 2, sizeof(*course->all));
	for (size_t i = 0; i < kl_pool_size(inquiry->pool); i++) {
		if (kl_pool_get(inquiry->pool, i)->point != pt)
			continue;
		if (is_twin(inquiry, i))
			twin = i;
		else
			course->all[course->n++] = i;
	}
	course->twin = twin != SIZE_MAX;
	if (course->twin)
		course->all[course->n++] = twin;
}

/* -- what calls cost ------------------------------------------------------ */

enum thrift {
	NONE,
	LEAN, /* each input once */
	LEAST /* and not each of them */
};

static int64_t course_cost(const struct course *course)
{
	return course->inquiry->cost[course->point - course->inquiry->job->point];
}

/* Calls that would be made were they cheap. */
static size_t full_size(const struct course *course)
{
	return course->point->perf ? course->n + 14 : 3 * course->n + 2;
}

/*
 * Of what is known so far: costs only fall, so that what is left out is, if anything, too little.
 */
static enum thrift course_thrift(const struct course *course)
{
	if (course_cost(course) * (int64_t)full_size(course) <= POINT_NS)
		return NONE;
	return course->point->perf || course_cost(course) * (int64_t)(course->n + 2) <= POINT_NS ?
		       LEAN :
		       LEAST;
}

/* How many inputs there is time for; the first, which is noise, twice. */
static size_t affordable_members(const struct course *course)
{
	int64_t n = POINT_NS / (course_cost(course) ? course_cost(course) : 1) - 1;

	return n < 2 ? 2 : (size_t)n;
}

static void note_course(json_t *notes, const struct course *course)
{
	int64_t made = course->inquiry->made[course->point - course->inquiry->job->point];
	size_t met = 0;

	if (course_thrift(course) == NONE || course->inquiry->class)
		return;
	for (size_t i = 0; i < course->n; i++)
		met += course->inquiry->passed[0][course->all[i]] ||
		       course->inquiry->passed[1][course->all[i]];
	kl_blocks_note(notes,
		       "%s: calls of %.2g s: %" PRId64 " made to judge the answers, %zu of %zu "
		       "inputs",
		       course->point->id, (double)course_cost(course) / 1e9, made, met, course->n);
}

/* -- performance points --------------------------------------------------- */

/*
 * The twin and then the first input in one process, and in another both by
 * turns. Each is met before the other once, so that what is wrong after the other
 * alone was kept. Where there is no twin, another input stands in for it.
 */
static int run_twins(struct kl_inquiry *inquiry, struct kl_round round, size_t first, size_t other,
		     bool twin)
{
	const size_t order[] = { first, other, first, other }, turned[] = { other, first };
	int err;

	round.member = turned;
	round.n = 2;
	round.twins = twin;
	err = kl_inquiry_round(inquiry, &round);
	if (err < 0 || inquiry->class)
		return err;
	round.member = order;
	round.n = 4;
	return kl_inquiry_round(inquiry, &round);
}

static bool leave_perf(const void *ctx, size_t i)
{
	const struct course *course = ctx;

	if (course_cost(course) > VERY_DEAR_NS &&
	    kl_pool_get(course->inquiry->pool, course->member[i])->draw > 1)
		return true;
	return i == course->spare && course_thrift(course) == NONE;
}

/*
 * Every second member from `side` on; the twin after its sibling, where it would not come
 * otherwise.
 */
static int run_half(struct course *course, struct kl_round round, size_t side)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(course->n + 1, sizeof(*order));

	round.member = course->member = order;
	round.leave = leave_perf;
	round.ctx = course;
	course->spare = SIZE_MAX;
	for (size_t i = side; i < course->n - course->twin; i += 2) {
		order[round.n++] = course->all[i];
		if (i == 0 && course->twin) {
			course->spare = round.n;
			order[round.n++] = course->all[course->n - 1];
		}
	}
	return kl_inquiry_round(course->inquiry, &round);
}

/*
 * Every member but the twin once, in turn in a child with left-aligned and in one with
 * right-aligned buffers. Then, unless calls are dear, the first input of each again in a new child,
 * after another input and after itself: the bits must be those of the first time. The twin comes
 * there; where calls are dear, right after its sibling.
 */
static int perf_point(struct course *course, bool alone)
{
	struct kl_inquiry *inquiry = course->inquiry;
	size_t n = course->n - course->twin;
	int err = 0;

	for (size_t side = 0; side < 2 && side < n && err == 0 && !inquiry->class; side++) {
		const size_t next = course->all[(side + 1) % n];
		const size_t again[] = { next, course->all[side], next, course->all[side] };
		struct kl_kept kept = { 0 };
		struct kl_round round = {
			.point = course->point,
			.right = side,
			.watch = course->all[side],
			.kept = &kept,
			.where = "",
		};

		err = run_half(course, round, side);
		round.member = again;
		round.n = 4;
		if (course_thrift(course) != NONE) {
			/* where no other point can show it, once at least */
			round.member = again + 1;
			round.n = alone && side == 0;
		}
		if (err == 0 && !inquiry->class && round.n == 4 && side == 0)
			err = run_twins(inquiry, round, course->all[0],
					course->twin ? course->all[n] : next, course->twin);
		else if (err == 0 && !inquiry->class && round.n)
			err = kl_inquiry_round(inquiry, &round);
		kl_kept_release(&kept);
	}
	return err;
}

/* -- other points ----------------------------------------------------------- */

/*
 * Noise first, its twin behind it, the bands in a drawn order: where not all are asked, others each
 * time.
 */
static void draw_order(struct course *course)
{
	size_t fixed = course->twin ? 2 : 1, last = course->all[course->n - 1];
	struct kl_rng rng;

	kl_rng_seed(&rng, kl_rng_derive(course->inquiry->seed, course->point->id));
	if (course->twin && course->n > 2) {
		memmove(course->all + 2, course->all + 1, (course->n - 2) * sizeof(*course->all));
		course->all[1] = last;
	}
	for (size_t i = course->n; i > fixed + 1; i--) {
		size_t k = fixed + kl_rng_below(&rng, i - fixed), swap = course->all[i - 1];

		course->all[i - 1] = course->all[k];
		course->all[k] = swap;
	}
}

/* By the place among the members; one beyond them is the first again. */
static bool leave_also(const void *ctx, size_t i)
{
	const struct course *course = ctx;
	enum thrift now = course_thrift(course);

	if (now == NONE)
		return false;
	if (i == course->n)
		return now == LEAST || course->first;
	return i % course->step != course->first ||
	       (now == LEAST && i >= affordable_members(course));
}

static bool leave_backward(const void *ctx, size_t i)
{
	const struct course *course = ctx;

	return course_thrift(course) != NONE && i + 1 < course->n;
}

/* Inputs that were left out before calls turned out cheaper than the first ones. */
static int catch_up(struct course *course, struct kl_round round)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(course->n + 1, sizeof(*order));

	round.leave = NULL;
	round.right = false;
	round.watch = SIZE_MAX;
	round.member = order;
	round.n = 0;
	for (size_t i = 0; i < course->n && course_thrift(course) != LEAST; i++)
		if (!course->inquiry->passed[0][course->all[i]] &&
		    !course->inquiry->passed[1][course->all[i]])
			order[round.n++] = course->all[i];
	return round.n ? kl_inquiry_round(course->inquiry, &round) : 0;
}

/*
 * Every member under both guard sides and the first once more; then, in a new child, backward.
 * Where calls are dear every second one under either side, and in the new child the first alone.
 */
static int also_rounds(struct course *course, struct kl_kept kept[2])
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(course->n + 1, sizeof(*order));
	struct kl_round round = {
		.point = course->point,
		.member = order,
		.n = course->n + 1,
		.watch = course->all[0],
		.where = "",
		.leave = leave_also,
		.ctx = course,
	};
	int err = 0;

	memcpy(order, course->all, course->n * sizeof(*order));
	order[course->n] = course->all[0];
	course->step = 2;
	for (int right = 0; right < 2 && err == 0 && !course->inquiry->class; right++) {
		round.right = right;
		round.kept = &kept[right];
		course->first = right && course->n > 1;
		err = kl_inquiry_round(course->inquiry, &round);
	}
	if (err == 0 && !course->inquiry->class)
		err = catch_up(course, round);
	if (err < 0 || course->inquiry->class)
		return err;
	for (size_t i = 0; i < course->n; i++)
		order[i] = course->all[course->n - 1 - i];
	round.right = false;
	round.kept = &kept[0];
	round.n = course->n;
	round.leave = leave_backward;
	return kl_inquiry_round(course->inquiry, &round);
}

static int also_point(struct course *course)
{
	struct kl_kept kept[2] = { 0 };
	int err;

	if (!course->n)
		return 0;
	draw_order(course);
	err = also_rounds(course, kept);
	kl_kept_release(&kept[0]);
	kl_kept_release(&kept[1]);
	return err;
}

/* -- many calls ------------------------------------------------------------- */

/* The largest point where many are cheap; dearer is larger, as long as it is cheap enough. */
static size_t soak_point(const struct kl_inquiry *inquiry)
{
	size_t best = 0;

	for (size_t at = 1; at < inquiry->job->npoint; at++) {
		bool cheap = inquiry->cost[at] <= SOAK_NS / SOAK_CALLS;
		bool was = inquiry->cost[best] <= SOAK_NS / SOAK_CALLS;

		if (cheap ? !was || inquiry->cost[at] > inquiry->cost[best] :
			    !was && inquiry->cost[at] < inquiry->cost[best])
			best = at;
	}
	return best;
}

/* In one process with changing inputs: for kernels that are right a few times only. */
static int soak_members(struct kl_inquiry *inquiry)
{
	size_t order[SOAK_CALLS + SOAK_MORE], at = soak_point(inquiry);
	struct kl_round round = { .member = order, .watch = SIZE_MAX, .where = "soak: " };
	KL_AUTO(course_release) struct course course = { .all = NULL };
	struct kl_rng rng;

	course_init(&course, inquiry, &inquiry->job->point[at]);
	kl_rng_seed(&rng, kl_rng_derive(inquiry->seed, "soak"));
	round.point = course.point;
	round.n = SOAK_CALLS + kl_rng_below(&rng, SOAK_MORE);
	if (inquiry->cost[at] > SOAK_NS / SOAK_CALLS)
		round.n = (size_t)(SOAK_NS / inquiry->cost[at]);
	for (size_t i = 0; i < round.n && course.n; i++)
		order[i] = course.all[kl_rng_below(&rng, course.n)];
	return course.n && round.n ? kl_inquiry_round(inquiry, &round) : 0;
}

/* Performance points first: who passes there and fails elsewhere is wrong at an edge. */
static int all_points(struct kl_inquiry *inquiry, json_t *notes)
{
	bool also = false;
	int err = 0;

	for (size_t i = 0; i < inquiry->job->npoint; i++)
		also = also || !inquiry->job->point[i].perf;
	for (size_t k = 0; k < 2 * inquiry->job->npoint && err == 0 && !inquiry->class; k++) {
		const struct kl_point *pt = &inquiry->job->point[k % inquiry->job->npoint];
		KL_AUTO(course_release) struct course course = { .all = NULL };

		if (pt->perf != (k < inquiry->job->npoint))
			continue;
		course_init(&course, inquiry, pt);
		err = pt->perf ? perf_point(&course, !also) : also_point(&course);
		note_course(notes, &course);
	}
	return err < 0 || inquiry->class ? err : soak_members(inquiry);
}

/* -- result ------------------------------------------------------------- */

static int64_t count_cases(const struct kl_inquiry *inquiry)
{
	int64_t n = 0;

	for (size_t i = 0; i < kl_pool_size(inquiry->pool); i++)
		n += inquiry->passed[0][i] || inquiry->passed[1][i];
	return n;
}

static void report_inquiry(json_t *result, struct kl_inquiry *inquiry, json_t *notes)
{
	json_t *object = json_object(), *seeds = json_array();
	double ppm = inquiry->margin * 1e6;
	char seed[24];

	snprintf(seed, sizeof(seed), "%" PRIu64, kl_pool_seed(inquiry->pool));
	json_array_append_new(seeds, json_string(seed));
	kl_json_set(object, "seeds", seeds);
	kl_json_set_int(object, "cases", count_cases(inquiry));
	kl_json_set_int(object, "calls", inquiry->calls);
	kl_json_set_int(object, "elements", inquiry->elements);
	/* infinite where no error at all was allowed */
	kl_json_set_int(object, "margin_ppm", ppm < 1e15 ? (int64_t)ceil(ppm) : 1000000000000000);
	if (json_array_size(notes))
		kl_json_set(object, "notes", json_incref(notes));
	if (inquiry->failure)
		kl_json_set(object, "failure", json_incref(inquiry->failure));
	kl_json_set(result, "correct", object);
	if (!inquiry->class)
		return;
	kl_json_set_str(result, "status", "fail");
	kl_json_set_str(result, "class", inquiry->class);
	kl_json_set_str(result, "message", inquiry->message);
}

int kl_stage_correct(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(kl_inquiry_release) struct kl_inquiry inquiry = { .pool = NULL };
	KL_AUTO(json_decrefp) json_t *notes = json_array();
	int err;

	if (!job->candidate_so)
		return kl_error(KL_EINVALID, "the job names no candidate to judge");
	kl_inquiry_init(&inquiry, job, pool, 2 * kl_pool_size(pool) + SOAK_CALLS + SOAK_MORE);
	err = all_points(&inquiry, notes);
	if (err == 0)
		report_inquiry(result, &inquiry, notes);
	return err;
}
