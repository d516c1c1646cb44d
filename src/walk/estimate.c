/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/estimate.h"

#include <string.h>

#include "rewrite/brief.h"
#include "walk/walk.h"

/* assumed number of steps of a lineage: lower and upper bound */
#define FEW_STEPS 3
#define MANY_STEPS 12
/* tokens of a reply, without its code */
#define SHORT_REPLY 400 /* tokens of a reply that only names a step */
#define LONG_REPLY 6000 /* tokens of a reply that also reasons */
#define BYTES_PER_TOKEN 3
#define TURN 2500     /* bytes of facts and history in the first turn */
#define EVIDENCE 3000 /* bytes of the gate's findings in each later turn */

static int64_t smaller_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* --- assumptions --------------------------------------------------------------- */

static int estimate_prompts(struct kl_estimate *estimate, const struct kl_estimate_of *of)
{
	static const char *const name[] = { "deoptimize", "rederive", "traits" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(name); i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
		int err = kl_brief_system(&texts, of->repo, name[i], of->expert, of->mechanisms);

		if (err < 0)
			return err;
		estimate->prompt_bytes[i] = TURN;
		for (size_t k = 0; k < texts.n; k++)
			estimate->prompt_bytes[i] += (int64_t)strlen(texts.v[k]);
	}
	return 0;
}

int kl_estimate_assume(struct kl_estimate *estimate, const struct kl_estimate_of *of)
{
	*estimate = (struct kl_estimate){
		.proposes = kl_rewriters_model(of->rewriters) != NULL,
		.derives = of->rederive != NULL,
		.steps = { smaller_of(FEW_STEPS, of->step_limit),
			   smaller_of(MANY_STEPS, of->step_limit) },
		.attempts = { 1, 1 + KL_WALK_REPAIRS },
	};
	if (estimate->proposes)
		estimate->rejections[1] = of->rejection_limit;
	for (size_t i = 0; i < of->expert->nfile; i++)
		estimate->state_bytes += (int64_t)of->expert->file[i].len;
	estimate->reply_tokens[0] = SHORT_REPLY + estimate->state_bytes / BYTES_PER_TOKEN / 4;
	estimate->reply_tokens[1] = LONG_REPLY + estimate->state_bytes / BYTES_PER_TOKEN;
	return estimate_prompts(estimate, of);
}

/* --- sums ------------------------------------------------------------------------- */

/* Add `n` conversations of `turns` requests each. A request includes all turns before it. */
static void add_conversations(struct kl_estimate *estimate, int bound,
			      const struct kl_session *session, int64_t n, int64_t turns,
			      int64_t bytes)
{
	for (int64_t turn = 0; turn < turns; turn++) {
		int64_t all = bytes +
			      turn * (estimate->reply_tokens[bound] * BYTES_PER_TOKEN + EVIDENCE);
		int64_t cost[2], spare;

		/*
		 * For the upper bound kl_session_cost() counts each byte as a token, as
		 * reservations do. That exceeds any real cost, so pass the estimated number of
		 * tokens in place of the bytes.
		 */
		kl_session_cost(&cost[0], &spare, session, all, estimate->reply_tokens[bound]);
		kl_session_cost(&spare, &cost[1], session, all / BYTES_PER_TOKEN,
				estimate->reply_tokens[bound]);
		estimate->nano[bound] += n * cost[bound];
		estimate->requests[bound] += n;
	}
}

void kl_estimate_walk(struct kl_estimate *estimate, const struct kl_session *session)
{
	for (int bound = 0; bound < 2; bound++) {
		int64_t steps = estimate->steps[bound], states = steps + 1,
			spare = estimate->rejections[bound] % states;
		int64_t turns = 1 + estimate->rejections[bound] / states;

		estimate->nano[bound] = estimate->requests[bound] = 0;
		/* the model is also asked at the last state, where it finds no more steps */
		if (estimate->proposes) {
			int64_t bytes = estimate->prompt_bytes[0] + estimate->state_bytes;

			add_conversations(estimate, bound, session, states - spare, turns, bytes);
			add_conversations(estimate, bound, session, spare, turns + 1, bytes);
		}
		if (estimate->derives)
			add_conversations(estimate, bound, session, steps,
					  estimate->attempts[bound],
					  estimate->prompt_bytes[1] + estimate->state_bytes);
		/* upper bound: assume that every step claims a trait, which must be audited */
		if (bound)
			add_conversations(estimate, bound, session, steps, 1,
					  estimate->prompt_bytes[2] + estimate->state_bytes);
	}
}
