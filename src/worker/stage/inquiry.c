/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/inquiry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/par.h"
#include "base/rng.h"
#include "job/tensor.h"
#include "worker/measure/failure.h"
#include "worker/measure/replay.h"
#include "worker/subject/trial.h"

#define RIGHT_BYTES ((size_t)1 << 30) /* of answers that were found right */

void kl_kept_release(struct kl_kept *k)
{
	for (size_t i = 0; i < KL_JOB_MAX_ARGS; i++)
		free(k->bytes[i]);
	*k = (struct kl_kept){ 0 };
}

/* -- failures ----------------------------------------------------------- */

static void set_failure(struct kl_inquiry *r, const char *class, const struct kl_member *m,
			const struct kl_mismatch *x, const char *why)
{
	r->class = class;
	r->failure = kl_failure(r->job, m, x, why);
	kl_json_set_int(r->failure, "draw", m->draw);
	snprintf(r->message, sizeof(r->message), "%s at '%s', band '%s': %s", class, m->point->id,
		 m->band, why);
}

static void fail_at(struct kl_inquiry *r, const char *class, const struct kl_member *m,
		    const struct kl_mismatch *x, const char *where, const char *why)
{
	char text[240], at[200];
	size_t n = 0;

	snprintf(text, sizeof(text), "%s%s", where, why);
	set_failure(r, class, m, x, text);
	at[0] = '\0';
	for (size_t i = 0; i < x->naxes; i++)
		n += (size_t)snprintf(at + n, sizeof(at) - n, "%s%" PRId64, i ? "," : "",
				      x->index[i]);
	snprintf(r->message, sizeof(r->message),
		 "%s at '%s', band '%s': %s[%s] is %s, wanted %s: %s", class, m->point->id, m->band,
		 r->job->arg[x->out].name, at, x->got, x->wanted, text);
}

static void fail_call(struct kl_inquiry *r, const struct kl_member *m, const struct kl_call *end)
{
	char what[240];

	snprintf(what, sizeof(what), "the kernel %s", end->what);
	set_failure(r, kl_failure_class(end->end), m, NULL, what);
}

/* Poison the outputs again as before the call: a place that looks the same was never written. */
static bool never_written(struct kl_inquiry *r, struct kl_subject *s, const struct kl_mismatch *x,
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

static bool fail_replay(struct kl_inquiry *r, const struct kl_round *v, const struct kl_member *m,
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

static void fail_wrong(struct kl_inquiry *r, struct kl_subject *s, const struct kl_round *v,
		       size_t member, const struct kl_mismatch *x, const void *const *got,
		       uint64_t poison)
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
static bool inputs_unchanged(struct kl_inquiry *r, struct kl_subject *s, const struct kl_member *m)
{
	for (size_t i = 0; i < r->job->nargs; i++) {
		const struct kl_job_arg *a = &r->job->arg[i];
		char why[120];

		if (a->role != KL_ROLE_IN || !kl_subject_bytes(s, i) ||
		    kl_par_same(kl_subject_buffer(s, i), m->input[i], kl_subject_bytes(s, i)))
			continue;
		snprintf(why, sizeof(why), "input '%s' was changed by the call", a->name);
		set_failure(r, "cheat", m, NULL, why);
		return false;
	}
	return true;
}

/* Keep the first answer; a later one must have its bits. */
static void same_bits(struct kl_inquiry *r, struct kl_subject *s, const struct kl_round *v,
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
static bool known_right(const struct kl_inquiry *r, struct kl_subject *s, size_t member,
			const void *const *got)
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
static void keep_right(struct kl_inquiry *r, struct kl_subject *s, size_t member,
		       const void *const *got)
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
static int judge_member(struct kl_mismatch *x, struct kl_inquiry *r, struct kl_subject *s,
			size_t member, const void *const *got)
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

static int one_call(struct kl_inquiry *r, struct kl_subject *s, const struct kl_round *v,
		    size_t member)
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
	err = judge_member(&x, r, s, member, got);
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

int kl_inquiry_round(struct kl_inquiry *r, const struct kl_round *v)
{
	KL_AUTO(kl_subject_freep) struct kl_subject *s = NULL;
	struct kl_subject_spec spec = {
		.kind = KL_SUBJECT_KERNEL,
		.so = r->job->candidate_so,
		.entry = r->job->entry,
		.align_right = v->right,
		.cpu = -1,
	};
	size_t p = (size_t)(v->point - r->job->point);
	int err = kl_subject_start(&s, r->job, v->point, &spec);

	if (err == KL_EINVALID) {
		set_failure(r, "launch", kl_pool_get(r->pool, v->member[0]), NULL, kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return kl_error_in(err, "candidate at '%s'", v->point->id);
	r->nmet = 0;
	for (size_t i = 0; i < v->n && !r->class && err == 0; i++) {
		int64_t start = kl_clock_ns(), took;

		if (v->leave && v->leave(v->ctx, i))
			continue;
		err = one_call(r, s, v, v->member[i]);
		r->met[r->nmet++] = kl_pool_get(r->pool, v->member[i]);
		r->made[p]++;
		took = kl_clock_ns() - start;
		if (!r->cost[p] || took < r->cost[p])
			r->cost[p] = took;
	}
	return err;
}

/* -- life ---------------------------------------------------------------- */

void kl_inquiry_init(struct kl_inquiry *r, const struct kl_job *job, struct kl_pool *pool,
		     size_t most)
{
	size_t n = kl_pool_size(pool);

	*r = (struct kl_inquiry){
		.job = job,
		.pool = pool,
		.seed = kl_rng_derive(kl_pool_seed(pool), "correct"),
	};
	r->passed[0] = kl_calloc(n + 1, sizeof(bool));
	r->passed[1] = kl_calloc(n + 1, sizeof(bool));
	r->right = kl_calloc(n + 1, sizeof(*r->right));
	r->judged = kl_calloc(n + 1, sizeof(*r->judged));
	r->met = kl_calloc(most + 1, sizeof(*r->met));
	r->cost = kl_calloc(job->npoint + 1, sizeof(*r->cost));
	r->made = kl_calloc(job->npoint + 1, sizeof(*r->made));
}

void kl_inquiry_release(struct kl_inquiry *r)
{
	for (size_t i = 0; r->pool && i < kl_pool_size(r->pool); i++)
		kl_answer_release(&r->right[i]);
	json_decref(r->failure);
	free(r->right);
	free(r->judged);
	free(r->passed[0]);
	free(r->passed[1]);
	free(r->met);
	free(r->cost);
	free(r->made);
}
