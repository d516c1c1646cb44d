/* SPDX-License-Identifier: Apache-2.0 */
/* correct - checks the candidate's answers on inputs it has not seen (stage correct) */
#include "worker/stage/stages.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/rng.h"
#include "worker/measure/blocks.h"
#include "worker/stage/first_call.h"
#include "worker/stage/inquiry.h"
#include "worker/stage/ordinary_calls.h"
#include "worker/stage/retrial.h"
#include "worker/stage/rounds.h"
#include "worker/stage/scout.h"
#include "worker/stage/search.h"
#include "worker/stage/soak.h"
#include "worker/subject/processors.h"

/*
 * Add a note if calls at a point were skipped because they are slow. If inputs were skipped at a
 * point that is not timed, set inquiry->doubt, since a kernel in C is then not proved right.
 */
static void note_left(json_t *notes, struct kl_inquiry *inquiry, const struct kl_point *pt,
		      const struct kl_rounds_left *left)
{
	size_t at = (size_t)(pt - inquiry->job->point);

	if (!left->further || inquiry->class)
		return;
	kl_blocks_note(notes,
		       "%s: a call takes %.2g s, so only %" PRId64
		       " calls were judged, with %zu of %zu inputs",
		       pt->id, (double)inquiry->cost[at] / 1e9, inquiry->made[at], left->asked,
		       left->asked + left->members);
	if (left->members && !pt->perf && inquiry->job->surface == KL_SURFACE_C)
		snprintf(inquiry->doubt, sizeof(inquiry->doubt),
			 "a call takes %.2g s at '%s', which is too slow to judge more than %zu of "
			 "%zu inputs",
			 (double)inquiry->cost[at] / 1e9, pt->id, left->asked,
			 left->asked + left->members);
}

/*
 * Set inquiry->after_perf to a random point that is not timed. One process is called at a
 * performance point first and then at this point.
 */
static void draw_after_perf(struct kl_inquiry *inquiry)
{
	struct kl_key key = kl_key_derive(&inquiry->order, "after a performance point");
	struct kl_rng rng;
	size_t n = 0;

	kl_rng_key(&rng, &key, 0);
	for (size_t i = 0; i < inquiry->job->npoint; i++)
		if (!inquiry->job->point[i].perf && kl_rng_below(&rng, ++n) == 0)
			inquiry->after_perf = &inquiry->job->point[i];
}

/*
 * If the job replays a failure, begin with the call that failed. If the job also has the larger
 * point of the pair, the kernel is called there first, as it was when retrial.c repeated the
 * failure. No wrong answer was redrawn then, so none is redrawn here.
 */
static int replay_first(struct kl_inquiry *inquiry)
{
	size_t member, before = KL_POOL_NONE;
	struct kl_redraws *redraws = inquiry->redraw.stage;
	struct kl_round round = { .member = &member, .n = 1, .where = "" };
	bool right;
	int err;

	if (!kl_first_call_of(&member, &right, inquiry->pool, inquiry->job->seed))
		return 0;
	round.point = kl_pool_get(inquiry->pool, member)->point;
	round.right = right;
	if (round.point->drawn)
		before = kl_search_before(inquiry, round.point);
	if (before != KL_POOL_NONE) {
		round.before = &before;
		round.where = KL_SEARCH_AFTER;
	}
	inquiry->redraw.stage = NULL;
	err = kl_inquiry_round(inquiry, &round);
	inquiry->redraw.stage = redraws;
	return err;
}

static int one_point(struct kl_inquiry *inquiry, const struct kl_point *pt, bool alone,
		     json_t *notes)
{
	struct kl_rounds_left left;
	int err = pt->perf ? kl_rounds_perf(&left, inquiry, pt, alone) :
			     kl_rounds_also(&left, inquiry, pt);

	note_left(notes, inquiry, pt, &left);
	return err;
}

/*
 * Judge performance points before all others: a kernel that passes there and fails at another point
 * is wrong at an edge (class wrong-edge).
 */
static int all_points(struct kl_inquiry *inquiry, json_t *notes)
{
	bool also = false;
	int err = 0;

	for (size_t i = 0; i < inquiry->job->npoint; i++)
		also = also || !inquiry->job->point[i].perf;
	draw_after_perf(inquiry);
	err = replay_first(inquiry);
	/* this job has drawn points only: it replays a failure, or the user named the points */
	if (inquiry->job->point[0].drawn) {
		kl_blocks_note(notes, "only the requested points were judged");
		return err < 0 || inquiry->class ? err : kl_search_points(inquiry);
	}
	if (err == 0 && !inquiry->class && inquiry->job->surface == KL_SURFACE_CUDA)
		err = kl_scout(inquiry);
	for (size_t k = 0; k < 2 * inquiry->job->npoint && err == 0 && !inquiry->class; k++) {
		const struct kl_point *pt = &inquiry->job->point[k % inquiry->job->npoint];

		if (pt->perf == (k < inquiry->job->npoint))
			err = one_point(inquiry, pt, !also, notes);
	}
	if (err < 0 || inquiry->class)
		return err;
	if (inquiry->job->surface == KL_SURFACE_CUDA)
		return kl_ordinary_calls(inquiry, notes);
	for (size_t i = 0; i < inquiry->job->npoint && err == 0 && !inquiry->class; i++)
		if (inquiry->job->point[i].perf)
			err = kl_rounds_perf_again(inquiry, &inquiry->job->point[i]);
	return err < 0 || inquiry->class ? err : kl_soak(inquiry, notes);
}

/* -- result ------------------------------------------------------------- */

static int64_t count_cases(const struct kl_inquiry *inquiry)
{
	int64_t n = 0;

	for (size_t i = 0; inquiry->pool && i < kl_pool_size(inquiry->pool); i++)
		n += kl_inquiry_passed(inquiry, i);
	return n;
}

/* Return the lowest processor time in ns of a call at each point; stage profile reads it. */
static json_t *call_times(const struct kl_inquiry *inquiry)
{
	json_t *object = json_object();

	for (size_t i = 0; i < inquiry->job->npoint; i++)
		if (inquiry->used[i])
			kl_json_set_int(object, inquiry->job->point[i].id, inquiry->used[i]);
	return object;
}

/* Count the members with values beyond those of the contract (pool/further.h). */
static int64_t count_further(const struct kl_inquiry *inquiry)
{
	int64_t n = 0;

	for (size_t i = 0; inquiry->pool && i < kl_pool_size(inquiry->pool); i++)
		n += kl_pool_get(inquiry->pool, i)->further;
	return n;
}

static void report_failure(json_t *result, json_t *object, const struct kl_inquiry *failed)
{
	kl_json_set(object, "failure", json_incref(failed->failure));
	kl_json_set_str(result, "status", "fail");
	kl_json_set_str(result, "class", failed->class);
	kl_json_set_str(result, "message", failed->message);
}

/* Report that a slow kernel was called too rarely to pass. */
static void report_doubt(json_t *result, const char *doubt)
{
	kl_json_set_str(result, "status", "inconclusive");
	kl_json_set_str(result, "message", doubt);
}

/*
 * In a job that names its points and its seed, report a digest of the answers: another kernel gets
 * the same inputs there, so that the answers of both can be compared.
 */
static void report_outputs(json_t *object, const struct kl_inquiry *listed)
{
	char hex[KL_SHA256_HEX];

	if (listed->job->seed && listed->job->point[0].drawn && !listed->class &&
	    kl_judge_digest(hex, &listed->judge))
		kl_json_set_str(object, "outputs", hex);
}

static void report_inquiries(json_t *result, const struct kl_job *job,
			     const struct kl_inquiry *listed, const struct kl_search *search,
			     json_t *notes)
{
	const struct kl_inquiry *drawn = &search->inquiry;
	json_t *object = json_object(), *seeds = json_array();
	double ppm = fmax(listed->margin, drawn->margin) * 1e6;
	KL_AUTO(kl_freep) char *seed = kl_asprintf("%" PRIu64, job->seed);

	if (job->seed)
		json_array_append_new(seeds, json_string(seed));
	kl_json_set(object, "seeds", seeds);
	kl_json_set_int(object, "cases", count_cases(listed) + count_cases(drawn));
	kl_json_set_int(object, "calls", listed->calls + drawn->calls);
	kl_json_set_int(object, "elements", listed->elements + drawn->elements);
	kl_json_set_int(object, "drawn_points", (int64_t)search->drawn.job.npoint);
	kl_json_set_int(object, "drawn_values", count_further(listed) + count_further(drawn));
	/* ppm is infinite if there was an error where none is allowed */
	kl_json_set_int(object, "margin_ppm", ppm < 1e15 ? (int64_t)ceil(ppm) : 1000000000000000);
	if (job->surface == KL_SURFACE_C)
		kl_json_set(object, "call_ns", call_times(listed));
	if (json_array_size(notes))
		kl_json_set(object, "notes", json_incref(notes));
	report_outputs(object, listed);
	kl_json_set(result, "correct", object);
	if (listed->class)
		report_failure(result, object, listed);
	else if (drawn->class)
		report_failure(result, object, drawn);
	else if (*listed->doubt)
		report_doubt(result, listed->doubt);
	else if (*drawn->doubt)
		report_doubt(result, drawn->doubt);
}

int kl_stage_correct(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(kl_inquiry_release) struct kl_inquiry inquiry = { .pool = NULL };
	KL_AUTO(kl_search_release) struct kl_search search = { .pool = NULL };
	KL_AUTO(json_decrefp) json_t *notes = json_array();
	struct kl_redraws redraws = { .tried = 0 };
	struct kl_processors processors;
	int err;

	if (!job->candidate_path)
		return kl_error(KL_EINVALID, "the job names no candidate to judge");
	kl_inquiry_init(&inquiry, job, pool);
	kl_processors_choose(&processors);
	inquiry.cpu = inquiry.redraw.cpu = processors.theirs;
	inquiry.redraw.stage = &redraws;
	if (!job->point[0].drawn)
		kl_search_begin(&search, job, pool);
	err = all_points(&inquiry, notes);
	if (err == 0 && !inquiry.class)
		err = kl_search_run(&search, &inquiry, notes);
	kl_search_stop(&search);
	if (err < 0)
		return err;
	kl_redraws_note(notes, &redraws);
	kl_retrial(inquiry.class ? &inquiry : &search.inquiry, notes);
	report_inquiries(result, job, &inquiry, &search, notes);
	return 0;
}
