/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stages.h"

#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/stats.h"
#include "worker/replay.h"
#include "worker/visit.h"

/*
 * The order within a block is a mirror: every subject is visited twice, once
 * on either side of its middle, so that a drift of the machine falls on all alike.
 *
 * There are enough of them when every interval is this narrow: of a comparison 0.25 %,
 * or a tenth of what it shows; of the A/A ratio, three times which is the least difference
 * that may be called one, an eighth of the nearest comparison (1 % where there is none),
 * but no less than a third of the 1 % below which nothing is a difference.
 */
#define AA_HALF 0.0033
#define AA_SHARE 0.125
#define AA_ALONE 0.01
#define VS_HALF 0.0025
#define VS_SHARE 0.1
/* However slow the calls are. */
#define LEAST_BLOCKS 4
/* When a subject's call takes longer, one measured call a visit is enough. */
#define DEAR_NS ((int64_t)10000000)
/* A single time may be below the floor by what a clock and a handshake are wrong. */
#define FLOOR_SLACK_NS 1000

enum { CANDIDATE, AGAIN, PARENT, BASELINE, SUBJECTS };

struct subject {
	const char *what;		/* in the result */
	struct kl_subject_spec spec;
	bool there;
	bool slow;			/* one visit a block will do */
	double *log_ns;			/* one a block */
};

struct profile {
	json_t *result, *notes;
	const struct kl_job *job;
	const struct kl_point *point;
	const struct kl_member *input[KL_VISIT_MAX_INPUTS];
	size_t ninput;
	struct kl_rng rng;
	struct subject subject[SUBJECTS];
	size_t blocks, alloc;
	int measured, disturbed;	/* calls of this point */
	int64_t longest_ns;		/* a subject's unmeasured call */
	double *handshake;
	size_t nhandshake, handshake_alloc;
	bool failed;
};

static void note(struct profile *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct profile *p, const char *fmt, ...)
{
	char text[512];
	size_t i;
	json_t *v;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_foreach(p->notes, i, v)
		if (!strcmp(json_string_value(v), text))
			return;
	json_array_append_new(p->notes, json_string(text));
}

/* -- failures of the candidate ------------------------------------------- */

static void fail(struct profile *p, const char *class, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void fail(struct profile *p, const char *class, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p->failed = true;
	kl_json_set_str(p->result, "status", "fail");
	kl_json_set_str(p->result, "class", class);
	kl_json_set_str(p->result, "message", text);
}

/* result.correct.failure, whether or not the correctness stage ran */
static void describe(struct profile *p, const struct kl_visit *v, const char *why)
{
	json_t *correct = json_object_get(p->result, "correct"), *f = json_object();
	const struct kl_mismatch *m = &v->mismatch;
	char seed[24];

	if (!correct)
		kl_json_set(p->result, "correct", correct = json_object());
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)v->at->seed);
	kl_json_set_str(f, "point", p->point->id);
	kl_json_set_str(f, "band", v->at->band);
	kl_json_set_str(f, "seed", seed);
	kl_json_set_str(f, "out", m->out >= 0 ? p->job->arg[m->out].name : NULL);
	kl_json_set_str(f, "why", why);
	if (m->out >= 0) {
		json_t *index = json_array();

		for (size_t i = 0; i < m->naxes; i++)
			json_array_append_new(index, json_integer(m->index[i]));
		kl_json_set(f, "index", index);
		kl_json_set_str(f, "got", m->got);
		kl_json_set_str(f, "wanted", m->wanted);
	}
	kl_json_set(correct, "failure", f);
}

static void fail_visit(struct profile *p, const struct kl_visit *v)
{
	static const char *const classes[] = {
		[KL_CALL_FAULT] = "fault",
		[KL_CALL_HANG] = "hang",
		[KL_CALL_CHEAT] = "cheat",
		[KL_CALL_EXIT] = "cheat",
	};
	const struct kl_mismatch *m = &v->mismatch;
	char why[300];

	if (v->call.end != KL_CALL_OK) {
		snprintf(why, sizeof(why), "while it was timed, the kernel %s", v->call.what);
		fail(p, classes[v->call.end], "%s", why);
	} else if (v->kept) {
		char kept[160];

		kl_replay_why(kept, sizeof(kept), v->kept);
		snprintf(why, sizeof(why), "a timed call was %s", kept);
		fail(p, "cheat", "%s", why);
	} else {
		snprintf(why, sizeof(why), "a timed call answered wrongly: %s", m->why);
		fail(p, m->edge_only ? "wrong-edge" : "wrong-all", "%s: got %s, wanted %s", why,
		     m->got, m->wanted);
	}
	describe(p, v, why);
}

/* -- blocks ---------------------------------------------------------------- */

/* A comparison that does not work out is left, not held against the candidate. */
static void drop(struct profile *p, struct subject *s, const char *why)
{
	note(p, "%s is not compared: %s", s->what, why);
	s->there = false;
}

static bool candidate(const struct profile *p, const struct subject *s)
{
	return s == &p->subject[CANDIDATE] || s == &p->subject[AGAIN];
}

/* One visit, the logarithm of its time added to *log_ns. */
static int visit(struct profile *p, struct subject *s, size_t calls, double *log_ns)
{
	struct kl_visit_plan plan = { .job = p->job,
				      .point = p->point,
				      .spec = s->spec,
				      .input = p->input,
				      .ninput = p->ninput,
				      .calls = calls,
				      .rng = &p->rng };
	struct kl_visit v;
	int err = kl_visit(&v, &plan);

	if (err < 0 && !candidate(p, s)) {
		drop(p, s, kl_error_last());
		return 0;
	}
	if (err == KL_EINVALID) {
		fail(p, "launch", "%s", kl_error_last());
		return 0;
	}
	if (err < 0)
		return err;
	KL_GROW(p->handshake, p->nhandshake + 1, p->handshake_alloc);
	p->handshake[p->nhandshake++] = (double)v.handshake_ns;
	if (!v.traced)
		note(p,
		     "ptrace is refused here: the end of a call was checked by a second look "
		     "at its outputs only");
	if (!kl_visit_ok(&v)) {
		if (candidate(p, s))
			fail_visit(p, &v);
		else
			drop(p, s, v.call.end != KL_CALL_OK ? v.call.what : v.mismatch.why);
		return 0;
	}
	if (candidate(p, s) && v.least_wall_ns + FLOOR_SLACK_NS < p->point->floor_ns)
		fail(p, "cheat",
		     "%lld ns at '%s' is below the physical floor of %lld ns: "
		     "the work cannot have been done",
		     (long long)v.least_wall_ns, p->point->id, (long long)p->point->floor_ns);
	s->slow |= v.slow;
	*log_ns += log((double)v.least_ns);
	p->measured += v.measured;
	if (v.first_ns > p->longest_ns)
		p->longest_ns = v.first_ns;
	p->disturbed += v.disturbed;
	return 0;
}

/*
 * All subjects in a drawn order and then back: P B C C' C' C B P and the like.
 * Drawn anew for each block, since who follows whom matters a little as well. Of
 * a slow subject the first visit alone.
 */
static int block(struct profile *p)
{
	int order[SUBJECTS] = { CANDIDATE, AGAIN, PARENT, BASELINE };
	/* the same for all of a block */
	size_t calls = p->longest_ns > DEAR_NS ? 1 : p->ninput - 1;
	double sum[SUBJECTS] = { 0 };
	int n[SUBJECTS] = { 0 }, err;

	for (int i = SUBJECTS; i > 1; i--) {
		int k = (int)kl_rng_below(&p->rng, (uint64_t)i), t = order[i - 1];

		order[i - 1] = order[k];
		order[k] = t;
	}
	for (int i = 0; i < 2 * SUBJECTS; i++) {
		int who = order[i < SUBJECTS ? i : 2 * SUBJECTS - 1 - i];
		struct subject *s = &p->subject[who];

		if (!s->there || (n[who] && s->slow))
			continue;
		if ((err = visit(p, s, calls, &sum[who])) < 0 || p->failed)
			return err;
		n[who]++;
	}
	for (int i = 0; i < SUBJECTS; i++)
		if (p->subject[i].there)
			p->subject[i].log_ns[p->blocks] = sum[i] / n[i];
	p->blocks++;
	return 0;
}

/* -- figures --------------------------------------------------------------- */

static double own(const struct profile *p, size_t b)
{
	return (p->subject[CANDIDATE].log_ns[b] + p->subject[AGAIN].log_ns[b]) / 2;
}

static struct kl_interval centre(const struct profile *p, int who)
{
	KL_AUTO(kl_freep) double *d = kl_calloc(p->blocks, sizeof(*d));
	const double *other = p->subject[who].log_ns;

	for (size_t b = 0; b < p->blocks; b++)
		d[b] = who == AGAIN ? other[b] - p->subject[CANDIDATE].log_ns[b]
				    : other[b] - own(p, b);
	return kl_stats_centre(d, p->blocks);
}

static double half_width(struct kl_interval c)
{
	return (c.hi - c.lo) / 2;
}

static bool precise(const struct profile *p)
{
	double nearest = INFINITY;

	for (int who = PARENT; who <= BASELINE; who++) {
		struct kl_interval c;

		if (!p->subject[who].there)
			continue;
		c = centre(p, who);
		if (half_width(c) > fmax(VS_HALF, VS_SHARE * fabs(c.mid)))
			return false;
		nearest = fmin(nearest, fabs(c.mid));
	}
	return half_width(centre(p, AGAIN)) <=
	       (isinf(nearest) ? AA_ALONE : fmax(AA_HALF, AA_SHARE * nearest));
}

static int run_blocks(struct profile *p, int64_t max_ms)
{
	size_t min = (size_t)p->job->profile_min_blocks, look = min;
	int64_t begin = kl_clock_ns(), ms = 0;
	int err;

	for (;;) {
		if (p->blocks >= min && ms >= max_ms)
			return 0;
		if (p->blocks >= LEAST_BLOCKS && ms >= max_ms / 2 && (ms >= 2 * max_ms || precise(p)))
			return 0;
		if (p->blocks >= look) {
			if (precise(p))
				return 0;
			look += 1 + look / 8;	/* the interval costs the square of its samples */
		}
		if (p->blocks + 1 > p->alloc) {
			p->alloc = 2 * p->alloc + 16;
			for (int i = 0; i < SUBJECTS; i++)
				p->subject[i].log_ns = kl_realloc(p->subject[i].log_ns, p->alloc,
								  sizeof(double));
		}
		if ((err = block(p)) < 0 || p->failed)
			return err;
		ms = (kl_clock_ns() - begin) / 1000000;
	}
}

/* exp(x) in `unit`s, within what a reader's 64-bit integer takes. */
static int64_t scaled(double x, double unit)
{
	return llround(fmin(fmax(exp(x) * unit, 0), 9e15));
}

static void set_interval(json_t *obj, const char *mid, struct kl_interval c)
{
	kl_json_set_int(obj, "lo_ppm", scaled(c.lo, 1e6));
	kl_json_set_int(obj, mid, scaled(c.mid, 1e6));
	kl_json_set_int(obj, "hi_ppm", scaled(c.hi, 1e6));
}

static int64_t typical_ns(const struct profile *p, int who)
{
	KL_AUTO(kl_freep) double *d = kl_calloc(p->blocks, sizeof(*d));

	for (size_t b = 0; b < p->blocks; b++)
		d[b] = who == CANDIDATE ? own(p, b) : p->subject[who].log_ns[b];
	return scaled(kl_stats_centre(d, p->blocks).mid, 1);
}

static void report(struct profile *p, json_t *points)
{
	json_t *at = json_object(), *aa = json_object(), *vs = json_array();
	struct kl_interval same = centre(p, AGAIN);

	kl_json_set_str(at, "id", p->point->id);
	kl_json_set_int(at, "ns", typical_ns(p, CANDIDATE));
	kl_json_set_int(at, "blocks", (int64_t)p->blocks);
	set_interval(aa, "mid_ppm", same);
	kl_json_set(at, "aa", aa);
	for (int who = PARENT; who <= BASELINE; who++) {
		json_t *v;

		if (!p->subject[who].there)
			continue;
		v = json_object();
		kl_json_set_str(v, "what", p->subject[who].what);
		kl_json_set_int(v, "ns", typical_ns(p, who));
		set_interval(v, "ratio_ppm", centre(p, who));
		json_array_append_new(vs, v);
	}
	kl_json_set(at, "vs", vs);
	json_array_append_new(points, at);
	if (same.lo > 0 || same.hi < 0)
		note(p,
		     "%s: the kernel against itself is not 1 within its interval: a noisy machine",
		     p->point->id);
	else if (half_width(same) > 0.01)
		note(p, "%s: the kernel against itself varies by more than 1 %%: a noisy machine",
		     p->point->id);
	if (p->disturbed > p->measured / 4)
		note(p, "%s: the processors did other work as well: times are processor time",
		     p->point->id);
	if (p->blocks < (size_t)p->job->profile_min_blocks)
		note(p, "%s: slow calls, %zu blocks only", p->point->id, p->blocks);
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

	for (int i = 0; i < SUBJECTS; i++)
		p->subject[i].slow = false;
	p->subject[CANDIDATE].spec = p->subject[AGAIN].spec = p->subject[PARENT].spec = kernel;
	p->subject[CANDIDATE].there = p->subject[AGAIN].there = true;
	p->subject[PARENT].what = "parent";
	p->subject[PARENT].spec.so = j->parent_so;
	p->subject[PARENT].there = j->parent_so != NULL;
	p->subject[BASELINE].what = j->baseline;
	p->subject[BASELINE].there = j->baseline != NULL;
	p->subject[BASELINE].spec = (struct kl_subject_spec){
		.kind = KL_SUBJECT_BASELINE, .baseline = j->baseline, .cpu = cpu
	};
}

static int profile_point(struct profile *p, const struct kl_point *pt, struct kl_pool *pool,
			 json_t *points, int cpu, int64_t max_ms)
{
	int err;

	p->point = pt;
	p->blocks = 0;
	p->measured = p->disturbed = 0;
	p->longest_ns = 0;
	p->ninput = kl_pool_noise(pool, pt, p->input, KL_VISIT_MAX_INPUTS);
	if (p->ninput > KL_VISIT_MAX_INPUTS)
		p->ninput = KL_VISIT_MAX_INPUTS;
	if (p->ninput < 2)
		return kl_error(KL_EINVALID, "the pool has %zu inputs for '%s', a profile needs 2",
				p->ninput, pt->id);
	set_subjects(p, cpu);
	if ((err = run_blocks(p, max_ms)) < 0)
		return kl_error_in(err, "profile of '%s'", pt->id);
	if (!p->failed)
		report(p, points);
	return 0;
}

static int profile_points(struct profile *p, struct kl_pool *pool, json_t *points, int cpu)
{
	const struct kl_job *j = p->job;
	int64_t n = 0;
	int err;

	for (size_t i = 0; i < j->npoint; i++)
		n += j->point[i].perf;
	for (size_t i = 0; i < j->npoint && !p->failed; i++)
		if (j->point[i].perf && (err = profile_point(p, &j->point[i], pool, points, cpu,
							     j->profile_max_ms / n)) < 0)
			return err;
	return 0;
}

static void release(struct profile *p)
{
	for (int i = 0; i < SUBJECTS; i++)
		free(p->subject[i].log_ns);
	free(p->handshake);
}

int kl_stage_profile(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(release) struct profile p = { .result = result, .job = job };
	json_t *out = json_object(), *points = json_array();
	cpu_set_t before, one;
	int ours, theirs, err;

	p.notes = json_array();
	kl_rng_seed(&p.rng, kl_rng_os_seed());
	kl_json_set(result, "profile", out);
	kl_json_set(out, "points", points);
	kl_json_set(out, "notes", p.notes);
	if (sched_getaffinity(0, sizeof(before), &before) < 0)
		return kl_error_errno("cannot ask for the processors");
	if (!choose_processors(&ours, &theirs, &before)) {
		note(&p, "one processor: not profiled");
		return 0;
	}
	if (!other_core(ours, theirs))
		note(&p, "the clock and the kernel share one core: times are rough");
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
