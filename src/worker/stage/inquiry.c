/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/inquiry.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/par.h"
#include "base/rng.h"
#include "worker/measure/failure.h"
#include "worker/measure/fresh_call.h"
#include "worker/measure/replay.h"
#include "worker/measure/time_limit.h"
#include "worker/subject/trial.h"

/* -- failures ----------------------------------------------------------- */

static void set_failure(struct kl_inquiry *inquiry, const char *class,
			const struct kl_member *member, const struct kl_mismatch *mismatch,
			const char *why)
{
	char place[300];

	kl_failure_place(place, sizeof(place), inquiry->job, member);
	inquiry->class = class;
	inquiry->failure = kl_failure(inquiry->job, member, mismatch, why);
	kl_json_set_int(inquiry->failure, "draw", member->draw);
	if (inquiry->failed.after && inquiry->failed.after->drawn)
		kl_json_set(inquiry->failure, "after",
			    kl_failure_dims(inquiry->job, inquiry->failed.after));
	snprintf(inquiry->message, sizeof(inquiry->message), "%s at %s: %s", class, place, why);
}

static void fail_at(struct kl_inquiry *inquiry, const char *class, const struct kl_member *member,
		    const struct kl_mismatch *mismatch, const char *where, const char *why)
{
	char text[240], at[200], place[300];
	size_t n = 0;

	snprintf(text, sizeof(text), "%s%s", where, why);
	set_failure(inquiry, class, member, mismatch, text);
	at[0] = '\0';
	for (size_t i = 0; i < mismatch->naxes; i++)
		n += (size_t)snprintf(at + n, sizeof(at) - n, "%s%" PRId64, i ? "," : "",
				      mismatch->index[i]);
	kl_failure_place(place, sizeof(place), inquiry->job, member);
	if (inquiry->job->arg[mismatch->out].returned)
		snprintf(inquiry->message, sizeof(inquiry->message),
			 "%s at %s: the kernel returned %s, wanted %s: %s", class, place,
			 mismatch->got, mismatch->wanted, text);
	else
		snprintf(inquiry->message, sizeof(inquiry->message),
			 "%s at %s: %s[%s] is %s, wanted %s: %s", class, place,
			 inquiry->job->arg[mismatch->out].name, at, mismatch->got, mismatch->wanted,
			 text);
}

static void fail_call(struct kl_inquiry *inquiry, const struct kl_member *member,
		      const struct kl_call *end)
{
	char what[240];

	snprintf(what, sizeof(what), "the kernel %s", end->what);
	set_failure(inquiry, kl_failure_class(end->end), member, NULL, what);
}

/*
 * Return true if it seems that the kernel never wrote the wrong element: poison the outputs again
 * as before the call and see if the element stays the same.
 */
static bool never_written(struct kl_inquiry *inquiry, struct kl_subject *subject,
			  const struct kl_mismatch *mismatch, const struct kl_point *pt,
			  uint64_t poison)
{
	size_t size = kl_dtype_bytes(inquiry->job->arg[mismatch->out].dtype), i = 0;
	char before[8];
	char *at;

	if (inquiry->job->arg[mismatch->out].kind != KL_ARG_OUT)
		return false;
	for (size_t axis = 0; axis < mismatch->naxes; axis++)
		i = i * (size_t)pt->arg[mismatch->out].extent[axis] + (size_t)mismatch->index[axis];
	at = (char *)kl_subject_buffer(subject, (size_t)mismatch->out) + i * size;
	memcpy(before, at, size);
	kl_subject_poison(subject, poison);
	at = (char *)kl_subject_buffer(subject, (size_t)mismatch->out) + i * size;
	return size >= 2 && !memcmp(before, at, size);
}

/* Return in words why an element is wrong, if no other finding explains it. */
static const char *why_wrong(struct kl_inquiry *inquiry, struct kl_subject *subject,
			     const struct kl_round *round, const struct kl_mismatch *mismatch,
			     const struct kl_point *pt, const struct kl_trial *trial)
{
	if (round->ordinary || !never_written(inquiry, subject, mismatch, pt, trial->poison))
		return mismatch->why;
	if (inquiry->job->arg[mismatch->out].zeros)
		return "still zero, as before the call";
	return "never written: the element still has the value from before the call";
}

static bool fail_replay(struct kl_inquiry *inquiry, const struct kl_round *round,
			const struct kl_member *member, const struct kl_mismatch *mismatch,
			const void *const *got)
{
	const struct kl_member *kept = kl_replay_of(inquiry->job, member, inquiry->met,
						    inquiry->nmet, got);
	char why[160];

	if (!kept)
		return false;
	kl_replay_why(why, sizeof(why), kept);
	if (round->twins)
		strncat(why, ": the kernel compares only a part of the input",
			sizeof(why) - strlen(why) - 1);
	fail_at(inquiry, "cheat", member, mismatch, round->where, why);
	return true;
}

static struct kl_fresh fresh_of(const struct kl_inquiry *inquiry)
{
	return (struct kl_fresh){ .job = inquiry->job, .cpu = inquiry->cpu, .ns = inquiry->ns };
}

/*
 * A wrong answer of few elements does not show whether the kernel kept it from an earlier call. Try
 * to make the kernel keep a larger answer, and report that answer if it does. Returns true if it
 * was reported.
 */
static bool fail_kept(struct kl_inquiry *inquiry, const struct kl_member *member,
		      const void *const *got, const struct kl_trial *trial)
{
	const struct kl_fresh fresh = fresh_of(inquiry);
	const struct kl_member *pair[2];
	struct kl_mismatch mismatch;
	char why[160];

	if (inquiry->job->surface != KL_SURFACE_C ||
	    kl_replay_is_telling(inquiry->job, member, got) ||
	    !kl_replay_probe(pair, &mismatch, &fresh, inquiry->pool, trial))
		return false;
	inquiry->failed = (struct kl_failed_call){ .member = kl_pool_find(inquiry->pool, pair[1]),
						   .right = trial->place.right };
	kl_replay_why(why, sizeof(why), pair[0]);
	fail_at(inquiry, "cheat", pair[1], &mismatch, "", why);
	return true;
}

/*
 * Find out if a wrong answer of a kernel in C depends on earlier calls. Return 1 if the kernel
 * answers correctly in a new process, 0 if it does not or if this was not checked, or an error.
 */
static int depends_on_calls(const struct kl_inquiry *inquiry, const struct kl_member *member,
			    const struct kl_trial *trial)
{
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	const struct kl_fresh fresh = fresh_of(inquiry);
	int err;

	if (inquiry->job->surface != KL_SURFACE_C || !inquiry->nmet)
		return 0;
	err = kl_fresh_start(&subject, &fresh, member, trial);
	return err < 0 ? err : kl_fresh_answer(subject, inquiry->job, member, trial);
}

/*
 * Draw the addresses and the poison of the next call with a member. They do not depend on calls
 * with other members, so that a replay of only this call can repeat them.
 */
static void draw_trial(struct kl_trial *trial, struct kl_inquiry *inquiry,
		       const struct kl_round *round, size_t index, bool right)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, index);
	struct kl_key key;
	struct kl_rng rng;
	char label[128];

	snprintf(label, sizeof(label), "%s/%s/%d", member->point->id, member->band, member->draw);
	key = kl_key_derive(&inquiry->poison, label);
	kl_rng_key(&rng, &key, (uint64_t)inquiry->asked[index]++);
	*trial = (struct kl_trial){ .input = member->input, .further = member->further };
	kl_trial_draw(trial, &rng);
	trial->place.right = right;
	trial->place.other = member->point != round->point;
}

/*
 * A wrong answer to values beyond those of the contract does not show whether the kernel is wrong
 * only at borders. So call the kernel in a new process with the point's first noise draw, and
 * report that answer if it is wrong as well. Returns false if the answer is right, or if the kernel
 * could not be called or gave none.
 */
static bool fail_noise(struct kl_inquiry *inquiry, const struct kl_round *round,
		       const struct kl_member *of, bool right)
{
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	const struct kl_fresh fresh = fresh_of(inquiry);
	const void *got[KL_MAX_ARGS] = { NULL };
	const struct kl_member *noise;
	struct kl_mismatch mismatch;
	struct kl_trial trial;
	struct kl_call end;
	size_t index;
	int err;

	if (!of->further || !kl_pool_noise(inquiry->pool, of->point, &noise, 1))
		return false;
	index = kl_pool_find(inquiry->pool, noise);
	draw_trial(&trial, inquiry, round, index, right);
	err = kl_fresh_start(&subject, &fresh, noise, &trial);
	if (err == 0)
		err = kl_fresh_call(&end, got, subject, inquiry->job, &trial);
	if (err > 0)
		err = kl_compare(&mismatch, inquiry->job, noise, got);
	if (err != KL_ENO) {
		if (err < 0)
			kl_error_clear(); /* ignore the error, because the kernel is wrong anyway */
		return false;
	}
	inquiry->failed = (struct kl_failed_call){ .member = index, .right = right };
	fail_at(inquiry, kl_failure_class_wrong(&mismatch), noise, &mismatch, "",
		why_wrong(inquiry, subject, round, &mismatch, noise->point, &trial));
	return true;
}

/*
 * Report a wrong answer, unless it is wrong by chance. If the kernel answers fresh draws correctly,
 * the wrong answer was chance, and counts as right.
 */
static int fail_wrong(struct kl_inquiry *inquiry, struct kl_subject *subject,
		      const struct kl_round *round, size_t index, struct kl_mismatch *mismatch,
		      const void *const *got, const struct kl_trial *trial)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, index);
	bool passed = round->ordinary ? kl_inquiry_passed(inquiry, index) :
					inquiry->passed[trial->place.right][index];
	const char *class = "nondeterministic", *why;
	int depends, chance = 0;

	if (fail_replay(inquiry, round, member, mismatch, got))
		return 0;
	depends = depends_on_calls(inquiry, member, trial);
	if (passed && inquiry->job->surface != KL_SURFACE_C)
		depends = 1;
	if (!depends && !passed)
		chance = kl_redraw(&inquiry->redraw, member, mismatch, trial, got);
	if (depends < 0 || chance < 0)
		return depends < 0 ? depends : chance;
	if (chance) {
		kl_judge_accept(&inquiry->judge,
				&(struct kl_judge_call){ member, trial->place.right, got },
				mismatch);
		inquiry->passed[trial->place.right][index] = true;
		return 0;
	}
	if (depends && fail_kept(inquiry, member, got, trial))
		return 0;
	/*
	 * if the answer is wrong in a new process, too, its cause is in this call, such as the old
	 * content of outputs
	 */
	if (depends && passed && round->ordinary) {
		why = "this input was answered correctly before, but not after calls between which "
		      "no memory was cleaned";
	} else if (depends && passed) {
		why = "this input was answered correctly in an earlier call, but not in this one";
	} else if (depends) {
		why = "this input is answered correctly in a new process, but not after other "
		      "calls";
	} else if (fail_noise(inquiry, round, member, trial->place.right)) {
		return 0;
	} else {
		class = kl_failure_class_wrong(mismatch);
		why = why_wrong(inquiry, subject, round, mismatch, member->point, trial);
	}
	fail_at(inquiry, class, member, mismatch, round->where, why);
	return 0;
}

/* -- one call ----------------------------------------------------------- */

/*
 * Check that the call changed no input. This is a second line of defence, since inputs are mapped
 * read-only in the child. On a GPU there is nothing to check, because no kernel reaches the host's
 * copies.
 */
static bool inputs_unchanged(struct kl_inquiry *inquiry, struct kl_subject *subject,
			     const struct kl_member *member)
{
	if (inquiry->job->surface == KL_SURFACE_CUDA)
		return true;
	for (size_t i = 0; i < inquiry->job->nargs; i++) {
		const struct kl_job_arg *arg = &inquiry->job->arg[i];
		char why[120];

		if (arg->kind != KL_ARG_IN || !kl_subject_bytes(subject, i) ||
		    kl_par_same(kl_subject_buffer(subject, i), member->input[i],
				kl_subject_bytes(subject, i)))
			continue;
		snprintf(why, sizeof(why), "input '%s' was changed by the call", arg->name);
		set_failure(inquiry, "cheat", member, NULL, why);
		return false;
	}
	return true;
}

/*
 * If the job promises determinism, check that an answer has the same bits as the first answer to
 * the same input on the same guard side.
 */
static bool same_bits(struct kl_inquiry *inquiry, const struct kl_round *round,
		      const struct kl_judge_call *call)
{
	struct kl_mismatch mismatch;

	if (!inquiry->job->deterministic || !kl_judge_changed(&mismatch, &inquiry->judge, call))
		return true;
	fail_at(inquiry, "nondeterministic", call->member, &mismatch, round->where,
		inquiry->job->threads > 1 ?
			"the same input gave other bits in an earlier call (a reduction over threads "
			"needs 'deterministic: false' in the contract)" :
			"the same input gave other bits in an earlier call");
	return false;
}

static int judge_call(struct kl_inquiry *inquiry, struct kl_subject *subject,
		      const struct kl_round *round, size_t index, const struct kl_trial *trial)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, index);
	const void *got[KL_MAX_ARGS] = { NULL };
	const struct kl_judge_call call = { member, trial->place.right, got };
	struct kl_mismatch mismatch;
	int err;

	for (size_t i = 0; i < inquiry->job->nargs; i++)
		if (kl_arg_is_output(&inquiry->job->arg[i]))
			got[i] = kl_subject_buffer(subject, i);
	err = kl_judge_answer(&mismatch, &inquiry->judge, &call);
	if (err < 0 && err != KL_ENO)
		return err;
	if (!inputs_unchanged(inquiry, subject, member))
		err = 0;
	else if (err == KL_ENO)
		err = fail_wrong(inquiry, subject, round, index, &mismatch, got, trial);
	else if (same_bits(inquiry, round, &call))
		inquiry->passed[trial->place.right][index] = true;
	inquiry->elements += mismatch.elements;
	inquiry->margin = fmax(inquiry->margin, mismatch.margin);
	return err;
}

static void add_met(struct kl_inquiry *inquiry, const struct kl_member *member)
{
	for (size_t i = 0; i < inquiry->nmet; i++)
		if (inquiry->met[i] == member)
			return;
	KL_GROW(inquiry->met, inquiry->nmet + 1, inquiry->met_alloc);
	inquiry->met[inquiry->nmet++] = member;
}

/*
 * Return the processor time of this thread only: another thread can be making the pool of the drawn
 * points.
 */
static int64_t own_processor_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/*
 * Record the cost of a call. For a kernel in C the cost is the processor time of this thread and
 * of the child, so that other work on the machine does not count.
 */
static void take_cost(struct kl_inquiry *inquiry, const struct kl_point *pt,
		      const struct kl_call *end, int64_t wall_ns, int64_t own_ns)
{
	int64_t *cost = &inquiry->cost[pt - inquiry->job->point];
	int64_t *used = &inquiry->used[pt - inquiry->job->point];
	int64_t took = inquiry->job->surface == KL_SURFACE_C && end->used_ns >= 0 ?
			       own_ns + end->used_ns :
			       wall_ns;

	if (!*cost || took < *cost)
		*cost = took;
	if (inquiry->job->surface == KL_SURFACE_C && end->used_ns > 0 &&
	    (!*used || end->used_ns < *used))
		*used = end->used_ns;
}

static void note_time(struct kl_inquiry *inquiry, const struct kl_point *pt, int64_t ns)
{
	int64_t *longest = &inquiry->ns[pt - inquiry->job->point];

	/* a short call can measure as 0: count at least 1 us */
	if (ns < 1000)
		ns = 1000;
	*longest = *longest < ns ? ns : *longest;
}

static int one_call(struct kl_inquiry *inquiry, struct kl_subject *subject,
		    const struct kl_round *round, size_t index, bool right)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, index);
	int64_t begin = kl_clock_ns(), own = own_processor_ns();
	struct kl_trial trial;
	struct kl_call end;
	int err;

	inquiry->failed = (struct kl_failed_call){ .member = index, .right = right };
	if (round->before && index != *round->before)
		inquiry->failed.after = kl_pool_get(inquiry->pool, *round->before)->point;
	inquiry->calls += !round->unjudged;
	draw_trial(&trial, inquiry, round, index, right);
	kl_subject_limit(subject, kl_time_limit(inquiry->job, round->point, inquiry->ns));
	err = kl_trial_kernel(&end, subject, inquiry->job, &trial);
	if (err < 0)
		return err;
	if (end.end != KL_CALL_OK) {
		fail_call(inquiry, member, &end);
		return 0;
	}
	note_time(inquiry, member->point, end.ns);
	if (round->unjudged)
		return 0;
	err = judge_call(inquiry, subject, round, index, &trial);
	add_met(inquiry, member);
	inquiry->made[member->point - inquiry->job->point]++;
	take_cost(inquiry, member->point, &end, kl_clock_ns() - begin, own_processor_ns() - own);
	return err;
}

/* Check, after all ordinary calls of a round, that none of them wrote outside its buffers. */
static int check_around(struct kl_inquiry *inquiry, struct kl_subject *subject)
{
	struct kl_call end;
	int err = kl_subject_check(subject, &end);

	if (err == 0 && end.end != KL_CALL_OK)
		fail_call(inquiry, inquiry->met[inquiry->nmet - 1], &end);
	return err;
}

int kl_inquiry_round(struct kl_inquiry *inquiry, const struct kl_round *round)
{
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	struct kl_subject_spec spec = {
		.kind = KL_SUBJECT_KERNEL,
		.path = inquiry->job->candidate_path,
		.align_right = round->right,
		.other = round->before ? kl_pool_get(inquiry->pool, *round->before)->point : NULL,
		.ordinary = round->ordinary,
		.cpu = inquiry->cpu,
		.memory = &inquiry->memory,
	};
	int err = kl_subject_start(&subject, inquiry->job, round->point, &spec);

	inquiry->failed = (struct kl_failed_call){ .member = round->member[0],
						   .right = round->right };
	if (err == KL_EINVALID) {
		set_failure(inquiry, "launch", kl_pool_get(inquiry->pool, round->member[0]), NULL,
			    kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return kl_error_in(err, "candidate at '%s'", round->point->id);
	inquiry->nmet = 0;
	if (round->before)
		err = one_call(inquiry, subject, round, *round->before, round->right);
	for (size_t i = 0; i < round->n && !inquiry->class && err == 0; i++)
		if (!round->leave || !round->leave(round->ctx, i))
			err = one_call(inquiry, subject, round, round->member[i],
				       round->side ? round->side[i] : round->right);
	if (round->ordinary && inquiry->nmet && !inquiry->class && err == 0)
		err = check_around(inquiry, subject);
	return err;
}

bool kl_inquiry_passed(const struct kl_inquiry *inquiry, size_t member)
{
	return inquiry->passed[0][member] || inquiry->passed[1][member];
}

/* -- init and release ---------------------------------------------------- */

void kl_inquiry_init(struct kl_inquiry *inquiry, const struct kl_job *job, struct kl_pool *pool)
{
	size_t n = kl_pool_size(pool);
	struct kl_key master;

	/*
	 * in a live session the pool has another master key, so that poison reveals nothing about
	 * the inputs
	 */
	kl_key_master(&master, job->seed);
	*inquiry = (struct kl_inquiry){
		.job = job,
		.pool = pool,
		.order = kl_key_derive(&master, "order"),
		.poison = kl_key_derive(&master, "poison"),
		.cpu = -1,
		.judge = { .job = job },
		.redraw = { .job = job, .pool = pool, .cpu = -1 },
	};
	for (size_t i = 0; i < job->npoint; i++)
		kl_subject_memory_reserve(&inquiry->memory, job, &job->point[i]);
	inquiry->passed[0] = kl_calloc(n + 1, sizeof(bool));
	inquiry->passed[1] = kl_calloc(n + 1, sizeof(bool));
	inquiry->cost = kl_calloc(job->npoint + 1, sizeof(*inquiry->cost));
	inquiry->used = kl_calloc(job->npoint + 1, sizeof(*inquiry->used));
	inquiry->made = kl_calloc(job->npoint + 1, sizeof(*inquiry->made));
	inquiry->ns = kl_calloc(job->npoint + 1, sizeof(*inquiry->ns));
	inquiry->asked = kl_calloc(n + 1, sizeof(*inquiry->asked));
	inquiry->redraw.ns = inquiry->ns;
}

void kl_inquiry_release(struct kl_inquiry *inquiry)
{
	kl_judge_release(&inquiry->judge);
	kl_subject_memory_release(&inquiry->memory);
	json_decref(inquiry->failure);
	free(inquiry->passed[0]);
	free(inquiry->passed[1]);
	free(inquiry->met);
	free(inquiry->cost);
	free(inquiry->used);
	free(inquiry->made);
	free(inquiry->ns);
	free(inquiry->asked);
}
