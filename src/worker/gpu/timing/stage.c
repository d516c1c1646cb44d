/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/timing/stage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "worker/gpu/timing/stage_parts.h"
#include "worker/measure/profile_failure.h"

/* Approximate time in ns on the device of one visit: a series of timed calls of one subject. */
#define VISIT_NS 3e6
/* Approximate time in ns to poison, flush and fingerprint around one call. */
#define AROUND_NS 3e5
/* The real peak rate of the device memory is at most this many times the computed rate. */
#define PEAK_SLACK 1.1

static int take_sample(void *ctx, enum kl_blocks_who who, double *log_ns)
{
	struct kl_gpu_time *timing = ctx;
	double ns;
	int err = kl_gpu_time_measure(timing, (int)who, timing->batch, timing->calls, &ns);

	if (!err && timing->there[who]) {
		*log_ns += log(ns);
		timing->blocks.subject[who].once |= ns > KL_GPU_DEAR_NS;
	}
	return err;
}

static void begin_block(void *ctx)
{
	struct kl_gpu_time *timing = ctx;
	struct kl_gpu_state state;

	if (!timing->nvml)
		return;
	kl_gpu_nvml_state(&state, timing->nvml);
	if (state.reasons > 0)
		timing->reasons |= state.reasons;
}

/* -- calls before the comparison ----------------------------------------------------------- */

/*
 * Return true if `who` need not be called with the input of `member`. This holds only for the
 * candidate's second module, if its calls are slow: one input is enough for it, since the first
 * module's answers to all inputs are judged.
 */
static bool can_skip(struct kl_gpu_time *timing, int who, uint32_t member)
{
	return who == KL_BLOCKS_AGAIN && member && timing->known[who].ns > KL_GPU_DEAR_NS &&
	       kl_gpu_time_known(timing, who)->judged[member];
}

/* Judge every subject's answer to every input, and estimate the time of a call. */
static int learn_answers(struct kl_gpu_time *timing)
{
	int err;

	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++)
		for (uint32_t member = 0; member < timing->timer->nmember && timing->there[who];
		     member++) {
			uint32_t warm = member ? 0 : 1;
			double ns;

			if (can_skip(timing, who, member))
				continue;
			if ((err = kl_gpu_time_visit(timing, who, false, &member, 1, warm, &ns)))
				return err;
			if (timing->there[who] && !isnan(ns))
				timing->known[who].ns = timing->timer->expected_ns[who] = ns;
		}
	return 0;
}

/* Time single calls of every subject for the report, in addition to batches. */
static int time_single(struct kl_gpu_time *timing)
{
	size_t calls = timing->timer->nset - 1 < 16 ? timing->timer->nset - 1 : 16;
	int err;

	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++) {
		double first, second = NAN;

		if (!timing->there[who])
			continue;
		if ((err = kl_gpu_time_measure(timing, who, false, calls, &first)) ||
		    !timing->there[who] ||
		    (err = kl_gpu_time_measure(timing, who, false, calls, &second)) ||
		    !timing->there[who])
			return err;
		timing->single_ns[who] = (first + second) / 2;
	}
	return 0;
}

static void choose_mode(struct kl_gpu_time *timing)
{
	double ns = timing->known[KL_BLOCKS_CANDIDATE].ns;
	size_t most = timing->timer->nset - (timing->point->hot ? 1 : 0);

	timing->batch = ns > 0 && ns < KL_GPU_BRIEF_NS;
	timing->calls = (size_t)fmax(1, fmin((double)most, VISIT_NS / (ns + AROUND_NS)));
	if (timing->batch && !timing->point->hot &&
	    timing->timer->nset * timing->timer->bytes < 2 * timing->timer->l2)
		kl_blocks_note(
			timing->notes,
			"%s: %zu sets of tensors take less memory than twice the size of the L2 "
			"cache, so the cache is emptied before a batch, but not between its calls",
			timing->point->id, timing->timer->nset);
}

/*
 * Return the physical floor in ns; 0 if the contract has none. The floor is the contract's or, with
 * cold caches, the time to move the bytes of all tensors at the device memory's peak rate, if that
 * is longer. As many bytes as the L2 cache holds do not count, since they may still be in the cache
 * when the kernel ends.
 */
static double physical_floor(const struct kl_gpu_time *timing)
{
	double bytes = (double)timing->timer->bytes - (double)timing->timer->l2,
	       least = (double)timing->point->floor_ns;

	if (timing->point->floor_ns > 0 && !timing->point->hot && timing->timer->bytes_per_ns > 0 &&
	    bytes > 0)
		least = fmax(least, bytes / (timing->timer->bytes_per_ns * PEAK_SLACK));
	return least;
}

/* -- profiling all points ---------------------------------------------------------------------- */

static void set_blocks(struct kl_gpu_time *timing, int64_t max_ms)
{
	kl_blocks_release(&timing->blocks);
	timing->blocks = (struct kl_blocks){ .min = (size_t)timing->job->profile_min_blocks,
					     .max_ms = max_ms,
					     .rng = &timing->order,
					     .sample = take_sample,
					     .begin = begin_block,
					     .ctx = timing };
	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++) {
		timing->blocks.subject[who].what = kl_gpu_timer_what(timing->job, who);
		timing->blocks.subject[who].there = timing->there[who];
	}
}

/* Make the calls for further figures, add these figures to the report `at`, and check them. */
static int check_figures(struct kl_gpu_time *timing, json_t *at)
{
	int err;

	if ((err = kl_gpu_time_cross_check(timing, at)) ||
	    (err = kl_gpu_time_check_outside(timing, at)) ||
	    (err = kl_gpu_time_bench(timing, at, KL_BLOCKS_CANDIDATE)))
		return err;
	return kl_gpu_time_bench(timing, at, KL_BLOCKS_BASELINE);
}

static int measure_point(struct kl_gpu_time *timing, int64_t max_ms)
{
	KL_AUTO(json_decrefp) json_t *at = NULL;
	int err;

	set_blocks(timing, max_ms);
	timing->floor_ns = physical_floor(timing);
	if ((err = learn_answers(timing)))
		return err;
	choose_mode(timing);
	if ((timing->batch && (err = time_single(timing))) ||
	    (err = kl_blocks_run(&timing->blocks)))
		return err;
	at = kl_blocks_report(&timing->blocks, timing->point->id, timing->notes);
	kl_gpu_time_add_figures(timing, at);
	kl_gpu_time_note_clocks(timing);
	if ((err = check_figures(timing, at)))
		return err;
	json_array_append(timing->points, at);
	return 0;
}

/* Report a candidate that cannot be launched, or whose `prepare` ended badly. */
static int fail_open(struct kl_gpu_time *timing, const struct kl_member *member,
		     const struct kl_gpu_time_end *how)
{
	struct kl_call call;

	if (how->end == KL_GPU_CALL_OK)
		return kl_profile_fail(timing->result, "launch", "%s", kl_error_last());
	kl_gpu_time_describe_end(&call, how, "");
	strncat(call.what, ", in prepare", sizeof(call.what) - strlen(call.what) - 1);
	return kl_profile_fail_end(timing->result, timing->job, member, &call);
}

/*
 * Profile a point. If a subject other than the candidate ends the process, profile the point again
 * without that subject.
 */
static int profile_point(struct kl_gpu_time *timing, const struct kl_point *pt,
			 struct kl_pool *pool, int64_t max_ms)
{
	const struct kl_member *member[KL_GPU_TIMER_MEMBERS];
	struct kl_gpu_time_end how;
	size_t n = kl_pool_noise(pool, pt, member, KL_GPU_TIMER_MEMBERS);
	int err;

	if (n < 2)
		return kl_error(KL_EINVALID,
				"the pool has %zu inputs for '%s', but a profile needs at least 2",
				n, pt->id);
	timing->point = pt;
	timing->hot = pt->hot;
	timing->there[KL_BLOCKS_CANDIDATE] = timing->there[KL_BLOCKS_AGAIN] = true;
	timing->there[KL_BLOCKS_PARENT] = timing->job->parent_path != NULL;
	timing->there[KL_BLOCKS_BASELINE] = timing->job->baseline != NULL;
	do {
		memset(timing->known, 0, sizeof(timing->known));
		memset(timing->single_ns, 0, sizeof(timing->single_ns));
		timing->reasons = timing->late = 0;
		kl_gpu_timer_free(timing->timer);
		timing->timer = NULL;
		err = kl_gpu_timer_open(&timing->timer, &how, timing->job, pt, member, n,
					timing->there, timing->notes);
		if (err == KL_EINVALID)
			return fail_open(timing, member[0], &how);
		if (err == 0 && !timing->nvml)
			timing->nvml = kl_gpu_nvml_open(
				kl_gpu_child_facts(timing->timer->child[0])->uuid);
		if (err == 0)
			err = measure_point(timing, max_ms);
	} while (err == KL_GPU_AGAIN_WITHOUT);
	return err < 0 ? kl_error_in(err, "profile of '%s'", pt->id) : err;
}

static void release_stage(struct kl_gpu_time *timing)
{
	kl_blocks_release(&timing->blocks);
	kl_gpu_timer_free(timing->timer);
	kl_gpu_nvml_free(timing->nvml);
}

int kl_gpu_profile(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(release_stage) struct kl_gpu_time timing = { .result = result, .job = job };
	json_t *out = json_object_get(result, "profile");
	int64_t n = 0;
	int err = 0;

	timing.points = json_object_get(out, "points");
	timing.notes = json_object_get(out, "notes");
	kl_rng_fresh(&timing.order);
	kl_rng_fresh(&timing.poison);
	for (size_t i = 0; i < job->npoint; i++)
		n += job->point[i].perf;
	for (size_t i = 0; i < job->npoint && !err; i++)
		if (job->point[i].perf)
			err = profile_point(&timing, &job->point[i], pool, job->profile_max_ms / n);
	return err < 0 ? err : 0;
}
