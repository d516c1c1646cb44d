/* SPDX-License-Identifier: Apache-2.0 */
/* profile - stage profile on a CPU: who is timed, on which processor, against which floor */
#include "worker/stage/stages.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "worker/gpu/timing/stage.h"
#include "worker/measure/blocks.h"
#include "worker/measure/profile_failure.h"
#include "worker/measure/visit.h"

/*
 * When a subject's call takes longer, one measured call a visit, and one visit a block, are enough.
 */
#define DEAR_NS ((int64_t)10000000)
/* A single time may be below the floor by what a clock and a handshake are wrong. */
#define FLOOR_SLACK_NS 1000

struct profile {
	json_t *result, *notes;
	const struct kl_job *job;
	const struct kl_point *point;
	const struct kl_member *input[KL_VISIT_MAX_INPUTS];
	size_t ninput;
	struct kl_rng rng;
	struct kl_subject_spec spec[KL_BLOCKS_SUBJECTS];
	struct kl_blocks blocks;
	/* The same pages for all: which ones they are is worth some per cent, too. */
	struct kl_subject_memory memory;
	size_t calls;            /* measured ones of a visit, the same for all of a block */
	int measured, disturbed; /* calls of this point */
	int64_t longest_ns;      /* a subject's unmeasured call */
	double *handshake;
	size_t nhandshake, handshake_alloc;
};

/* -- one measurement ------------------------------------------------------- */

/* A comparison that does not work out is left, not held against the candidate. */
static int drop_side(struct profile *p, enum kl_blocks_who who, const char *why)
{
	kl_blocks_note(p->notes, "%s is not compared: %s", p->blocks.subject[who].what, why);
	p->blocks.subject[who].there = false;
	return 0;
}

static void begin_block(void *ctx)
{
	struct profile *p = ctx;

	p->calls = p->longest_ns > DEAR_NS ? 1 : p->ninput - 1;
}

static int fail_visit(struct profile *p, const struct kl_visit *v)
{
	return v->call.end != KL_CALL_OK ?
		       kl_profile_fail_end(p->result, p->job, v->at, &v->call) :
		       kl_profile_fail_wrong(p->result, p->job, v->at, &v->mismatch, v->kept);
}

static int take_visit(struct profile *p, enum kl_blocks_who who, const struct kl_visit *v,
		      double *log_ns)
{
	bool candidate = who == KL_BLOCKS_CANDIDATE || who == KL_BLOCKS_AGAIN;

	KL_GROW(p->handshake, p->nhandshake + 1, p->handshake_alloc);
	p->handshake[p->nhandshake++] = (double)v->handshake_ns;
	if (!v->traced)
		kl_blocks_note(
			p->notes,
			"ptrace is refused here: the end of a call was checked by a second look "
			"at its outputs only");
	if (!kl_visit_ok(v)) {
		if (candidate)
			return fail_visit(p, v);
		return drop_side(p, who,
				 v->call.end != KL_CALL_OK ? v->call.what : v->mismatch.why);
	}
	if (candidate && v->least_wall_ns + FLOOR_SLACK_NS < p->point->floor_ns)
		return kl_profile_fail(p->result, "cheat",
				       "%lld ns at '%s' is below the physical floor of %lld ns: "
				       "the work cannot have been done",
				       (long long)v->least_wall_ns, p->point->id,
				       (long long)p->point->floor_ns);
	p->blocks.subject[who].once |= v->slow || v->first_ns > DEAR_NS;
	*log_ns += log((double)v->least_ns);
	p->measured += v->measured;
	if (v->first_ns > p->longest_ns)
		p->longest_ns = v->first_ns;
	p->disturbed += v->disturbed;
	return 0;
}

static int take_sample(void *ctx, enum kl_blocks_who who, double *log_ns)
{
	struct profile *p = ctx;
	struct kl_visit_plan plan = { .job = p->job,
				      .point = p->point,
				      .spec = p->spec[who],
				      .input = p->input,
				      .ninput = p->ninput,
				      .calls = p->calls,
				      .memory = &p->memory,
				      .rng = &p->rng };
	struct kl_visit v;
	int err = kl_visit(&v, &plan);

	if (err < 0 && (who == KL_BLOCKS_PARENT || who == KL_BLOCKS_BASELINE))
		return drop_side(p, who, kl_error_last());
	if (err == KL_EINVALID)
		return kl_profile_fail(p->result, "launch", "%s", kl_error_last());
	return err < 0 ? err : take_visit(p, who, &v, log_ns);
}

/* -- the machine ------------------------------------------------------------ */

/* May `b` be used while `a` is busy? Not if they are one core. */
static bool other_core(int a, int b)
{
	KL_AUTO(kl_freep)
	char *pa = kl_asprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings", a);
	KL_AUTO(kl_freep)
	char *pb = kl_asprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings", b);
	KL_AUTO(kl_buf_release) struct kl_buf ta = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf tb = KL_BUF_INIT;

	if (a == b)
		return false;
	return kl_fs_read(&ta, pa, 4096) < 0 || kl_fs_read(&tb, pb, 4096) < 0 ||
	       strcmp(ta.ptr, tb.ptr);
}

/*
 * One processor for this process, another for its children; the last of those
 * allowed for the children, since the system's own work tends to the first.
 */
static bool choose_processors(int *ours, int *theirs, const cpu_set_t *allowed)
{
	int other = -1;

	*ours = *theirs = -1;
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, allowed))
			*theirs = c;
	for (int c = 0; c < CPU_SETSIZE; c++) {
		if (!CPU_ISSET(c, allowed) || c == *theirs)
			continue;
		if (other < 0)
			other = c;
		if (other_core(c, *theirs)) {
			*ours = c;
			return true;
		}
	}
	*ours = other;
	return other >= 0;
}

static void set_subjects(struct profile *p, int cpu)
{
	const struct kl_job *j = p->job;
	struct kl_subject_spec kernel = {
		.kind = KL_SUBJECT_KERNEL, .so = j->candidate_so, .entry = j->entry, .cpu = cpu
	};
	struct kl_blocks_subject *s = p->blocks.subject;

	for (int i = 0; i < KL_BLOCKS_SUBJECTS; i++)
		p->spec[i] = kernel;
	s[KL_BLOCKS_CANDIDATE].there = s[KL_BLOCKS_AGAIN].there = true;
	s[KL_BLOCKS_PARENT].what = "parent";
	p->spec[KL_BLOCKS_PARENT].so = j->parent_so;
	s[KL_BLOCKS_PARENT].there = j->parent_so != NULL;
	s[KL_BLOCKS_BASELINE].what = j->baseline;
	s[KL_BLOCKS_BASELINE].there = j->baseline != NULL;
	p->spec[KL_BLOCKS_BASELINE] = (struct kl_subject_spec){ .kind = KL_SUBJECT_BASELINE,
								.baseline = j->baseline,
								.cpu = cpu };
}

/* 0, KL_PROFILE_FAILED or an error */
static int profile_point(struct profile *p, const struct kl_point *pt, struct kl_pool *pool,
			 json_t *points, int cpu, int64_t max_ms)
{
	int err;

	p->point = pt;
	p->measured = p->disturbed = 0;
	p->longest_ns = 0;
	p->ninput = kl_pool_noise(pool, pt, p->input, KL_VISIT_MAX_INPUTS);
	if (p->ninput > KL_VISIT_MAX_INPUTS)
		p->ninput = KL_VISIT_MAX_INPUTS;
	if (p->ninput < 2)
		return kl_error(KL_EINVALID, "the pool has %zu inputs for '%s', a profile needs 2",
				p->ninput, pt->id);
	kl_blocks_release(&p->blocks);
	kl_subject_memory_release(&p->memory);
	p->blocks = (struct kl_blocks){ .min = (size_t)p->job->profile_min_blocks,
					.max_ms = max_ms,
					.rng = &p->rng,
					.sample = take_sample,
					.begin = begin_block,
					.ctx = p };
	set_subjects(p, cpu);
	if ((err = kl_blocks_run(&p->blocks)) < 0)
		return kl_error_in(err, "profile of '%s'", pt->id);
	if (err == KL_PROFILE_FAILED)
		return err;
	json_array_append_new(points, kl_blocks_report(&p->blocks, pt->id, p->notes));
	if (p->disturbed > p->measured / 4)
		kl_blocks_note(
			p->notes,
			"%s: the processors did other work as well: times are processor time",
			pt->id);
	return 0;
}

static int profile_points(struct profile *p, struct kl_pool *pool, json_t *points, int cpu)
{
	const struct kl_job *j = p->job;
	int64_t n = 0;
	int err = 0;

	for (size_t i = 0; i < j->npoint; i++)
		n += j->point[i].perf;
	for (size_t i = 0; i < j->npoint && !err; i++)
		if (j->point[i].perf)
			err = profile_point(p, &j->point[i], pool, points, cpu,
					    j->profile_max_ms / n);
	return err < 0 ? err : 0;
}

static void release_profile(struct profile *p)
{
	kl_blocks_release(&p->blocks);
	kl_subject_memory_release(&p->memory);
	free(p->handshake);
}

int kl_stage_profile(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(release_profile) struct profile p = { .result = result, .job = job };
	json_t *out = json_object(), *points = json_array();
	cpu_set_t before, one;
	int ours, theirs, err;

	p.notes = json_array();
	kl_rng_seed(&p.rng, kl_rng_os_seed());
	kl_json_set(result, "profile", out);
	kl_json_set(out, "points", points);
	kl_json_set(out, "notes", p.notes);
	if (job->surface == KL_SURFACE_CUDA)
		return kl_gpu_profile(result, job, pool);
	if (sched_getaffinity(0, sizeof(before), &before) < 0)
		return kl_error_errno("cannot ask for the processors");
	if (!choose_processors(&ours, &theirs, &before)) {
		kl_blocks_note(p.notes, "one processor: not profiled");
		return 0;
	}
	if (!other_core(ours, theirs))
		kl_blocks_note(p.notes, "the clock and the kernel share one core: times are rough");
	CPU_ZERO(&one);
	CPU_SET(ours, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		return kl_error_errno("cannot stay on processor %d", ours);
	err = profile_points(&p, pool, points, theirs);
	sched_setaffinity(0, sizeof(before), &before);
	if (p.nhandshake)
		kl_json_set_int(out, "handshake_ns",
				(int64_t)kl_stats_median(p.handshake, p.nhandshake));
	return err;
}
