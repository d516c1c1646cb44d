/* SPDX-License-Identifier: Apache-2.0 */
/* command - a user's own agent: it is shown the best kernel and all results */
#include "search/policy/experience.h"

enum { TRIES, RESULTS };

static const struct kl_policy_param params[] = {
	KL_PARAM_COUNT("tries", "1", 1, 10, "tries of a candidate before its ticket ends"),
	KL_PARAM_COUNT("results", "1000", 0, 100000, "results that are shown, the last ones"),
	KL_PARAMS_END,
};

static void propose_step(struct kl_intent *out, const struct kl_experience *seen,
			 const struct kl_draws *draws)
{
	int64_t first = seen->n - seen->setup->value[RESULTS];

	kl_intent_edit(out, "agent", kl_experience_best(seen));
	out->tries = seen->setup->value[TRIES];
	for (int64_t i = first > 1 ? first : 1; i < seen->n; i++)
		kl_intent_show(out, "result", i);
}

const struct kl_policy kl_policy_command = {
	.name = "command",
	.what = "your own agent, which is shown the best kernel and all results",
	.param = params,
	.preset = kl_policy_no_preset,
	.horizon = kl_policy_sequence,
	.propose = propose_step,
};
