/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/timing/stage.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "worker/gpu/timing/stage_parts.h"
#include "worker/measure/profile_failure.h"

/* Device time of a visit, about. */
#define VISIT_NS 3e6
/* What is around a call: poison, flush, fingerprint. */
#define AROUND_NS 3e5
/* The device memory's peak may be this much better than what its clock says. */
#define PEAK_SLACK 1.1

static int take_sample(void *ctx, enum kl_blocks_who who, double *log_ns)
{
	struct kl_gpu_time *p = ctx;
	double ns;
	int err = kl_gpu_time_measure(p, (int)who, p->batch, p->calls, &ns);

	if (!err && p->there[who]) {
		*log_ns += log(ns);
		p->blocks.subject[who].once |= ns > KL_GPU_DEAR_NS;
	}
	return err;
}

static void block_begins(void *ctx)
{
	struct kl_gpu_time *p = ctx;
	struct kl_gpu_state s;

	if (!p->nvml)
		return;
	kl_gpu_nvml_state(&s, p->nvml);
	if (s.reasons > 0)
		p->reasons |= s.reasons;
}

/* -- a point ------------------------------------------------------------------------------- */

/*
 * Is the candidate's second module asked no more, where calls are dear? What its first says was
 * judged.
 */
static bool known_enough(struct kl_gpu_time *p, int who, uint32_t m)
{
	return who == KL_BLOCKS_AGAIN && m && p->known[who].ns > KL_GPU_DEAR_NS &&
	       kl_gpu_time_known(p, who)->judged[m];
}

/* Every subject's answer to every input, in full, and about how long a call takes. */
static int get_to_know(struct kl_gpu_time *p)
{
	int err;

	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++)
		for (uint32_t m = 0; m < p->timer->nmember && p->there[who]; m++) {
			uint32_t warm = m ? 0 : 1;
			double ns;

			if (known_enough(p, who, m))
				continue;
			if ((err = kl_gpu_time_visit(p, who, false, &m, 1, warm, &ns)))
				return err;
			if (p->there[who] && !isnan(ns))
				p->known[who].ns = ns;
		}
	return 0;
}

static int time_single(struct kl_gpu_time *p)
{
	size_t calls = p->timer->nset - 1 < 16 ? p->timer->nset - 1 : 16;
	int err;

	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++) {
		double a, b = NAN;

		if (!p->there[who])
			continue;
		if ((err = kl_gpu_time_measure(p, who, false, calls, &a)) || !p->there[who] ||
		    (err = kl_gpu_time_measure(p, who, false, calls, &b)) || !p->there[who])
			return err;
		p->single_ns[who] = (a + b) / 2;
	}
	return 0;
}

static void choose_mode(struct kl_gpu_time *p)
{
	double ns = p->known[KL_BLOCKS_CANDIDATE].ns;
	size_t most = p->timer->nset - (p->point->hot ? 1 : 0);

	p->batch = ns > 0 && ns < KL_GPU_BRIEF_NS;
	p->calls = (size_t)fmax(1, fmin((double)most, VISIT_NS / (ns + AROUND_NS)));
	if (p->batch && !p->point->hot && p->timer->nset * p->timer->bytes < 2 * p->timer->l2)
		kl_blocks_note(
			p->notes,
			"%s: %zu sets of tensors are less than twice the L2 cache: the cache is "
			"emptied before a batch, not within it",
			p->point->id, p->timer->nset);
}

/*
 * The contract's floor; and, where nothing is in the cache, its bytes at the device memory's
 * peak - less what may still lie in the cache, written, when the kernel ends.
 */
static double physical_floor(const struct kl_gpu_time *p)
{
	double bytes = (double)p->timer->bytes - (double)p->timer->l2,
	       least = (double)p->point->floor_ns;

	if (p->point->floor_ns > 0 && !p->point->hot && p->timer->bytes_per_ns > 0 && bytes > 0)
		least = fmax(least, bytes / (p->timer->bytes_per_ns * PEAK_SLACK));
	return least;
}

/*
 * -- all of it ----------------------------------------------------------------------------------
 */

static void set_blocks(struct kl_gpu_time *p, int64_t max_ms)
{
	kl_blocks_release(&p->blocks);
	p->blocks = (struct kl_blocks){ .min = (size_t)p->job->profile_min_blocks,
					.max_ms = max_ms,
					.rng = &p->rng,
					.sample = take_sample,
					.begin = block_begins,
					.ctx = p };
	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++) {
		p->blocks.subject[who].what = kl_gpu_timer_what(p->job, who);
		p->blocks.subject[who].there = p->there[who];
	}
}

static int measure_point(struct kl_gpu_time *p, int64_t max_ms)
{
	json_t *at;
	int err;

	set_blocks(p, max_ms);
	p->floor_ns = physical_floor(p);
	if ((err = get_to_know(p)))
		return err;
	choose_mode(p);
	if ((p->batch && (err = time_single(p))) || (err = kl_blocks_run(&p->blocks)))
		return err;
	at = kl_blocks_report(&p->blocks, p->point->id, p->notes);
	json_array_append_new(p->points, at);
	kl_gpu_time_add_figures(p, at);
	kl_gpu_time_note_clocks(p);
	if ((err = kl_gpu_time_cross_check(p, at)) < 0 || (err = kl_gpu_time_check_outside(p, at)))
		return err;
	if ((err = kl_gpu_time_bench(p, at, KL_BLOCKS_CANDIDATE)) < 0)
		return err;
	return kl_gpu_time_bench(p, at, KL_BLOCKS_BASELINE);
}

/* Once more, without what took the process down. */
static int profile_point(struct kl_gpu_time *p, const struct kl_point *pt, struct kl_pool *pool,
			 int64_t max_ms)
{
	const struct kl_member *member[KL_GPU_TIMER_MEMBERS];
	size_t n = kl_pool_noise(pool, pt, member, KL_GPU_TIMER_MEMBERS);
	int err;

	if (n < 2)
		return kl_error(KL_EINVALID, "the pool has %zu inputs for '%s', a profile needs 2",
				n, pt->id);
	p->point = pt;
	p->there[KL_BLOCKS_CANDIDATE] = p->there[KL_BLOCKS_AGAIN] = true;
	p->there[KL_BLOCKS_PARENT] = p->job->parent_so != NULL;
	p->there[KL_BLOCKS_BASELINE] = p->job->baseline != NULL;
	do {
		memset(p->known, 0, sizeof(p->known));
		memset(p->single_ns, 0, sizeof(p->single_ns));
		p->reasons = p->late = 0;
		kl_gpu_timer_free(p->timer);
		p->timer = NULL;
		err = kl_gpu_timer_open(&p->timer, p->job, pt, member, n, p->there, p->notes);
		if (err == KL_EINVALID)
			return kl_profile_fail(p->result, "launch", "%s", kl_error_last());
		if (err == 0 && !p->nvml)
			p->nvml = kl_gpu_nvml_open(kl_gpu_child_facts(p->timer->child[0])->uuid);
		if (err == 0)
			err = measure_point(p, max_ms);
	} while (err == KL_GPU_AGAIN_WITHOUT);
	return err < 0 ? kl_error_in(err, "profile of '%s'", pt->id) : err;
}

static void release_stage(struct kl_gpu_time *p)
{
	kl_blocks_release(&p->blocks);
	kl_gpu_timer_free(p->timer);
	kl_gpu_nvml_free(p->nvml);
}

int kl_gpu_profile(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(release_stage) struct kl_gpu_time p = { .result = result, .job = job };
	json_t *out = json_object_get(result, "profile");
	int64_t n = 0;
	int err = 0;

	p.points = json_object_get(out, "points");
	p.notes = json_object_get(out, "notes");
	kl_rng_seed(&p.rng, kl_rng_os_seed());
	for (size_t i = 0; i < job->npoint; i++)
		n += job->point[i].perf;
	for (size_t i = 0; i < job->npoint && !err; i++)
		if (job->point[i].perf)
			err = profile_point(&p, &job->point[i], pool, job->profile_max_ms / n);
	return err < 0 ? err : 0;
}
