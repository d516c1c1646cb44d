/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu_time.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/stats.h"
#include "worker/blocks.h"
#include "worker/gpu_nvml.h"
#include "worker/gpu_timer.h"
#include "worker/profile_fail.h"
#include "worker/replay.h"

/* Device time of a visit, about. */
#define VISIT_NS 3e6
/* What is around a call: poison, flush, fingerprint. */
#define AROUND_NS 3e5
/* Batches of a visit; of very brief kernels more, since an event is off by more of them. */
#define BATCHES 4
#define MORE_BATCHES 10
#define VERY_BRIEF_NS 6000.0
/* When a call takes longer, one measurement a block is enough, and one round by the clock. */
#define DEAR_NS 1e7
#define SLOPE_NS 2e6
#define SLOPE_CALLS 60
/* Twice these can be held back at once. What enqueueing a call may take. */
#define OUTSIDE_CALLS 12
#define OUTSIDE_NS 60000.0
#define OUTSIDE_TRIES 5
#define BENCH_NS 2.5e8
#define BENCH_ZERO_NS 1.5e5
#define BENCH_CALLS 100
#define BENCH_WARM 25
/* An event is off by this much. */
#define EVENT_NS 1000.0
/* The device memory's peak may be this much better than what its clock says. */
#define PEAK_SLACK 1.1

/* What the sampler returns when a comparison took the GPU process with it. */
#define AGAIN_WITHOUT 2

struct known {			/* a subject's judged answers */
	uint64_t print[KL_GPU_TIMER_MEMBERS][2];
	bool judged[KL_GPU_TIMER_MEMBERS];
	double ns;		/* of a call, roughly */
	double mhz;
	uint64_t nmhz;
};

struct profile {
	json_t *result, *notes, *points;
	const struct kl_job *job;
	const struct kl_point *point;
	struct kl_gpu_timer *timer;
	struct kl_gpu_nvml *nvml;
	struct kl_blocks blocks;
	struct kl_rng rng;
	struct known known[KL_BLOCKS_SUBJECTS];
	bool there[KL_BLOCKS_SUBJECTS];
	bool batch;
	size_t calls;			/* of a visit */
	double floor_ns;
	double single_ns[KL_BLOCKS_SUBJECTS];	/* in a batch: what one call between events takes */
	int64_t reasons;		/* clocks held back while it was measured */
	int late;
};

static bool is_candidate(int who)
{
	return who == KL_BLOCKS_CANDIDATE || who == KL_BLOCKS_AGAIN;
}

/* The candidate's second module answers as its first; each process has fingerprints of its own. */
static struct known *known_of(struct profile *p, int who)
{
	return &p->known[who == KL_BLOCKS_AGAIN && !p->job->host ? KL_BLOCKS_CANDIDATE : who];
}

static int drop(struct profile *p, int who, const char *why)
{
	kl_blocks_note(p->notes, "%s is not compared: %s", kl_gpu_timer_what(p->job, who), why);
	p->there[who] = p->blocks.subject[who].there = false;
	return kl_gpu_timer_alive(p->timer) ? 0 : AGAIN_WITHOUT;
}

/* -- judging ------------------------------------------------------------------------- */

static const struct kl_member *member_of(const struct profile *p, uint32_t set)
{
	return p->timer->member[set % p->timer->nmember];
}

static void say_end(struct kl_call *out, const struct kl_gpu_time_visited *v)
{
	const char *in = *v->how.kernel ? " in " : "";

	*out = (struct kl_call){ .end = KL_CALL_FAULT };
	switch (v->how.end) {
	case KL_GPU_CALL_HANG:
		out->end = KL_CALL_HANG;
		snprintf(out->what, sizeof(out->what), "did not end in time");
		break;
	case KL_GPU_CALL_REFUSED:
		out->end = KL_CALL_LAUNCH;
		snprintf(out->what, sizeof(out->what), "could not be launched: %s%s%.100s", v->how.name, in,
			 v->how.kernel);
		break;
	case KL_GPU_CALL_SCRATCH:
		snprintf(out->what, sizeof(out->what), "left %.180s", v->r.message);
		break;
	default:
		snprintf(out->what, sizeof(out->what), "ended with %s%s%.100s", v->how.name, in,
			 v->how.kernel);
		break;
	}
}

static int bad_end(struct profile *p, int who, const struct kl_gpu_time_visited *v, uint32_t set)
{
	struct kl_call call;

	say_end(&call, v);
	if (is_candidate(who))
		return kl_profile_fail_end(p->result, p->job, member_of(p, set), &call);
	return drop(p, who, call.what);
}

/* Look at the answer itself. */
static int compare(struct profile *p, int who, uint32_t set)
{
	const struct kl_member *m = member_of(p, set), *kept;
	const void *got[KL_JOB_MAX_ARGS] = { NULL };
	struct kl_mismatch mismatch = { .out = -1 };
	int err = kl_gpu_timer_answer(p->timer, set, got);

	if (err < 0)
		return err;
	err = kl_compare(&mismatch, p->job, m, got);
	if (err == KL_EINVALID)
		return err;
	if (mismatch.out < 0)
		return 0;
	if (!is_candidate(who))
		return drop(p, who, mismatch.why);
	kept = kl_replay_of(p->job, m, p->timer->member, p->timer->nmember, got);
	return kl_profile_fail_wrong(p->result, p->job, m, &mismatch, kept);
}

static int fail_fickle(struct profile *p, uint32_t set)
{
	static const char why[] = "timed calls on the same input answered with different bits";

	kl_profile_fail(p->result, "nondeterministic", "%s", why);
	kl_profile_describe(p->result, p->job, member_of(p, set), NULL, why);
	return KL_PROFILE_FAILED;
}

/*
 * The answer of one timed call: known by its fingerprint, else judged in full. What differs
 * from a judged answer and is right as well is a failure where the contract wants equal bits.
 */
static int judge(struct profile *p, int who, uint32_t set, const uint64_t print[2])
{
	struct known *k = known_of(p, who);
	size_t m = set % p->timer->nmember;
	int err;

	if (k->judged[m] && !memcmp(k->print[m], print, sizeof(k->print[m])))
		return 0;
	if ((err = compare(p, who, set)) || !p->there[who])
		return err;
	if (k->judged[m] && p->job->deterministic && is_candidate(who))
		return fail_fickle(p, set);
	memcpy(k->print[m], print, sizeof(k->print[m]));
	k->judged[m] = true;
	return 0;
}

/* -- a visit ---------------------------------------------------------------------------- */

static enum kl_gpu_time_mode mode_of(const struct profile *p, bool batch)
{
	if (batch)
		return p->point->hot ? KL_GPU_TIME_BATCH_HOT : KL_GPU_TIME_BATCH_COLD;
	return p->point->hot ? KL_GPU_TIME_HOT : KL_GPU_TIME_COLD;
}

static int below_floor(struct profile *p, double ns)
{
	return kl_profile_fail(p->result, "cheat",
			       "%.0f ns at '%s' is below the physical floor of %.0f ns: "
			       "the work cannot have been done", ns, p->point->id, p->floor_ns);
}

static void note_clock(struct profile *p, int who, double mhz)
{
	struct known *k = &p->known[who];

	if (!(mhz > 0))
		return;
	k->mhz += mhz;
	k->nmhz++;
}

/* The visit's time in *ns, NAN where the processor was late for all of it. */
static int take(struct profile *p, int who, const uint32_t *which, const struct kl_gpu_time_visited *v,
		double *ns)
{
	double valid[KL_GPU_TIME_CALLS], least = INFINITY;
	size_t n = 0;
	int err;

	*ns = NAN;
	if (v->how.end != KL_GPU_CALL_OK)
		return bad_end(p, who, v, which[0]);
	for (uint32_t i = 0; i < v->ncall; i++)
		if ((err = judge(p, who, which[i], v->print[i])) || !p->there[who])
			return err;
	for (uint32_t i = 0; i < v->ntime; i++)
		if (v->ns[i] > 0)
			valid[n++] = v->ns[i];
	p->late += (int)(v->ntime - n);
	note_clock(p, who, v->mhz);
	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		least = fmin(least, valid[i]);
	if (is_candidate(who) && least + EVENT_NS < p->floor_ns)
		return below_floor(p, least);
	*ns = kl_stats_median(valid, n);
	return 0;
}

static int visit(struct profile *p, int who, bool batch, const uint32_t *which, size_t n, uint32_t warm,
		 double *ns)
{
	struct kl_gpu_time_visited v;
	int err = kl_gpu_timer_visit(p->timer, who, mode_of(p, batch), which, n, warm,
				     kl_rng_u64(&p->rng), &v);

	return err < 0 ? err : take(p, who, which, &v, ns);
}

/* Sets in a drawn order; the last is the one to warm up on. */
static void draw(struct profile *p, uint32_t order[KL_GPU_TIME_CALLS])
{
	size_t n = p->timer->nset;

	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)kl_rng_below(&p->rng, i);
		uint32_t t = order[i - 1];

		order[i - 1] = order[k];
		order[k] = t;
	}
}

/* One visit; one that was late is made again, and who always is cannot be timed. */
static int visit_in_time(struct profile *p, int who, bool batch, size_t calls, double *ns)
{
	uint32_t order[KL_GPU_TIME_CALLS];
	size_t n = p->timer->nset;
	int err;

	for (int i = 0; i < 5; i++) {
		draw(p, order);
		err = visit(p, who, batch, order, batch ? n : calls, order[n - 1], ns);
		if (err || !isnan(*ns) || !p->there[who])
			return err;
	}
	return kl_error(KL_ECANNOT, "the processor is too slow to launch kernels in time");
}

static int measure(struct profile *p, int who, bool batch, size_t calls, double *ns)
{
	double one[MORE_BATCHES];
	int n = !batch ? 1 : p->known[KL_BLOCKS_CANDIDATE].ns < VERY_BRIEF_NS ? MORE_BATCHES : BATCHES, err;

	*ns = NAN;
	for (int i = 0; i < n; i++)
		if ((err = visit_in_time(p, who, batch, calls, &one[i])) || !p->there[who])
			return err;
	*ns = kl_stats_median(one, (size_t)n);
	return 0;
}

static int sample(void *ctx, enum kl_blocks_who who, double *log_ns)
{
	struct profile *p = ctx;
	double ns;
	int err = measure(p, (int)who, p->batch, p->calls, &ns);

	if (!err && p->there[who]) {
		*log_ns += log(ns);
		p->blocks.subject[who].once |= ns > DEAR_NS;
	}
	return err;
}

static void block_begins(void *ctx)
{
	struct profile *p = ctx;
	struct kl_gpu_state s;

	if (!p->nvml)
		return;
	kl_gpu_nvml_state(&s, p->nvml);
	if (s.reasons > 0)
		p->reasons |= s.reasons;
}

/* -- a point ------------------------------------------------------------------------------- */

/* Is the candidate's second module asked no more, where calls are dear? What its first says was judged. */
static bool known_enough(struct profile *p, int who, uint32_t m)
{
	return who == KL_BLOCKS_AGAIN && m && p->known[who].ns > DEAR_NS && known_of(p, who)->judged[m];
}

/* Every subject's answer to every input, in full, and about how long a call takes. */
static int get_to_know(struct profile *p)
{
	int err;

	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++)
		for (uint32_t m = 0; m < p->timer->nmember && p->there[who]; m++) {
			uint32_t warm = m ? 0 : 1;
			double ns;

			if (known_enough(p, who, m))
				continue;
			if ((err = visit(p, who, false, &m, 1, warm, &ns)))
				return err;
			if (p->there[who] && !isnan(ns))
				p->known[who].ns = ns;
		}
	return 0;
}

static int time_single(struct profile *p)
{
	size_t calls = p->timer->nset - 1 < 16 ? p->timer->nset - 1 : 16;
	int err;

	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++) {
		double a, b = NAN;

		if (!p->there[who])
			continue;
		if ((err = measure(p, who, false, calls, &a)) || !p->there[who] ||
		    (err = measure(p, who, false, calls, &b)) || !p->there[who])
			return err;
		p->single_ns[who] = (a + b) / 2;
	}
	return 0;
}

static void choose_mode(struct profile *p)
{
	double ns = p->known[KL_BLOCKS_CANDIDATE].ns;
	size_t most = p->timer->nset - (p->point->hot ? 1 : 0);

	p->batch = ns > 0 && ns < KL_GPU_BRIEF_NS;
	p->calls = (size_t)fmax(1, fmin((double)most, VISIT_NS / (ns + AROUND_NS)));
	if (p->batch && !p->point->hot && p->timer->nset * p->timer->bytes < 2 * p->timer->l2)
		kl_blocks_note(p->notes,
			       "%s: %zu sets of tensors are less than twice the L2 cache: the cache is "
			       "emptied before a batch, not within it", p->point->id, p->timer->nset);
}

/*
 * The contract's floor; and, where nothing is in the cache, its bytes at the device memory's
 * peak - less what may still lie in the cache, written, when the kernel ends.
 */
static double physical_floor(const struct profile *p)
{
	double bytes = (double)p->timer->bytes - (double)p->timer->l2, least = (double)p->point->floor_ns;

	if (p->point->floor_ns > 0 && !p->point->hot && p->timer->bytes_per_ns > 0 && bytes > 0)
		least = fmax(least, bytes / (p->timer->bytes_per_ns * PEAK_SLACK));
	return least;
}

/* -- what makes it believable ----------------------------------------------------------------- */

/* A machine that does other work as well is slow now and then, not always. */
#define SLOPE_TRIES 3

/* What may disturb the clock is next to nothing of a dear call. */
static uint32_t rounds(const struct profile *p)
{
	return p->known[KL_BLOCKS_CANDIDATE].ns > DEAR_NS ? 1 : KL_GPU_TIME_SLOPE_ROUNDS;
}

/* Is what events say what the clock says? If it is not, the result says that nothing is known. */
static int cross_check(struct profile *p, json_t *at)
{
	double ns = fmax(p->known[KL_BLOCKS_CANDIDATE].ns, 1000);
	uint32_t calls = (uint32_t)fmax(ns > DEAR_NS ? 1 : 2, fmin(SLOPE_CALLS, SLOPE_NS / ns));
	struct kl_gpu_time_sloped s;
	bool longer = true;
	int err;

	for (int i = 0; i < SLOPE_TRIES && longer; i++) {
		if ((err = kl_gpu_timer_slope(p->timer, KL_BLOCKS_CANDIDATE, calls, rounds(p), &s)) < 0)
			return err;
		if (s.how.end != KL_GPU_CALL_OK)
			return 0;
		longer = s.wall_ns - s.spread_ns > 1.15 * s.event_ns + EVENT_NS;
	}
	if (s.wall_ns > 0)
		kl_json_set_int(at, "slope_ns", llround(s.wall_ns));
	if (longer || fabs(s.wall_ns - s.event_ns) > 0.05 * s.event_ns + EVENT_NS + s.spread_ns)
		kl_blocks_note(p->notes,
			       "%s: one more call takes %.0f ns by the clock, %.0f ns between events",
			       p->point->id, s.wall_ns, s.event_ns);
	if (longer) {
		kl_json_set_str(p->result, "status", "inconclusive");
		kl_json_set_str(p->result, "message",
				"by the clock a call takes longer than between events: it cannot be timed");
	}
	return 0;
}

/*
 * Host code could have told its own process what to answer. By the clock of this one, a call takes what it
 * takes; enqueueing comes to it, which nobody but that process can tell apart.
 */
static int check_outside(struct profile *p, json_t *at)
{
	double claimed = p->known[KL_BLOCKS_CANDIDATE].ns, ns = INFINITY, most = 1.25 * claimed + OUTSIDE_NS;
	uint32_t calls = claimed > DEAR_NS ? 1 : OUTSIDE_CALLS;

	if (!p->job->host || !(claimed > 0))
		return 0;
	/* who is kept from the processor is late once, not each time */
	for (int i = 0; i < OUTSIDE_TRIES && ns > most; i++) {
		int err = kl_gpu_timer_outside(p->timer, KL_BLOCKS_CANDIDATE, calls, rounds(p), &ns);

		if (err < 0)
			return err;
	}
	if (!(ns > 0))
		return 0;
	kl_json_set_int(at, "outside_ns", llround(ns));
	if (ns <= most)
		return 0;
	return kl_profile_fail(p->result, "cheat", "a call at '%s' takes %.0f ns by the worker's clock, but "
			       "its process says %.0f ns", p->point->id, ns, claimed);
}

/* Where the figures of a subject go; NULL: nowhere. */
static json_t *place_of(const struct profile *p, json_t *at, int who)
{
	json_t *vs = json_object_get(at, "vs"), *v;
	size_t i;

	if (!p->there[who] || who == KL_BLOCKS_AGAIN)
		return NULL;
	if (who == KL_BLOCKS_CANDIDATE)
		return at;
	json_array_foreach(vs, i, v)
		if (!strcmp(kl_json_str_or(v, "what", ""), kl_gpu_timer_what(p->job, who)))
			return v;
	return NULL;
}

static int bench_one(struct profile *p, json_t *at, int who)
{
	json_t *into = place_of(p, at, who);
	double ns = fmax(p->known[who].ns, 1000);
	/* one of the slowest, as Triton does */
	double least = ns > BENCH_NS ? 1 : 5;
	uint32_t calls = (uint32_t)fmax(least, fmin(BENCH_CALLS, BENCH_NS / (ns + BENCH_ZERO_NS)));
	uint32_t warm = (uint32_t)fmax(1, fmin(BENCH_WARM, BENCH_NS / 4 / ns));
	struct kl_gpu_time_benched b;
	int err;

	if (!into)
		return 0;
	if ((err = kl_gpu_timer_bench(p->timer, who, warm, calls, &b)) < 0)
		return err;
	if (b.how.end == KL_GPU_CALL_OK && b.median_ns > 0)
		kl_json_set_int(into, "do_bench_ns", llround(b.median_ns));
	return 0;
}

static void add_figures(struct profile *p, json_t *at)
{
	kl_json_set_str(at, "by", p->batch ? "batch" : "event");
	kl_json_set_int(at, "sets", (int64_t)p->timer->nset);
	kl_json_set_int(at, "calls", (int64_t)(p->batch ? p->timer->nset : p->calls));
	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++) {
		const struct known *k = &p->known[who];
		json_t *into = place_of(p, at, who);

		if (!into)
			continue;
		if (k->nmhz)
			kl_json_set_int(into, "mhz", llround(k->mhz / (double)k->nmhz));
		if (p->batch && p->single_ns[who] > 0)
			kl_json_set_int(into, "single_ns", llround(p->single_ns[who]));
		if (who == KL_BLOCKS_BASELINE && *p->timer->library)
			kl_json_set_str(into, "library", p->timer->library);
	}
}

static void note_clocks(struct profile *p)
{
	static const struct {
		int64_t reason;
		const char *text;
	} known[] = {
		{ KL_GPU_CLOCK_SW_POWER, "clocks were held back by the power limit" },
		{ KL_GPU_CLOCK_HW_SLOWDOWN | KL_GPU_CLOCK_HW_BRAKE, "the hardware held its clocks back" },
		{ KL_GPU_CLOCK_SW_THERMAL | KL_GPU_CLOCK_HW_THERMAL, "clocks were held back by heat" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(known); i++)
		if (p->reasons & known[i].reason)
			kl_blocks_note(p->notes, "%s: %s", p->point->id, known[i].text);
	if (p->late)
		kl_blocks_note(p->notes, "%s: %d calls did not count, the processor was late", p->point->id,
			       p->late);
}

/* -- all of it ---------------------------------------------------------------------------------- */

static void set_blocks(struct profile *p, int64_t max_ms)
{
	kl_blocks_release(&p->blocks);
	p->blocks = (struct kl_blocks){ .min = (size_t)p->job->profile_min_blocks, .max_ms = max_ms,
					.rng = &p->rng, .sample = sample, .begin = block_begins, .ctx = p };
	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++) {
		p->blocks.subject[who].what = kl_gpu_timer_what(p->job, who);
		p->blocks.subject[who].there = p->there[who];
	}
}

static int measure_point(struct profile *p, int64_t max_ms)
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
	add_figures(p, at);
	note_clocks(p);
	if ((err = cross_check(p, at)) < 0 || (err = check_outside(p, at)))
		return err;
	if ((err = bench_one(p, at, KL_BLOCKS_CANDIDATE)) < 0)
		return err;
	return bench_one(p, at, KL_BLOCKS_BASELINE);
}

/* Once more, without what took the process down. */
static int profile_point(struct profile *p, const struct kl_point *pt, struct kl_pool *pool, int64_t max_ms)
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
	} while (err == AGAIN_WITHOUT);
	return err < 0 ? kl_error_in(err, "profile of '%s'", pt->id) : err;
}

static void release(struct profile *p)
{
	kl_blocks_release(&p->blocks);
	kl_gpu_timer_free(p->timer);
	kl_gpu_nvml_free(p->nvml);
}

int kl_gpu_profile(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(release) struct profile p = { .result = result, .job = job };
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
