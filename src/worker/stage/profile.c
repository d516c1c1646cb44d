/* SPDX-License-Identifier: Apache-2.0 */
/* profile - times the candidate on a CPU and checks its physical floor (stage profile) */
#include "worker/stage/stages.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "worker/gpu/timing/stage.h"
#include "worker/measure/blocks.h"
#include "worker/measure/processors.h"
#include "worker/measure/profile_failure.h"
#include "worker/measure/visit.h"

/*
 * If a subject's call takes longer, one measured call for each visit and one visit for each block
 * are enough.
 */
#define SLOW_NS ((int64_t)10000000)
/* Errors of the clock and of the handshake can put a single time below the floor by this much. */
#define FLOOR_SLACK_NS 1000

struct profile {
	json_t *result, *notes;
	const struct kl_job *job;
	const struct kl_point *point;
	const struct kl_member *input[KL_VISIT_MAX_INPUTS];
	size_t ninput;
	struct kl_rng order, poison;
	struct kl_subject_spec spec[KL_BLOCKS_SUBJECTS];
	struct kl_blocks blocks;
	/*
	 * All subjects use the same pages: the placement of pages, too, changes times by some per
	 * cent.
	 */
	struct kl_subject_memory memory;
	size_t calls; /* measured calls of a visit, the same for all subjects of a block */
	/* measured calls at this point; how many had to wait for a processor */
	int measured, disturbed;
	int64_t longest_ns; /* longest unmeasured call of a subject */
	double *handshake;
	size_t nhandshake, handshake_alloc;
};

/* -- one measurement ------------------------------------------------------- */

/*
 * If a parent or baseline cannot be measured, drop the comparison instead of failing the candidate.
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

	profile->calls = profile->longest_ns > SLOW_NS ? 1 : profile->ninput - 1;
}

static int fail_visit(struct profile *profile, const struct kl_visit *visit)
{
	return visit->call.end != KL_CALL_OK ?
		       kl_profile_fail_end(profile->result, profile->job, visit->at, &visit->call) :
		       kl_profile_fail_wrong(profile->result, profile->job, visit->at,
					     &visit->mismatch, visit->kept);
}

static int take_visit(struct profile *profile, enum kl_blocks_who who, const struct kl_visit *visit,
		      double *log_ns)
{
	bool candidate = who == KL_BLOCKS_CANDIDATE || who == KL_BLOCKS_AGAIN;

	KL_GROW(profile->handshake, profile->nhandshake + 1, profile->handshake_alloc);
	profile->handshake[profile->nhandshake++] = (double)visit->handshake_ns;
	if (!visit->traced)
		kl_blocks_note(
			profile->notes,
			"ptrace is refused here: the end of a call was checked by a second look "
			"at its outputs only");
	if (!kl_visit_ok(visit)) {
		if (candidate)
			return fail_visit(profile, visit);
		return drop_side(profile, who,
				 visit->call.end != KL_CALL_OK ? visit->call.what :
								 visit->mismatch.why);
	}
	if (candidate && visit->least_wall_ns + FLOOR_SLACK_NS < profile->point->floor_ns)
		return kl_profile_fail(profile->result, "cheat",
				       "%lld ns at '%s' is below the physical floor of %lld ns: "
				       "the work cannot have been done",
				       (long long)visit->least_wall_ns, profile->point->id,
				       (long long)profile->point->floor_ns);
	profile->blocks.subject[who].once |= visit->slow || visit->first_ns > SLOW_NS;
	*log_ns += log((double)visit->least_ns);
	profile->measured += visit->measured;
	if (visit->first_ns > profile->longest_ns)
		profile->longest_ns = visit->first_ns;
	profile->disturbed += visit->disturbed;
	return 0;
}

static int take_sample(void *ctx, enum kl_blocks_who who, double *log_ns)
{
	struct profile *profile = ctx;
	struct kl_visit_plan plan = { .job = profile->job,
				      .point = profile->point,
				      .spec = profile->spec[who],
				      .input = profile->input,
				      .ninput = profile->ninput,
				      .calls = profile->calls,
				      .memory = &profile->memory,
				      .order = &profile->order,
				      .poison = &profile->poison };
	struct kl_visit visit;
	int err = kl_visit(&visit, &plan);

	if (err < 0 && (who == KL_BLOCKS_PARENT || who == KL_BLOCKS_BASELINE))
		return drop_side(profile, who, kl_error_last());
	if (err == KL_EINVALID)
		return kl_profile_fail(profile->result, "launch", "%s", kl_error_last());
	return err < 0 ? err : take_visit(profile, who, &visit, log_ns);
}

/* -- the machine ------------------------------------------------------------ */

static void set_subjects(struct profile *profile, int cpu)
{
	const struct kl_job *job = profile->job;
	struct kl_subject_spec kernel = { .kind = KL_SUBJECT_KERNEL,
					  .so = job->candidate_so,
					  .entry = job->entry,
					  .cpu = cpu,
					  .timed = true };
	struct kl_blocks_subject *subject = profile->blocks.subject;

	for (int i = 0; i < KL_BLOCKS_SUBJECTS; i++)
		profile->spec[i] = kernel;
	subject[KL_BLOCKS_CANDIDATE].there = subject[KL_BLOCKS_AGAIN].there = true;
	subject[KL_BLOCKS_PARENT].what = "parent";
	profile->spec[KL_BLOCKS_PARENT].so = job->parent_so;
	subject[KL_BLOCKS_PARENT].there = job->parent_so != NULL;
	subject[KL_BLOCKS_BASELINE].what = job->baseline;
	subject[KL_BLOCKS_BASELINE].there = job->baseline != NULL;
	profile->spec[KL_BLOCKS_BASELINE] = (struct kl_subject_spec){
		.kind = KL_SUBJECT_BASELINE, .baseline = job->baseline, .cpu = cpu, .timed = true
	};
}

/* Returns 0, KL_PROFILE_FAILED or an error. */
static int profile_point(struct profile *profile, const struct kl_point *pt, struct kl_pool *pool,
			 json_t *points, int cpu, int64_t max_ms)
{
	int err;

	profile->point = pt;
	profile->measured = profile->disturbed = 0;
	profile->longest_ns = 0;
	profile->ninput = kl_pool_noise(pool, pt, profile->input, KL_VISIT_MAX_INPUTS);
	if (profile->ninput > KL_VISIT_MAX_INPUTS)
		profile->ninput = KL_VISIT_MAX_INPUTS;
	if (profile->ninput < 2)
		return kl_error(KL_EINVALID, "the pool has %zu inputs for '%s', a profile needs 2",
				profile->ninput, pt->id);
	kl_blocks_release(&profile->blocks);
	kl_subject_memory_release(&profile->memory);
	profile->blocks = (struct kl_blocks){ .min = (size_t)profile->job->profile_min_blocks,
					      .max_ms = max_ms,
					      .rng = &profile->order,
					      .sample = take_sample,
					      .begin = begin_block,
					      .ctx = profile };
	set_subjects(profile, cpu);
	if ((err = kl_blocks_run(&profile->blocks)) < 0)
		return kl_error_in(err, "profile of '%s'", pt->id);
	if (err == KL_PROFILE_FAILED)
		return err;
	json_array_append_new(points, kl_blocks_report(&profile->blocks, pt->id, profile->notes));
	if (profile->disturbed > profile->measured / 4)
		kl_blocks_note(
			profile->notes,
			"%s: the processors did other work as well: times are processor time",
			pt->id);
	return 0;
}

static int profile_points(struct profile *profile, struct kl_pool *pool, json_t *points, int cpu)
{
	const struct kl_job *job = profile->job;
	int64_t n = 0;
	int err = 0;

	for (size_t i = 0; i < job->npoint; i++)
		n += job->point[i].perf;
	for (size_t i = 0; i < job->npoint && !err; i++)
		if (job->point[i].perf)
			err = profile_point(profile, &job->point[i], pool, points, cpu,
					    job->profile_max_ms / n);
	return err < 0 ? err : 0;
}

static void release_profile(struct profile *profile)
{
	kl_blocks_release(&profile->blocks);
	kl_subject_memory_release(&profile->memory);
	free(profile->handshake);
}

int kl_stage_profile(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(release_profile) struct profile profile = { .result = result, .job = job };
	json_t *out = json_object(), *points = json_array();
	struct kl_processors processors;
	cpu_set_t before, one;
	int err;

	profile.notes = json_array();
	kl_rng_fresh(&profile.order);
	kl_rng_fresh(&profile.poison);
	kl_json_set(result, "profile", out);
	kl_json_set(out, "points", points);
	kl_json_set(out, "notes", profile.notes);
	if (job->surface == KL_SURFACE_CUDA)
		return kl_gpu_profile(result, job, pool);
	if (sched_getaffinity(0, sizeof(before), &before) < 0)
		return kl_error_errno("cannot get the CPU affinity");
	kl_processors_choose(&processors);
	if (processors.ours < 0) {
		kl_blocks_note(profile.notes, "one processor: not profiled");
		return 0;
	}
	if (processors.one_core)
		kl_blocks_note(profile.notes,
			       "the clock and the kernel share one core: times are rough");
	CPU_ZERO(&one);
	CPU_SET(processors.ours, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		return kl_error_errno("cannot pin this process to processor %d", processors.ours);
	err = profile_points(&profile, pool, points, processors.theirs);
	sched_setaffinity(0, sizeof(before), &before);
	if (profile.nhandshake)
		kl_json_set_int(out, "handshake_ns",
				(int64_t)kl_stats_median(profile.handshake, profile.nhandshake));
	return err;
}
