/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/retrial.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "worker/measure/blocks.h"
#include "worker/measure/failure.h"
#include "worker/pool/drawn.h"
#include "worker/stage/first_call.h"
#include "worker/stage/search.h"

/* Most seeds to try for a further band; fewer if their calls would take longer than this. */
#define SEEDS 16
#define SEEDS_NS ((int64_t)2000000000)

/*
 * True if the failure followed a call at the larger point of a pair and depends on it, or on another
 * call between the two.
 */
static bool needs_pair(const struct kl_inquiry *inquiry)
{
	return inquiry->failed.after && inquiry->failed.after->drawn &&
	       !strcmp(inquiry->class, "nondeterministic");
}

/*
 * True if one call, or one after a call at the larger point of a pair, can repeat the failure. A hang
 * is not repeated, because it would take its whole time limit again.
 */
static bool is_worth_trying(const struct kl_inquiry *inquiry)
{
	static const char *const classes[] = { "fault", "wrong-all", "wrong-edge", "cheat",
					       "launch" };

	if (needs_pair(inquiry))
		return true;
	for (size_t i = 0; i < KL_ARRAY_SIZE(classes); i++)
		if (!strcmp(inquiry->class, classes[i]))
			return true;
	return false;
}

/* A failure that is tried again, in another job. */
struct again {
	const struct kl_inquiry *inquiry; /* in which the failure was found */
	const struct kl_member *member;
	bool pair; /* after a call at the job's first point */
};

/* One call like the one that failed. A replay of the seed begins with it, too. */
static int call_again(struct kl_inquiry *inquiry, const struct again *again)
{
	size_t index = kl_pool_find(inquiry->pool, again->member);
	size_t before = again->pair ? kl_search_before(inquiry, again->member->point) :
				      KL_POOL_NONE;
	const struct kl_round round = {
		.point = again->member->point,
		.right = again->inquiry->failed.right,
		.member = &index,
		.n = 1,
		.before = before == KL_POOL_NONE ? NULL : &before,
		.where = before == KL_POOL_NONE ? "" : KL_SEARCH_AFTER,
	};

	if (index == KL_POOL_NONE) /* a twin, for example, that could not be made this time */
		return 0;
	return kl_inquiry_round(inquiry, &round);
}

static void take_failure(struct kl_inquiry *inquiry, const struct kl_inquiry *again)
{
	json_decref(inquiry->failure);
	inquiry->failure = json_incref(again->failure);
	memcpy(inquiry->message, again->message, sizeof(inquiry->message));
}

/* Call once under a seed that names the call; if it fails alike, take what it shows. */
static int try_seed(struct kl_inquiry *inquiry, struct kl_job *job, const struct kl_member *member,
		    bool pair)
{
	const struct again again = { .inquiry = inquiry, .member = member, .pair = pair };
	/* the inquiry is released first: it reads the pool */
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(kl_inquiry_release) struct kl_inquiry other = { .pool = NULL };
	int err;

	job->seed = kl_first_call_seed(job, member, inquiry->failed.right);
	err = pair ? kl_pool_make_own(&pool, job) : kl_pool_make_one(&pool, job, member);
	if (err < 0)
		return err;
	kl_inquiry_init(&other, job, pool);
	other.cpu = inquiry->cpu;
	err = call_again(&other, &again);
	if (err < 0 || !other.class || strcmp(other.class, inquiry->class))
		return err;
	take_failure(inquiry, &other);
	return 1;
}

/*
 * The same at a drawn point: its replay has it under another name, alone or after the larger point
 * of its pair.
 */
static int try_drawn(struct kl_inquiry *inquiry, const struct kl_member *member, bool pair)
{
	KL_AUTO(kl_drawn_release) struct kl_drawn drawn = { .job.npoint = 0 };
	const struct kl_point *of[2] = { member->point - pair, member->point };
	struct kl_member moved = *member;
	int err = kl_drawn_again(&drawn, inquiry->job, pair ? of : of + 1, pair ? 2 : 1);

	moved.point = &drawn.job.point[pair];
	return err < 0 ? err : try_seed(inquiry, &drawn.job, &moved, pair);
}

/* Try a failure once more; 1 if it has shown itself again. */
static int try_again(struct kl_inquiry *inquiry, const struct kl_member *member)
{
	struct kl_job job = *inquiry->job;
	int err = 0;

	if (!member->point->drawn)
		return try_seed(inquiry, &job, member, false);
	if (!needs_pair(inquiry))
		err = try_drawn(inquiry, member, false);
	if (err == 0 && inquiry->failed.after)
		err = try_drawn(inquiry, member, true);
	return err;
}

/*
 * How many seeds to try. A further band is not the same for each: it can leave an input as it is.
 * The number follows from what the oracles and the kernel took at this point, so that other work on
 * the machine does not decide whether a seed is found.
 */
static int64_t seed_count(const struct kl_inquiry *inquiry, const struct kl_member *member)
{
	int64_t each = kl_pool_cost(inquiry->pool, member->point) +
		       inquiry->cost[member->point - inquiry->job->point];
	int64_t n = each > 0 ? SEEDS_NS / each : SEEDS;

	return !member->further || n < 1 ? 1 : n < SEEDS ? n : SEEDS;
}

/* Try one seed after the other, until one repeats the failure. */
static bool try_seeds(struct kl_inquiry *inquiry)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, inquiry->failed.member);
	int64_t n = seed_count(inquiry, member);
	int done = 0;

	for (int64_t i = 0; i < n && !done; i++)
		done = try_again(inquiry, member);
	if (done < 0)
		kl_error_clear();
	return done > 0;
}

/* Leave out what the next candidate is asked, too. */
static void hide_failure(struct kl_inquiry *inquiry)
{
	KL_AUTO(kl_freep) char *hidden = NULL;

	kl_failure_hide(inquiry->failure);
	/* the only number of a hang is its time limit */
	if (!strcmp(inquiry->class, "hang"))
		return;
	hidden = kl_failure_hidden(inquiry->message);
	snprintf(inquiry->message, sizeof(inquiry->message), "%s", hidden);
}

void kl_retrial(struct kl_inquiry *inquiry, json_t *notes)
{
	const struct kl_member *member;
	bool secret;

	if (!inquiry->class || inquiry->job->seed)
		return;
	if (is_worth_trying(inquiry) && try_seeds(inquiry))
		return;
	member = kl_pool_get(inquiry->pool, inquiry->failed.member);
	secret = kl_failure_is_secret(inquiry->job, member);
	if (secret)
		hide_failure(inquiry);
	kl_blocks_note(notes,
		       "the failure has no seed to replay it: it was not repeated by one call on "
		       "other inputs%s",
		       secret ? "; numbers are left out, because the next candidate is judged on "
				"the same inputs" :
				"");
}
