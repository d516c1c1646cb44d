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

#define RIGHT_BYTES ((size_t)1 << 30) /* memory for answers found right */

void kl_kept_release(struct kl_kept *kept)
{
	for (size_t i = 0; i < KL_MAX_ARGS; i++)
		free(kept->bytes[i]);
	*kept = (struct kl_kept){ 0 };
}

/* -- failures ----------------------------------------------------------- */

static void set_failure(struct kl_inquiry *inquiry, const char *class,
			const struct kl_member *member, const struct kl_mismatch *mismatch,
			const char *why)
{
	inquiry->class = class;
	inquiry->failure = kl_failure(inquiry->job, member, mismatch, why);
	kl_json_set_int(inquiry->failure, "draw", member->draw);
	snprintf(inquiry->message, sizeof(inquiry->message), "%s at '%s', band '%s': %s", class,
		 member->point->id, member->band, why);
}

static void fail_at(struct kl_inquiry *inquiry, const char *class, const struct kl_member *member,
		    const struct kl_mismatch *mismatch, const char *where, const char *why)
{
	char text[240], at[200];
	size_t n = 0;

	snprintf(text, sizeof(text), "%s%s", where, why);
	set_failure(inquiry, class, member, mismatch, text);
	at[0] = '\0';
	for (size_t i = 0; i < mismatch->naxes; i++)
		n += (size_t)snprintf(at + n, sizeof(at) - n, "%s%" PRId64, i ? "," : "",
				      mismatch->index[i]);
	snprintf(inquiry->message, sizeof(inquiry->message),
		 "%s at '%s', band '%s': %s[%s] is %s, wanted %s: %s", class, member->point->id,
		 member->band, inquiry->job->arg[mismatch->out].name, at, mismatch->got,
		 mismatch->wanted, text);
}

static void fail_call(struct kl_inquiry *inquiry, const struct kl_member *member,
		      const struct kl_call *end)
{
	char what[240];

	snprintf(what, sizeof(what), "the kernel %s", end->what);
	set_failure(inquiry, kl_failure_class(end->end), member, NULL, what);
}

/*
 * Poison the outputs again as before the call: an element that stays the same was never written.
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
		strncat(why, ": kept by a part of the content", sizeof(why) - strlen(why) - 1);
	fail_at(inquiry, "cheat", member, mismatch, round->where, why);
	return true;
}

static void fail_wrong(struct kl_inquiry *inquiry, struct kl_subject *subject,
		       const struct kl_round *round, size_t index,
		       const struct kl_mismatch *mismatch, const void *const *got, uint64_t poison)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, index);
	const char *class = kl_failure_class_wrong(mismatch);
	const char *why = mismatch->why;

	if (fail_replay(inquiry, round, member, mismatch, got))
		return;
	if (never_written(inquiry, subject, mismatch, round->point, poison))
		why = "never written: what stood there before the call stands there still";
	if (inquiry->passed[round->right][index]) {
		class = "nondeterministic";
		why = "this input was answered rightly before, and now is not";
	}
	fail_at(inquiry, class, member, mismatch, round->where, why);
}

/* -- one call ----------------------------------------------------------- */

/* A second line of defence: inputs are already mapped read-only in the child. */
static bool inputs_unchanged(struct kl_inquiry *inquiry, struct kl_subject *subject,
			     const struct kl_member *member)
{
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

/* Keep the first answer; a later one must be bitwise equal to it. */
static void same_bits(struct kl_inquiry *inquiry, struct kl_subject *subject,
		      const struct kl_round *round, const struct kl_member *member)
{
	for (size_t i = 0; i < inquiry->job->nargs; i++) {
		enum kl_dtype dtype = inquiry->job->arg[i].dtype;
		struct kl_mismatch mismatch = { .out = (int)i };
		size_t n = kl_arg_is_output(&inquiry->job->arg[i]) ? kl_subject_bytes(subject, i) :
								     0,
		       k = 0;
		const char *now, *then;

		if (!n)
			continue;
		now = kl_subject_buffer(subject, i);
		if (!round->kept->bytes[i]) {
			round->kept->bytes[i] = kl_malloc(n);
			kl_par_copy(round->kept->bytes[i], now, n);
			continue;
		}
		then = round->kept->bytes[i];
		if (kl_par_same(now, then, n))
			continue;
		while (now[k] == then[k])
			k++;
		k /= kl_dtype_bytes(dtype);
		mismatch.naxes = member->point->arg[i].naxes;
		kl_tensor_index(mismatch.index, member->point->arg[i].extent, mismatch.naxes, k);
		kl_tensor_print(mismatch.got, sizeof(mismatch.got), dtype, now, k);
		kl_tensor_print(mismatch.wanted, sizeof(mismatch.wanted), dtype, then, k);
		fail_at(inquiry, "nondeterministic", member, &mismatch, round->where,
			"the same input gave other bits in an earlier call");
		return;
	}
}

/* True if this answer is bitwise equal to one for the same member that was found right. */
static bool known_right(const struct kl_inquiry *inquiry, struct kl_subject *subject, size_t index,
			const void *const *got)
{
	const struct kl_answer *answer = &inquiry->right[index];
	bool some = false;

	for (size_t i = 0; i < inquiry->job->nargs; i++) {
		if (!got[i])
			continue;
		if (!answer->bytes[i] ||
		    !kl_par_same(got[i], answer->bytes[i], kl_subject_bytes(subject, i)))
			return false;
		some = true;
	}
	return some;
}

/* Remember a right answer, while there is memory for it. */
static void keep_right(struct kl_inquiry *inquiry, struct kl_subject *subject, size_t index,
		       const void *const *got)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, index);
	struct kl_answer *answer = &inquiry->right[index];
	size_t need = 0;

	for (size_t i = 0; i < inquiry->job->nargs; i++)
		need += got[i] && !answer->bytes[i] ? kl_subject_bytes(subject, i) : 0;
	if (need > RIGHT_BYTES - inquiry->right_bytes)
		return;
	inquiry->right_bytes += need;
	kl_answer_room(answer, inquiry->job, member);
	for (size_t i = 0; i < inquiry->job->nargs; i++)
		if (got[i])
			kl_par_copy(answer->bytes[i], got[i], kl_subject_bytes(subject, i));
}

/*
 * Like kl_compare(), but an answer that is bitwise equal to a known right one is accepted at once.
 */
static int judge_member(struct kl_mismatch *mismatch, struct kl_inquiry *inquiry,
			struct kl_subject *subject, size_t index, const void *const *got)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, index);
	int err;

	if (known_right(inquiry, subject, index, got)) {
		*mismatch = (struct kl_mismatch){ .out = -1, .elements = inquiry->judged[index] };
		return 0;
	}
	err = kl_compare(mismatch, inquiry->job, member, got);
	if (err == 0) {
		inquiry->judged[index] = mismatch->elements;
		keep_right(inquiry, subject, index, got);
	}
	return err;
}

/*
 * The poison of the next call of a member. It depends on nothing that happened at other points or
 * to other members, so that a replay of one call can repeat it.
 */
static uint64_t draw_poison(struct kl_inquiry *inquiry, size_t index)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, index);
	int64_t made = inquiry->made[member->point - inquiry->job->point];
	struct kl_key key;
	struct kl_rng rng;
	char label[128];

	snprintf(label, sizeof(label), "%s/%s/%d", member->point->id, member->band, member->draw);
	key = kl_key_derive(&inquiry->poison, label);
	kl_rng_key(&rng, &key, (uint64_t)inquiry->asked[index]++);
	/*
	 * every third call at a point gets plausible poison, so that calls made in pairs do not
	 * always get the same kind
	 */
	return (kl_rng_u64(&rng) & ~(uint64_t)1) | (made % 3 == 2);
}

static int one_call(struct kl_inquiry *inquiry, struct kl_subject *subject,
		    const struct kl_round *round, size_t index)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, index);
	const void *got[KL_MAX_ARGS] = { NULL };
	uint64_t poison = draw_poison(inquiry, index);
	struct kl_mismatch mismatch;
	struct kl_call end;
	int err;

	inquiry->calls++;
	err = kl_trial_kernel(&end, subject, inquiry->job, member->input, poison);
	if (err < 0)
		return err;
	if (end.end != KL_CALL_OK) {
		fail_call(inquiry, member, &end);
		return 0;
	}
	for (size_t i = 0; i < inquiry->job->nargs; i++)
		if (kl_arg_is_output(&inquiry->job->arg[i]))
			got[i] = kl_subject_buffer(subject, i);
	err = judge_member(&mismatch, inquiry, subject, index, got);
	if (err < 0 && err != KL_ENO)
		return err;
	inquiry->elements += mismatch.elements;
	if (mismatch.margin > inquiry->margin)
		inquiry->margin = mismatch.margin;
	if (!inputs_unchanged(inquiry, subject, member))
		return 0;
	if (err == KL_ENO) {
		fail_wrong(inquiry, subject, round, index, &mismatch, got, poison);
		return 0;
	}
	inquiry->passed[round->right][index] = true;
	if (index == round->watch && round->kept && inquiry->job->deterministic)
		same_bits(inquiry, subject, round, member);
	return 0;
}

int kl_inquiry_round(struct kl_inquiry *inquiry, const struct kl_round *round)
{
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	struct kl_subject_spec spec = {
		.kind = KL_SUBJECT_KERNEL,
		.so = inquiry->job->candidate_so,
		.entry = inquiry->job->entry,
		.align_right = round->right,
		.cpu = -1,
	};
	size_t at = (size_t)(round->point - inquiry->job->point);
	int err = kl_subject_start(&subject, inquiry->job, round->point, &spec);

	if (err == KL_EINVALID) {
		set_failure(inquiry, "launch", kl_pool_get(inquiry->pool, round->member[0]), NULL,
			    kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return kl_error_in(err, "candidate at '%s'", round->point->id);
	inquiry->nmet = 0;
	for (size_t i = 0; i < round->n && !inquiry->class && err == 0; i++) {
		int64_t start = kl_clock_ns(), took;

		if (round->leave && round->leave(round->ctx, i))
			continue;
		inquiry->failed = (struct kl_failed_call){
			.member = round->member[i],
			.right = round->right,
			.made = inquiry->made[at],
			.asked = inquiry->asked[round->member[i]],
		};
		err = one_call(inquiry, subject, round, round->member[i]);
		inquiry->met[inquiry->nmet++] = kl_pool_get(inquiry->pool, round->member[i]);
		inquiry->made[at]++;
		took = kl_clock_ns() - start;
		if (!inquiry->cost[at] || took < inquiry->cost[at])
			inquiry->cost[at] = took;
	}
	return err;
}

/* -- life ---------------------------------------------------------------- */

void kl_inquiry_init(struct kl_inquiry *inquiry, const struct kl_job *job, struct kl_pool *pool,
		     size_t most)
{
	size_t n = kl_pool_size(pool);
	struct kl_key master;

	/*
	 * in a live session another key than the pool's, so that poison reveals nothing of inputs
	 */
	kl_key_master(&master, job->seed);
	*inquiry = (struct kl_inquiry){
		.job = job,
		.pool = pool,
		.order = kl_key_derive(&master, "order"),
		.poison = kl_key_derive(&master, "poison"),
	};
	inquiry->passed[0] = kl_calloc(n + 1, sizeof(bool));
	inquiry->passed[1] = kl_calloc(n + 1, sizeof(bool));
	inquiry->right = kl_calloc(n + 1, sizeof(*inquiry->right));
	inquiry->judged = kl_calloc(n + 1, sizeof(*inquiry->judged));
	inquiry->met = kl_calloc(most + 1, sizeof(*inquiry->met));
	inquiry->cost = kl_calloc(job->npoint + 1, sizeof(*inquiry->cost));
	inquiry->made = kl_calloc(job->npoint + 1, sizeof(*inquiry->made));
	inquiry->asked = kl_calloc(n + 1, sizeof(*inquiry->asked));
}

void kl_inquiry_release(struct kl_inquiry *inquiry)
{
	for (size_t i = 0; inquiry->pool && i < kl_pool_size(inquiry->pool); i++)
		kl_answer_release(&inquiry->right[i]);
	json_decref(inquiry->failure);
	free(inquiry->right);
	free(inquiry->judged);
	free(inquiry->passed[0]);
	free(inquiry->passed[1]);
	free(inquiry->met);
	free(inquiry->cost);
	free(inquiry->made);
	free(inquiry->asked);
}
