/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stages.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/par.h"
#include "base/rng.h"
#include "worker/answer.h"
#include "worker/failure.h"
#include "worker/replay.h"
#include "worker/tensor.h"
#include "worker/trial.h"

/* A call that takes longer is made once a member and repeated at smaller points only ... */
#define DEAR_NS 200000000
/* ... and one that takes longer still leaves the third full-shape draw to the profile. */
#define VERY_DEAR_NS 1000000000
#define SOAK_CALLS 50		/* and up to SOAK_MORE more, so that no kernel can count them */
#define SOAK_MORE 16
#define SOAK_NS 500000000	/* what the soak may cost in all */

#define RIGHT_BYTES ((size_t)1 << 30)	/* of answers that were found right */

/* An answer kept to be compared bit by bit with a later one. */
struct kept {
	char *bytes[KL_JOB_MAX_ARGS];	/* NULL: nothing kept */
};

struct run {
	const struct kl_job *job;
	struct kl_pool *pool;
	uint64_t seed;			/* of poisons and orders */
	int64_t calls, elements;
	double margin;
	const char *class;		/* of the failure; NULL: none so far */
	json_t *failure;
	char message[600];
	/* per member of the pool: passed with this guard side */
	bool *passed[2];
	struct kl_answer *right;	/* an answer that was found right; nothing: not kept */
	size_t right_bytes;
	int64_t *judged;		/* elements of it */
	const struct kl_member **met;	/* what the present child was asked before */
	size_t nmet;
	int64_t *cost;			/* per point: ns of one call with all that belongs to it */
};

/* What one child is to be asked. */
struct visit {
	const struct kl_point *point;
	bool right;
	const size_t *member;		/* indices into the pool, in order */
	size_t n;
	size_t watch;			/* this one's answers must have the same bits */
	struct kept *kept;		/* for this guard side; NULL: not compared */
	size_t spare;			/* a call, by its place, made only if calls are dear; SIZE_MAX */
	bool twins;			/* two inputs that only a little tells apart */
	const char *where;		/* "" or "soak: " */
};

static void kept_release(struct kept *k)
{
	for (size_t i = 0; i < KL_JOB_MAX_ARGS; i++)
		free(k->bytes[i]);
	*k = (struct kept){ 0 };
}

/* -- failures ----------------------------------------------------------- */

static void fail(struct run *r, const char *class, const struct kl_member *m,
		 const struct kl_mismatch *x, const char *why)
{
	r->class = class;
	r->failure = kl_failure(r->job, m, x, why);
	kl_json_set_int(r->failure, "draw", m->draw);
	snprintf(r->message, sizeof(r->message), "%s at '%s', band '%s': %s", class, m->point->id,
		 m->band, why);
}

static void fail_at(struct run *r, const char *class, const struct kl_member *m,
		    const struct kl_mismatch *x, const char *where, const char *why)
{
	char text[240], at[200];
	size_t n = 0;

	snprintf(text, sizeof(text), "%s%s", where, why);
	fail(r, class, m, x, text);
	at[0] = '\0';
	for (size_t i = 0; i < x->naxes; i++)
		n += (size_t)snprintf(at + n, sizeof(at) - n, "%s%" PRId64, i ? "," : "", x->index[i]);
	snprintf(r->message, sizeof(r->message), "%s at '%s', band '%s': %s[%s] is %s, wanted %s: %s",
		 class, m->point->id, m->band, r->job->arg[x->out].name, at, x->got, x->wanted, text);
}

static void fail_call(struct run *r, const struct kl_member *m, const struct kl_call *end)
{
	char what[240];

	snprintf(what, sizeof(what), "the kernel %s", end->what);
	fail(r, kl_failure_class(end->end), m, NULL, what);
}

/* Poison the outputs again as before the call: a place that looks the same was never written. */
static bool never_written(struct run *r, struct kl_subject *s, const struct kl_mismatch *x,
			  const struct kl_point *pt, uint64_t poison)
{
	size_t size = kl_dtype_bytes(r->job->arg[x->out].dtype), i = 0;
	char before[8];
	char *at;

	if (r->job->arg[x->out].role != KL_ROLE_OUT)
		return false;
	for (size_t a = 0; a < x->naxes; a++)
		i = i * (size_t)pt->arg[x->out].extent[a] + (size_t)x->index[a];
	at = (char *)kl_subject_buffer(s, (size_t)x->out) + i * size;
	memcpy(before, at, size);
	kl_subject_poison(s, poison);
	at = (char *)kl_subject_buffer(s, (size_t)x->out) + i * size;
	return size >= 2 && !memcmp(before, at, size);
}

static bool fail_replay(struct run *r, const struct visit *v, const struct kl_member *m,
			const struct kl_mismatch *x, const void *const *got)
{
	const struct kl_member *kept = kl_replay_of(r->job, m, r->met, r->nmet, got);
	char why[160];

	if (!kept)
		return false;
	kl_replay_why(why, sizeof(why), kept);
	if (v->twins)
		strncat(why, ": kept by a part of the content", sizeof(why) - strlen(why) - 1);
	fail_at(r, "cheat", m, x, v->where, why);
	return true;
}

static void fail_wrong(struct run *r, struct kl_subject *s, const struct visit *v, size_t member,
		       const struct kl_mismatch *x, const void *const *got, uint64_t poison)
{
	const struct kl_member *m = kl_pool_get(r->pool, member);
	const char *class = kl_failure_class_wrong(x);
	const char *why = x->why;

	if (fail_replay(r, v, m, x, got))
		return;
	if (never_written(r, s, x, v->point, poison))
		why = "never written: what stood there before the call stands there still";
	if (r->passed[v->right][member]) {
		class = "nondeterministic";
		why = "this input was answered rightly before, and now is not";
	}
	fail_at(r, class, m, x, v->where, why);
}

/* -- one call ----------------------------------------------------------- */

/* Inputs are mapped read-only in the child; this is the belt to those braces. */
static bool inputs_unchanged(struct run *r, struct kl_subject *s, const struct kl_member *m)
{
	for (size_t i = 0; i < r->job->nargs; i++) {
		const struct kl_job_arg *a = &r->job->arg[i];
		char why[120];

		if (a->role != KL_ROLE_IN || !kl_subject_bytes(s, i) ||
		    kl_par_same(kl_subject_buffer(s, i), m->input[i], kl_subject_bytes(s, i)))
			continue;
		snprintf(why, sizeof(why), "input '%s' was changed by the call", a->name);
		fail(r, "cheat", m, NULL, why);
		return false;
	}
	return true;
}

/* Keep the first answer; a later one must have its bits. */
static void same_bits(struct run *r, struct kl_subject *s, const struct visit *v,
		      const struct kl_member *m)
{
	for (size_t i = 0; i < r->job->nargs; i++) {
		enum kl_dtype t = r->job->arg[i].dtype;
		struct kl_mismatch x = { .out = (int)i };
		size_t n = kl_arg_is_output(&r->job->arg[i]) ? kl_subject_bytes(s, i) : 0, k = 0;
		const char *now, *then;

		if (!n)
			continue;
		now = kl_subject_buffer(s, i);
		if (!v->kept->bytes[i]) {
			v->kept->bytes[i] = kl_malloc(n);
			kl_par_copy(v->kept->bytes[i], now, n);
			continue;
		}
		then = v->kept->bytes[i];
		if (kl_par_same(now, then, n))
			continue;
		while (now[k] == then[k])
			k++;
		k /= kl_dtype_bytes(t);
		x.naxes = m->point->arg[i].naxes;
		kl_tensor_index(x.index, m->point->arg[i].extent, x.naxes, k);
		kl_tensor_print(x.got, sizeof(x.got), t, now, k);
		kl_tensor_print(x.wanted, sizeof(x.wanted), t, then, k);
		fail_at(r, "nondeterministic", m, &x, v->where,
			"the same input gave other bits in an earlier call");
		return;
	}
}

/* Has this answer the bits of one to the same member that was found right? */
static bool known_right(const struct run *r, struct kl_subject *s, size_t member, const void *const *got)
{
	const struct kl_answer *x = &r->right[member];
	bool some = false;

	for (size_t i = 0; i < r->job->nargs; i++) {
		if (!got[i])
			continue;
		if (!x->bytes[i] || !kl_par_same(got[i], x->bytes[i], kl_subject_bytes(s, i)))
			return false;
		some = true;
	}
	return some;
}

/* While there is room for it. */
static void keep_right(struct run *r, struct kl_subject *s, size_t member, const void *const *got)
{
	const struct kl_member *m = kl_pool_get(r->pool, member);
	struct kl_answer *x = &r->right[member];
	size_t need = 0;

	for (size_t i = 0; i < r->job->nargs; i++)
		need += got[i] && !x->bytes[i] ? kl_subject_bytes(s, i) : 0;
	if (need > RIGHT_BYTES - r->right_bytes)
		return;
	r->right_bytes += need;
	kl_answer_room(x, r->job, m);
	for (size_t i = 0; i < r->job->nargs; i++)
		if (got[i])
			kl_par_copy(x->bytes[i], got[i], kl_subject_bytes(s, i));
}

/* As kl_compare. What has the bits of a right answer is right; whatever differs is looked at. */
static int judge(struct kl_mismatch *x, struct run *r, struct kl_subject *s, size_t member,
		 const void *const *got)
{
	const struct kl_member *m = kl_pool_get(r->pool, member);
	int err;

	if (known_right(r, s, member, got)) {
		*x = (struct kl_mismatch){ .out = -1, .elements = r->judged[member] };
		return 0;
	}
	err = kl_compare(x, r->job, m, got);
	if (err == 0) {
		r->judged[member] = x->elements;
		keep_right(r, s, member, got);
	}
	return err;
}

static int one_call(struct run *r, struct kl_subject *s, const struct visit *v, size_t member)
{
	const struct kl_member *m = kl_pool_get(r->pool, member);
	const void *got[KL_JOB_MAX_ARGS] = { NULL };
	uint64_t poison = r->seed + (uint64_t)++r->calls * 0x9e3779b97f4a7c15u;
	struct kl_mismatch x;
	struct kl_call end;
	int err;

	/* every third is plausible: at each point, and not in step with pairs */
	poison = (poison & ~(uint64_t)1) | (r->calls % 3 == 0);
	err = kl_trial_kernel(&end, s, r->job, m->input, poison);
	if (err < 0)
		return err;
	if (end.end != KL_CALL_OK) {
		fail_call(r, m, &end);
		return 0;
	}
	for (size_t i = 0; i < r->job->nargs; i++)
		if (kl_arg_is_output(&r->job->arg[i]))
			got[i] = kl_subject_buffer(s, i);
	err = judge(&x, r, s, member, got);
	if (err < 0 && err != KL_ENO)
		return err;
	r->elements += x.elements;
	if (x.margin > r->margin)
		r->margin = x.margin;
	if (!inputs_unchanged(r, s, m))
		return 0;
	if (err == KL_ENO) {
		fail_wrong(r, s, v, member, &x, got, poison);
		return 0;
	}
	r->passed[v->right][member] = true;
	if (member == v->watch && v->kept && r->job->deterministic)
		same_bits(r, s, v, m);
	return 0;
}

/* A fresh child, asked in order until something is wrong. */
static int visit(struct run *r, const struct visit *v)
{
	KL_AUTO(kl_subject_freep) struct kl_subject *s = NULL;
	struct kl_subject_spec spec = {
		.kind = KL_SUBJECT_KERNEL, .so = r->job->candidate_so, .entry = r->job->entry,
		.align_right = v->right, .cpu = -1,
	};
	size_t p = (size_t)(v->point - r->job->point);
	int err = kl_subject_start(&s, r->job, v->point, &spec);

	if (err == KL_EINVALID) {
		fail(r, "launch", kl_pool_get(r->pool, v->member[0]), NULL, kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return kl_error_in(err, "candidate at '%s'", v->point->id);
	r->nmet = 0;
	for (size_t i = 0; i < v->n && !r->class && err == 0; i++) {
		const struct kl_member *m = kl_pool_get(r->pool, v->member[i]);
		int64_t start = kl_clock_ns(), took;

		if ((r->cost[p] > VERY_DEAR_NS && m->draw > 1) ||
		    (r->cost[p] <= DEAR_NS && i == v->spare))
			continue;
		err = one_call(r, s, v, v->member[i]);
		r->met[r->nmet++] = m;
		took = kl_clock_ns() - start;
		if (!r->cost[p] || took < r->cost[p])
			r->cost[p] = took;
	}
	return err;
}

/* -- plans -------------------------------------------------------------- */

static bool is_twin(const struct run *r, size_t member)
{
	const struct kl_member *m = kl_pool_get(r->pool, member);

	return m == kl_pool_twin(r->pool, m->point);
}

/* Members of a point, its twin at the end; *twin says whether there is one. */
static size_t members_of(const struct run *r, const struct kl_point *pt, size_t *out, bool *twin)
{
	size_t n = 0, at = SIZE_MAX;

	for (size_t i = 0; i < kl_pool_size(r->pool); i++) {
		if (kl_pool_get(r->pool, i)->point != pt)
			continue;
		if (is_twin(r, i))
			at = i;
		else
			out[n++] = i;
	}
	*twin = at != SIZE_MAX;
	if (*twin)
		out[n++] = at;
	return n;
}

/*
 * The twin and then the first input in one process, and in another both by
 * turns. Each is met before the other once, so that what is wrong after the other
 * alone was kept. Where there is no twin, another input stands in for it.
 */
static int twins(struct run *r, struct visit v, size_t first, size_t other, bool twin)
{
	const size_t order[] = { first, other, first, other }, turned[] = { other, first };
	int err;

	v.member = turned;
	v.n = 2;
	v.twins = twin;
	err = visit(r, &v);
	if (err < 0 || r->class)
		return err;
	v.member = order;
	v.n = 4;
	return visit(r, &v);
}

/*
 * A performance point: every member but the twin once, in turn in a child with
 * left-aligned and in one with right-aligned buffers. Then, unless calls are
 * dear, the first input of each again in a new child, after another input and
 * after itself: the bits must be those of the first time. The twin comes
 * there; where calls are dear, right after its sibling.
 */
static int perf_point(struct run *r, const struct kl_point *pt, bool alone)
{
	KL_AUTO(kl_freep) size_t *all = kl_calloc(kl_pool_size(r->pool) + 1, sizeof(*all));
	KL_AUTO(kl_freep) size_t *half = kl_calloc(kl_pool_size(r->pool) + 1, sizeof(*half));
	const int64_t *cost = &r->cost[pt - r->job->point];
	bool twin;
	size_t have = members_of(r, pt, all, &twin), n = have - twin;
	int err = 0;

	for (size_t side = 0; side < 2 && side < n && err == 0 && !r->class; side++) {
		const size_t next = all[(side + 1) % n];
		const size_t again[] = { next, all[side], next, all[side] };
		struct kept kept = { 0 };
		struct visit v = {
			.point = pt, .right = side, .member = half, .watch = all[side],
			.kept = &kept, .spare = SIZE_MAX, .where = "",
		};

		for (size_t i = side; i < n; i += 2) {
			half[v.n++] = all[i];
			if (i == 0 && twin) {
				v.spare = v.n;
				half[v.n++] = all[n];
			}
		}
		err = visit(r, &v);
		v.spare = SIZE_MAX;
		v.member = again;
		v.n = 4;
		if (*cost > DEAR_NS) {
			/* where no other point can show it, once at least */
			v.member = again + 1;
			v.n = alone && side == 0;
		}
		if (err == 0 && !r->class && v.n == 4 && side == 0)
			err = twins(r, v, all[0], twin ? all[n] : next, twin);
		else if (err == 0 && !r->class && v.n)
			err = visit(r, &v);
		kept_release(&kept);
	}
	return err;
}

/* From the end to right after its sibling. */
static void twin_second(size_t *order, size_t n, bool twin)
{
	size_t last = n ? order[n - 1] : 0;

	if (!twin || n < 3)
		return;
	memmove(order + 2, order + 1, (n - 2) * sizeof(*order));
	order[1] = last;
}

/* Any other point: every member under both guard sides, forward and, in a new child, backward. */
static int also_point(struct run *r, const struct kl_point *pt)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(kl_pool_size(r->pool) + 2, sizeof(*order));
	struct kept kept[2] = { 0 };
	bool twin;
	size_t n = members_of(r, pt, order, &twin);
	int err = 0;

	twin_second(order, n, twin);
	for (int turn = 0; turn < 3 && n && err == 0 && !r->class; turn++) {
		bool right = turn == 1;
		struct visit v = {
			.point = pt, .right = right, .member = order, .n = n,
			.kept = &kept[right], .spare = SIZE_MAX, .where = "",
		};

		v.watch = order[turn == 2 ? n - 1 : 0];
		if (turn < 2) {
			order[n] = order[0];	/* again, after the others */
			v.n = n + 1;
		}
		err = visit(r, &v);
		/* backwards from here on; the left child's first comes last in turn 2 */
		if (turn == 1)
			for (size_t i = 0; i < n / 2; i++) {
				size_t t = order[i];

				order[i] = order[n - 1 - i];
				order[n - 1 - i] = t;
			}
	}
	kept_release(&kept[0]);
	kept_release(&kept[1]);
	return err;
}

/*
 * Many calls in one process with changing inputs, at the largest point where
 * that is cheap: for kernels that are right a few times only.
 */
static int soak(struct run *r)
{
	KL_AUTO(kl_freep) size_t *all = kl_calloc(kl_pool_size(r->pool) + 1, sizeof(*all));
	size_t order[SOAK_CALLS + SOAK_MORE], n, best = 0;
	struct visit v = {
		.member = order, .watch = SIZE_MAX, .spare = SIZE_MAX, .where = "soak: ",
	};
	struct kl_rng rng;
	bool twin;

	kl_rng_seed(&rng, kl_rng_derive(r->seed, "soak"));
	for (size_t p = 1; p < r->job->npoint; p++) {
		bool cheap = r->cost[p] <= SOAK_NS / SOAK_CALLS;
		bool was = r->cost[best] <= SOAK_NS / SOAK_CALLS;

		/* dearer is larger, as long as it is cheap enough */
		if (cheap ? !was || r->cost[p] > r->cost[best] : !was && r->cost[p] < r->cost[best])
			best = p;
	}
	v.point = &r->job->point[best];
	v.n = SOAK_CALLS + kl_rng_below(&rng, SOAK_MORE);
	if (r->cost[best] > SOAK_NS / SOAK_CALLS)
		v.n = (size_t)(SOAK_NS / r->cost[best]);
	n = members_of(r, v.point, all, &twin);
	for (size_t i = 0; i < v.n && n; i++)
		order[i] = all[kl_rng_below(&rng, n)];
	return n && v.n ? visit(r, &v) : 0;
}

/* Performance points first: who passes there and fails elsewhere is wrong at an edge. */
static int all_points(struct run *r)
{
	bool also = false;
	int err = 0;

	for (size_t i = 0; i < r->job->npoint; i++)
		also = also || !r->job->point[i].perf;
	for (size_t i = 0; i < r->job->npoint && err == 0 && !r->class; i++)
		if (r->job->point[i].perf)
			err = perf_point(r, &r->job->point[i], !also);
	for (size_t i = 0; i < r->job->npoint && err == 0 && !r->class; i++)
		if (!r->job->point[i].perf)
			err = also_point(r, &r->job->point[i]);
	return err < 0 || r->class ? err : soak(r);
}

/* -- result ------------------------------------------------------------- */

static int64_t cases(const struct run *r)
{
	int64_t n = 0;

	for (size_t i = 0; i < kl_pool_size(r->pool); i++)
		n += r->passed[0][i] || r->passed[1][i];
	return n;
}

static void report(json_t *result, struct run *r)
{
	json_t *o = json_object(), *seeds = json_array();
	double ppm = r->margin * 1e6;
	char seed[24];

	snprintf(seed, sizeof(seed), "%" PRIu64, kl_pool_seed(r->pool));
	json_array_append_new(seeds, json_string(seed));
	kl_json_set(o, "seeds", seeds);
	kl_json_set_int(o, "cases", cases(r));
	kl_json_set_int(o, "calls", r->calls);
	kl_json_set_int(o, "elements", r->elements);
	/* infinite where no error at all was allowed */
	kl_json_set_int(o, "margin_ppm", ppm < 1e15 ? (int64_t)ceil(ppm) : 1000000000000000);
	if (r->failure)
		kl_json_set(o, "failure", r->failure);
	kl_json_set(result, "correct", o);
	if (!r->class)
		return;
	kl_json_set_str(result, "status", "fail");
	kl_json_set_str(result, "class", r->class);
	kl_json_set_str(result, "message", r->message);
}

int kl_stage_correct(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	struct run r = {
		.job = job, .pool = pool,
		.seed = kl_rng_derive(kl_pool_seed(pool), "correct"),
	};
	int err;

	if (!job->candidate_so)
		return kl_error(KL_EINVALID, "the job names no candidate to judge");
	r.passed[0] = kl_calloc(kl_pool_size(pool) + 1, sizeof(bool));
	r.passed[1] = kl_calloc(kl_pool_size(pool) + 1, sizeof(bool));
	r.right = kl_calloc(kl_pool_size(pool) + 1, sizeof(*r.right));
	r.judged = kl_calloc(kl_pool_size(pool) + 1, sizeof(*r.judged));
	r.met = kl_calloc(2 * kl_pool_size(pool) + SOAK_CALLS + SOAK_MORE, sizeof(*r.met));
	r.cost = kl_calloc(job->npoint + 1, sizeof(*r.cost));
	err = all_points(&r);
	if (err == 0)
		report(result, &r);
	else
		json_decref(r.failure);
	for (size_t i = 0; i < kl_pool_size(pool); i++)
		kl_answer_release(&r.right[i]);
	free(r.right);
	free(r.judged);
	free(r.passed[0]);
	free(r.passed[1]);
	free(r.met);
	free(r.cost);
	return err;
}
