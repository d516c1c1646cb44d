/* SPDX-License-Identifier: Apache-2.0 */
/* profile - times the candidate on a CPU and checks its times against the floor (stage profile) */
#include "worker/stage/stages.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "worker/gpu/timing/stage.h"
#include "worker/measure/blocks.h"
#include "worker/measure/lateness.h"
#include "worker/measure/profile_failure.h"
#include "worker/measure/visit.h"
#include "worker/subject/processors.h"

/* Errors of the clock and of the handshake can put a single time below the floor by this much. */
#define FLOOR_SLACK_NS 1000

/*
 * If calls are very slow, the calls of the tails (measure/script.h) may take at most 1 / TAIL_SHARE
 * of the time at a point.
 */
#define TAIL_SHARE 20
/*
 * If every call of stage correct took longer than OTHER_KERNEL times a timed call plus
 * OTHER_KERNEL_NS, the kernel can tell when it is timed.
 */
#define OTHER_KERNEL 4
#define OTHER_KERNEL_NS 1000000
#define TURNS 2 /* visits of each subject in a block */

struct profile {
	json_t *result, *notes;
	const struct kl_job *job;
	const struct kl_point *point;
	struct kl_script_source source;
	struct kl_rng rng; /* draws scripts and the order of subjects */
	struct kl_subject_spec spec[KL_BLOCKS_SUBJECTS];
	struct kl_judge judge[KL_BLOCKS_SUBJECTS]; /* KL_BLOCKS_AGAIN uses the candidate's */
	struct kl_redraw redraw; /* how wrong answers of the candidate are redrawn */
	struct kl_redraws redraws;
	struct kl_blocks blocks;
	struct kl_lateness lateness;
	/*
	 * All subjects use the same pages, because the placement of pages changes times by a few
	 * per cent.
	 */
	struct kl_subject_memory memory;
	struct kl_script script[TURNS];  /* scripts of the current block, for all subjects */
	size_t turn[KL_BLOCKS_SUBJECTS]; /* visits of each subject in the current block */
	bool lean[KL_BLOCKS_SUBJECTS];   /* the subject's calls are very slow */
	/* clock time at the start of this point; time of all tails so far */
	int64_t begin_ns, tail_ns;
	/* number of measured calls at this point; number of those that waited for a processor */
	int measured, disturbed;
	int64_t longest_ns; /* longest call of a subject at this point so far */
	double *handshake;  /* handshake time of each visit, in ns */
	size_t nhandshake, handshake_alloc;
};

/* -- one measurement ------------------------------------------------------- */

/*
 * Drop the comparison with a parent or baseline that cannot be measured, since the candidate must
 * not fail because of it. Returns 0.
 */
static int drop_side(struct profile *profile, enum kl_blocks_who who, const char *why)
{
	kl_blocks_note(profile->notes, "%s is not compared: %s", profile->blocks.subject[who].what,
		       why);
	profile->blocks.subject[who].there = false;
	return 0;
}

static void begin_block(void *ctx)
{
	struct profile *profile = ctx;
	const struct kl_script_wish wish = { .measured = profile->longest_ns > KL_SCRIPT_SLOW_NS ?
								 1 :
								 KL_SCRIPT_MEASURED };

	for (size_t i = 0; i < TURNS; i++)
		kl_script_draw(&profile->script[i], &profile->source, &profile->rng, &wish);
	memset(profile->turn, 0, sizeof(profile->turn));
	kl_lateness_begin(&profile->lateness);
}

static int fail_visit(struct profile *profile, const struct kl_visit *visit)
{
	return visit->call.end != KL_CALL_OK ?
		       kl_profile_fail_end(profile->result, profile->job, visit->at, &visit->call) :
		       kl_profile_fail_wrong(profile->result, profile->job, visit->at,
					     &visit->mismatch, visit->kept);
}

static int fail_changed(struct profile *profile, const struct kl_visit *visit)
{
	static const char why[] =
		"a timed call gave other bits than an earlier call with the same input";

	kl_profile_fail(profile->result, "nondeterministic", "%s", why);
	kl_profile_describe(profile->result, profile->job, visit->at, &visit->mismatch, why);
	return KL_PROFILE_FAILED;
}

static bool is_candidate(enum kl_blocks_who who)
{
	return who == KL_BLOCKS_CANDIDATE || who == KL_BLOCKS_AGAIN;
}

static int take_visit(struct profile *profile, enum kl_blocks_who who, const struct kl_visit *visit,
		      double *log_ns)
{
	bool candidate = is_candidate(who);

	KL_GROW(profile->handshake, profile->nhandshake + 1, profile->handshake_alloc);
	profile->handshake[profile->nhandshake++] = (double)visit->handshake_ns;
	if (!visit->traced)
		kl_blocks_note(profile->notes,
			       "ptrace is refused here, so the end of a call was checked only by "
			       "reading its outputs twice");
	if (!kl_visit_ok(visit)) {
		if (candidate && visit->changed)
			return fail_changed(profile, visit);
		if (candidate)
			return fail_visit(profile, visit);
		return drop_side(profile, who,
				 visit->call.end != KL_CALL_OK ? visit->call.what :
								 visit->mismatch.why);
	}
	if (candidate && visit->least_wall_ns + FLOOR_SLACK_NS < profile->point->floor_ns)
		return kl_profile_fail(profile->result, "cheat",
				       "%lld ns at '%s' is below the physical floor of %lld ns, so "
				       "the work cannot have been done",
				       (long long)visit->least_wall_ns, profile->point->id,
				       (long long)profile->point->floor_ns);
	/* if calls are slow, one visit in each block is enough */
	profile->blocks.subject[who].once |= visit->least_ns > KL_SCRIPT_SLOW_NS;
	profile->lean[who] |= visit->least_ns > KL_VISIT_SLOW_NS;
	*log_ns += log((double)visit->least_ns);
	kl_lateness_add(&profile->lateness, who, visit->least_late_ns);
	profile->measured += visit->measured;
	if (visit->least_ns > profile->longest_ns)
		profile->longest_ns = visit->least_ns;
	profile->disturbed += visit->disturbed;
	profile->tail_ns += visit->tail_ns;
	return 0;
}

static bool tail_is_due(const struct profile *profile, enum kl_blocks_who who)
{
	return !profile->lean[who] || !profile->tail_ns ||
	       profile->tail_ns < (kl_clock_ns() - profile->begin_ns) / TAIL_SHARE;
}

static int take_sample(void *ctx, enum kl_blocks_who who, double *log_ns)
{
	struct profile *profile = ctx;
	struct kl_visit_plan plan = { .job = profile->job,
				      .point = profile->point,
				      .spec = profile->spec[who],
				      .script = &profile->script[profile->turn[who]++ % TURNS],
				      .candidate = is_candidate(who),
				      .lean = profile->lean[who],
				      .memory = &profile->memory };
	struct kl_visit visit;
	int err;

	plan.judge = &profile->judge[plan.candidate ? KL_BLOCKS_CANDIDATE : who];
	plan.redraw = plan.candidate ? &profile->redraw : NULL;
	plan.tail = plan.candidate && tail_is_due(profile, who);
	err = kl_visit(&visit, &plan);
	if (err < 0 && (who == KL_BLOCKS_PARENT || who == KL_BLOCKS_BASELINE))
		return drop_side(profile, who, kl_error_last());
	if (err == KL_EINVALID)
		return kl_profile_fail(profile->result, "launch", "%s", kl_error_last());
	return err < 0 ? err : take_visit(profile, who, &visit, log_ns);
}

/* -- one point -------------------------------------------------------------- */

/* Return the lowest processor time in ns of a call of stage correct at a point; 0 if unknown. */
static int64_t judged_call_ns(const struct profile *profile, const struct kl_point *pt)
{
	const json_t *correct = json_object_get(profile->result, "correct");

	return kl_json_int_or(json_object_get(correct, "call_ns"), pt->id, 0);
}

static int64_t count_timed(const struct kl_job *job)
{
	int64_t n = 0;

	for (size_t i = 0; i < job->npoint; i++)
		n += job->point[i].perf;
	return n;
}

static void set_subjects(struct profile *profile, int cpu)
{
	const struct kl_job *job = profile->job;
	struct kl_subject_spec kernel = {
		.kind = KL_SUBJECT_KERNEL, .path = job->candidate_path, .cpu = cpu, .timed = true
	};
	struct kl_blocks_subject *subject = profile->blocks.subject;

	for (int i = 0; i < KL_BLOCKS_SUBJECTS; i++)
		profile->spec[i] = kernel;
	subject[KL_BLOCKS_CANDIDATE].there = subject[KL_BLOCKS_AGAIN].there = true;
	subject[KL_BLOCKS_PARENT].what = "parent";
	profile->spec[KL_BLOCKS_PARENT].path = job->parent_path;
	subject[KL_BLOCKS_PARENT].there = job->parent_path != NULL;
	subject[KL_BLOCKS_BASELINE].what = job->baseline;
	subject[KL_BLOCKS_BASELINE].there = job->baseline != NULL;
	profile->spec[KL_BLOCKS_BASELINE] = (struct kl_subject_spec){
		.kind = KL_SUBJECT_BASELINE, .baseline = job->baseline, .cpu = cpu, .timed = true
	};
}

static void begin_point(struct profile *profile, const struct kl_point *pt, int cpu, int64_t max_ms)
{
	profile->point = pt;
	profile->measured = profile->disturbed = 0;
	profile->longest_ns = judged_call_ns(profile, pt);
	profile->begin_ns = kl_clock_ns();
	profile->tail_ns = 0;
	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++) {
		profile->lean[who] = false;
		kl_judge_release(&profile->judge[who]);
		profile->judge[who].job = profile->job;
	}
	profile->lean[KL_BLOCKS_CANDIDATE] = profile->lean[KL_BLOCKS_AGAIN] = profile->longest_ns >
									      KL_VISIT_SLOW_NS;
	kl_lateness_release(&profile->lateness);
	kl_blocks_release(&profile->blocks);
	kl_subject_memory_release(&profile->memory);
	profile->memory = (struct kl_subject_memory){ .tensor = { { .least = 0 } } };
	for (size_t i = 0; i < profile->source.nelsewhere; i++)
		kl_subject_memory_reserve(&profile->memory, profile->job,
					  profile->source.elsewhere[i]->point);
	profile->blocks = (struct kl_blocks){ .min = (size_t)profile->job->profile_min_blocks,
					      .max_ms = max_ms,
					      .rng = &profile->rng,
					      .sample = take_sample,
					      .begin = begin_block,
					      .ctx = profile };
	set_subjects(profile, cpu);
}

/*
 * Note whatever makes the times less exact. Set the status to inconclusive if calls in stage
 * correct took much longer than timed calls.
 */
static void doubt_times(struct profile *profile)
{
	int64_t late = kl_lateness_charge(&profile->lateness, &profile->blocks);
	int64_t judged = judged_call_ns(profile, profile->point);
	int64_t ns = kl_blocks_ns(&profile->blocks, KL_BLOCKS_CANDIDATE);
	KL_AUTO(kl_freep) char *message = NULL;

	if (late > 0 && late > ns / 100)
		kl_blocks_note(profile->notes,
			       "%s: the kernel's process stops %lld ns later than others, which is "
			       "added to its times",
			       profile->point->id, (long long)late);
	if (profile->disturbed > profile->measured / 4)
		kl_blocks_note(profile->notes,
			       "%s: other programs ran on the processors, so times %s",
			       profile->point->id,
			       profile->job->threads > 1 ? "include waiting for a processor" :
							   "are processor time");
	if (judged <= OTHER_KERNEL * ns + OTHER_KERNEL_NS)
		return;
	message = kl_asprintf("at '%s' every untimed call took at least %.2g s, but a timed call "
			      "takes %.2g s, so the kernel tells timed calls apart",
			      profile->point->id, (double)judged / 1e9, (double)ns / 1e9);
	kl_json_set_str(profile->result, "status", "inconclusive");
	kl_json_set_str(profile->result, "message", message);
}

/* Profile one point. Return 0, KL_PROFILE_FAILED or an error. */
static int profile_point(struct profile *profile, const struct kl_pool *pool,
			 const struct kl_pool *fresh, const struct kl_point *pt, int cpu)
{
	int64_t max_ms = profile->job->profile_max_ms / count_timed(profile->job);
	int err;

	kl_script_source_release(&profile->source);
	if ((err = kl_script_source(&profile->source, profile->job, pool, fresh, pt)) < 0)
		return err;
	begin_point(profile, pt, cpu, max_ms);
	if ((err = kl_blocks_run(&profile->blocks)) < 0)
		return kl_error_in(err, "profile of '%s'", pt->id);
	if (err == KL_PROFILE_FAILED)
		return err;
	doubt_times(profile);
	json_array_append_new(json_object_get(json_object_get(profile->result, "profile"),
					      "points"),
			      kl_blocks_report(&profile->blocks, pt->id, profile->notes));
	return 0;
}

static int profile_points(struct profile *profile, const struct kl_pool *pool,
			  const struct kl_pool *fresh, int cpu)
{
	const struct kl_job *job = profile->job;
	int err = 0;

	profile->redraw = (struct kl_redraw){
		.job = job, .pool = pool, .cpu = cpu, .stage = &profile->redraws
	};
	for (size_t i = 0; i < job->npoint && !err; i++)
		if (job->point[i].perf)
			err = profile_point(profile, pool, fresh, &job->point[i], cpu);
	kl_redraws_note(profile->notes, &profile->redraws);
	return err < 0 ? err : 0;
}

static void release_profile(struct profile *profile)
{
	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++)
		kl_judge_release(&profile->judge[who]);
	kl_script_source_release(&profile->source);
	kl_lateness_release(&profile->lateness);
	kl_blocks_release(&profile->blocks);
	kl_subject_memory_release(&profile->memory);
	free(profile->handshake);
}

int kl_stage_profile(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(release_profile) struct profile profile = { .result = result, .job = job };
	KL_AUTO(kl_pool_freep) struct kl_pool *fresh = NULL;
	json_t *out = json_object();
	struct kl_processors processors;
	cpu_set_t before, one;
	int err;

	profile.notes = json_array();
	kl_rng_fresh(&profile.rng);
	kl_json_set(result, "profile", out);
	kl_json_set(out, "points", json_array());
	kl_json_set(out, "notes", profile.notes);
	if (job->surface == KL_SURFACE_CUDA)
		return kl_gpu_profile(result, job, pool);
	if (sched_getaffinity(0, sizeof(before), &before) < 0)
		return kl_error_errno("cannot get the CPU affinity");
	kl_processors_choose(&processors);
	if (processors.ours < 0) {
		kl_blocks_note(profile.notes,
			       "not profiled, because only one processor may be used");
		return 0;
	}
	if (processors.one_core)
		kl_blocks_note(profile.notes,
			       "the clock and the kernel share one core, so times are rough");
	if (job->threads > CPU_COUNT(&before)) {
		kl_blocks_note(profile.notes,
			       "not profiled, because the kernel has %lld threads, but only %d "
			       "processors may be used",
			       (long long)job->threads, CPU_COUNT(&before));
		return 0;
	}
	if (job->threads > 1 && job->threads == CPU_COUNT(&before))
		kl_blocks_note(profile.notes, "the clock shares a processor with a thread of the "
					      "kernel, so times are rough");
	/* before this process is pinned, because all processors help to make the draws */
	if ((err = kl_pool_make_fresh(&fresh, job, pool, KL_SCRIPT_MEASURED)) < 0)
		return err;
	CPU_ZERO(&one);
	CPU_SET(processors.ours, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		return kl_error_errno("cannot pin this process to processor %d", processors.ours);
	err = profile_points(&profile, pool, fresh, processors.theirs);
	sched_setaffinity(0, sizeof(before), &before);
	if (profile.nhandshake)
		kl_json_set_int(out, "handshake_ns",
				(int64_t)kl_stats_median(profile.handshake, profile.nhandshake));
	return err;
}
