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

/*
 * For a member of a further band (pool/further.h), try at most SEEDS seeds, and fewer if their
 * calls would take longer than SEEDS_NS.
 */
#define SEEDS 48
#define SEEDS_NS ((int64_t)2000000000)

/*
 * Return true if the failure came after a call at the larger point of a pair and depends on that
 * call or on another call in between.
 */
static bool needs_pair(const struct kl_inquiry *inquiry)
{
	return inquiry->failed.after && inquiry->failed.after->drawn &&
	       !strcmp(inquiry->class, "nondeterministic");
}

/*
 * Return true if the failure can show again in a single call, or in a call that follows a call at
 * the larger point of a pair. A hang is not repeated: it would take its whole time limit again.
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

/* A failure that is to be repeated, in another job. */
struct again {
	const struct kl_inquiry *inquiry; /* the inquiry that found the failure */
	const struct kl_member *member;   /* the member that failed */
	bool pair; /* first call the kernel at the larger point of the pair */
};

/* Make one call like the call that failed. A replay of the seed begins with the same call. */
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

	/* not every member, such as a twin, can be made under this seed */
	if (index == KL_POOL_NONE)
		return 0;
	return kl_inquiry_round(inquiry, &round);
}

static void take_failure(struct kl_inquiry *inquiry, const struct kl_inquiry *again)
{
	json_decref(inquiry->failure);
	inquiry->failure = json_incref(again->failure);
	memcpy(inquiry->message, again->message, sizeof(inquiry->message));
}

/*
 * Make the failed call again under a new seed that names it. If it fails with the same class, put
 * the new failure in place of the first. Return 1 if so, 0 if not, or an error.
 */
static int try_seed(struct kl_inquiry *inquiry, struct kl_job *job, const struct kl_member *member,
		    bool pair)
{
	const struct again again = { .inquiry = inquiry, .member = member, .pair = pair };
	/* declared before `other`, so that it is released after `other`, which reads the pool */
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(kl_inquiry_release) struct kl_inquiry other = { .pool = NULL };
	int err;

	job->seed = kl_first_call_seed(job, member, inquiry->failed.right);
	err = pair ? kl_pool_make_own(&pool, job, NULL) : kl_pool_make_one(&pool, job, member);
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
 * Do the same as try_seed(), but for a member at a drawn point. The new job has the points of a
 * replay: only the member's point or, if `pair`, the larger point of the pair too, both under new
 * names.
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

/* Try once to repeat a failure. Return 1 if it was repeated, 0 if not, negative on error. */
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

/* Return the time in ns that the oracles and the kernel need for a call at a point. */
static int64_t call_cost(const struct kl_inquiry *inquiry, const struct kl_point *pt)
{
	return kl_pool_cost(inquiry->pool, pt) + inquiry->cost[pt - inquiry->job->point];
}

/*
 * Return the number of seeds to try. It is more than 1 only for a further band, since the seed
 * decides which inputs such a band changes, and how. The number is computed from the cost of the
 * oracles and the kernel at this point, not from the time passed, so that other work on the machine
 * does not decide whether a seed is found.
 */
static int64_t seed_count(const struct kl_inquiry *inquiry, const struct kl_member *member)
{
	const struct kl_point *after = inquiry->failed.after;
	int64_t each = call_cost(inquiry, member->point), n;

	/*
	 * the pool for a pair has all members of both points; the live pool has at least that many
	 */
	if (after && after->drawn)
		each = (each + call_cost(inquiry, after)) * (int64_t)kl_pool_size(inquiry->pool);
	n = each > 0 ? SEEDS_NS / each : SEEDS;

	return !member->further || n < 1 ? 1 : n < SEEDS ? n : SEEDS;
}

/* Try seeds until one repeats the failure. Return true if one did. */
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

/* Remove the numbers from the failure, because the next candidate is judged on the same inputs. */
static void hide_failure(struct kl_inquiry *inquiry)
{
	KL_AUTO(kl_freep) char *hidden = NULL;

	kl_failure_hide(inquiry->failure);
	/* the only number in the message of a hang is the time limit */
	if (!strcmp(inquiry->class, "hang"))
		return;
	hidden = kl_failure_hidden(inquiry->message);
	snprintf(inquiry->message, sizeof(inquiry->message), "%s", hidden);
}

void kl_retrial(struct kl_inquiry *inquiry, json_t *notes)
{
	const struct kl_member *member;
	bool secret, tried;

	if (!inquiry->class || inquiry->job->seed)
		return;
	tried = is_worth_trying(inquiry);
	if (tried && try_seeds(inquiry))
		return;
	member = kl_pool_get(inquiry->pool, inquiry->failed.member);
	secret = kl_failure_is_secret(inquiry->job, member);
	if (secret)
		hide_failure(inquiry);
	kl_blocks_note(notes, "the failure has no seed to replay it, because %s%s",
		       tried ? "no call on other inputs repeated it" :
			       "a failure of this class is not tried again",
		       secret ? "; numbers are left out, because the next candidate is judged on "
				"the same inputs" :
				"");
}
