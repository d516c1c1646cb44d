/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/estimate.h"

#include <string.h>

#include "rewrite/brief.h"
#include "walk/walk.h"

/* what a lineage of one kernel has: the shipped ones lie between */
#define FEW_STEPS 3
#define MANY_STEPS 12
/* a reply names the step and writes functions, or thinks aloud and writes the file */
#define SHORT_REPLY 400
#define LONG_REPLY 6000
#define BYTES_PER_TOKEN 3
/*
 * a turn beside the sources: facts, what was done; and as the next one tells it, what the gate said
 */
#define TURN 2500
#define EVIDENCE 3000

static int64_t smaller_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* --- assumptions --------------------------------------------------------------- */

static int estimate_prompts(struct kl_estimate *e, const struct kl_estimate_of *of)
{
	static const char *const name[] = { "deoptimize", "rederive", "traits" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(name); i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
		int err = kl_brief_system(&texts, of->repo, name[i], of->expert, of->mechanisms);

		if (err < 0)
			return err;
		e->prompt_bytes[i] = TURN;
		for (size_t k = 0; k < texts.n; k++)
			e->prompt_bytes[i] += (int64_t)strlen(texts.v[k]);
	}
	return 0;
}

int kl_estimate_assume(struct kl_estimate *e, const struct kl_estimate_of *of)
{
	*e = (struct kl_estimate){
		.proposes = kl_rewriters_model(of->rewriters) != NULL,
		.derives = of->rederive != NULL,
		.steps = { smaller_of(FEW_STEPS, of->step_limit),
			   smaller_of(MANY_STEPS, of->step_limit) },
		.attempts = { 1, 1 + KL_WALK_REPAIRS },
	};
	if (e->proposes)
		e->rejections[1] = of->rejection_limit;
	for (size_t i = 0; i < of->expert->nfile; i++)
		e->state_bytes += (int64_t)of->expert->file[i].len;
	e->reply_tokens[0] = SHORT_REPLY + e->state_bytes / BYTES_PER_TOKEN / 4;
	e->reply_tokens[1] = LONG_REPLY + e->state_bytes / BYTES_PER_TOKEN;
	return estimate_prompts(e, of);
}

/* --- sums ------------------------------------------------------------------------- */

/* `n` conversations of `turns` requests, each with all before it */
static void add_conversations(struct kl_estimate *e, int end, const struct kl_session *session,
			      int64_t n, int64_t turns, int64_t bytes)
{
	for (int64_t turn = 0; turn < turns; turn++) {
		int64_t all = bytes + turn * (e->reply_tokens[end] * BYTES_PER_TOKEN + EVIDENCE);
		int64_t cost[2], spare;

		/*
		 * the most that is reserved is more than what can be: there every byte is a token
		 */
		kl_session_cost(&cost[0], &spare, session, all, e->reply_tokens[end]);
		kl_session_cost(&spare, &cost[1], session, all / BYTES_PER_TOKEN,
				e->reply_tokens[end]);
		e->nano[end] += n * cost[end];
		e->requests[end] += n;
	}
}

void kl_estimate_walk(struct kl_estimate *e, const struct kl_session *session)
{
	for (int end = 0; end < 2; end++) {
		int64_t steps = e->steps[end], states = steps + 1,
			spare = e->rejections[end] % states;
		int64_t turns = 1 + e->rejections[end] / states;

		e->nano[end] = e->requests[end] = 0;
		if (e->proposes) { /* the last state's answer is that nothing is left */
			int64_t bytes = e->prompt_bytes[0] + e->state_bytes;

			add_conversations(e, end, session, states - spare, turns, bytes);
			add_conversations(e, end, session, spare, turns + 1, bytes);
		}
		if (e->derives)
			add_conversations(e, end, session, steps, e->attempts[end],
					  e->prompt_bytes[1] + e->state_bytes);
		if (end) /* every step may claim a trait */
			add_conversations(e, end, session, steps, 1,
					  e->prompt_bytes[2] + e->state_bytes);
	}
}
