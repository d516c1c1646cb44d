/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/retrial.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "worker/measure/blocks.h"
#include "worker/measure/failure.h"
#include "worker/stage/first_call.h"

/*
 * True if one call can repeat the failure: its class does not depend on other calls. A hang is not
 * repeated, because it would take its whole time limit again.
 */
static bool is_worth_trying(const struct kl_inquiry *inquiry)
{
	static const char *const classes[] = { "fault", "wrong-all", "wrong-edge", "cheat",
					       "launch" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(classes); i++)
		if (!strcmp(inquiry->class, classes[i]))
			return true;
	return false;
}

/* One call like the one that failed. A replay of the seed begins with it, too. */
static int call_again(struct kl_inquiry *again, const struct kl_failed_call *failed,
		      const struct kl_member *member)
{
	size_t index = kl_pool_find(again->pool, member);
	const struct kl_round round = {
		.point = member->point,
		.right = failed->right,
		.member = &index,
		.n = 1,
		.where = "",
	};

	if (index == KL_POOL_NONE) /* the member is a twin, and none could be made this time */
		return 0;
	return kl_inquiry_round(again, &round);
}

static void take_failure(struct kl_inquiry *inquiry, const struct kl_inquiry *again)
{
	json_decref(inquiry->failure);
	inquiry->failure = json_incref(again->failure);
	memcpy(inquiry->message, again->message, sizeof(inquiry->message));
}

static int try_again(struct kl_inquiry *inquiry, const struct kl_job *job, bool *same)
{
	const struct kl_member *member = kl_pool_get(inquiry->pool, inquiry->failed.member);
	/* the inquiry is released first: it reads the pool */
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(kl_inquiry_release) struct kl_inquiry again = { .pool = NULL };
	int err = kl_pool_make_one(&pool, job, member);

	if (err < 0)
		return err;
	kl_inquiry_init(&again, job, pool);
	again.cpu = inquiry->cpu;
	err = call_again(&again, &inquiry->failed, member);
	*same = err == 0 && again.class && !strcmp(again.class, inquiry->class);
	if (*same)
		take_failure(inquiry, &again);
	return err;
}

void kl_retrial(struct kl_inquiry *inquiry, json_t *notes)
{
	KL_AUTO(kl_freep) char *hidden = NULL;
	struct kl_job job = *inquiry->job;
	bool same = false;

	if (!inquiry->class || job.seed)
		return;
	job.seed = kl_first_call_seed(inquiry->pool, inquiry->failed.member, inquiry->failed.right);
	if (is_worth_trying(inquiry) && try_again(inquiry, &job, &same) < 0)
		kl_error_clear();
	if (same)
		return;
	kl_failure_hide(inquiry->failure);
	/* the only number of a hang is its time limit */
	if (strcmp(inquiry->class, "hang")) {
		hidden = kl_failure_hidden(inquiry->message);
		snprintf(inquiry->message, sizeof(inquiry->message), "%s", hidden);
	}
	kl_blocks_note(
		notes,
		"the failure has no seed to replay it: it was not repeated by one call on "
		"other inputs; numbers are left out, because the next candidate is judged on "
		"the same inputs");
}
