/* SPDX-License-Identifier: Apache-2.0 */
/* climb - hill climbing: each candidate is made from the best kernel so far */
#include "search/policy/experience.h"

enum { DECIDE, REPAIRS };
enum { BY_CENTRE, BY_LOW };

static const char *const decide_words[] = { "centre", "low", NULL };

static const struct kl_policy_param params[] = {
	KL_PARAM_WORD("decide", "centre", decide_words,
		      "compare speeds by their centre or by the lower bound of their interval"),
	KL_PARAM_COUNT("repairs", "0", 0, 10, "further tries of a candidate that failed"),
	KL_PARAMS_END,
};

/*
 * Return the correct candidate whose speed has the greatest lower bound, or the root if no lower
 * bound is above the root's speed.
 */
static int64_t best_by_low(const struct kl_experience *seen)
{
	int64_t best = 0, most = seen->at[0].speed_ppm;

	for (int64_t i = 1; i < seen->n; i++)
		if (kl_experience_is_correct(seen, i) && seen->at[i].low_ppm > most) {
			best = i;
			most = seen->at[i].low_ppm;
		}
	return best;
}

static void propose_step(struct kl_intent *out, const struct kl_experience *seen,
			 const struct kl_draws *draws)
{
	bool by_low = seen->setup->value[DECIDE] == BY_LOW;

	kl_intent_edit(out, "coder", by_low ? best_by_low(seen) : kl_experience_best(seen));
	out->tries = 1 + seen->setup->value[REPAIRS];
}

const struct kl_policy kl_policy_climb = {
	.name = "climb",
	.what = "hill climbing: each candidate is made from the best one so far",
	.param = params,
	.preset = kl_policy_no_preset,
	.horizon = kl_policy_sequence,
	.propose = propose_step,
};
