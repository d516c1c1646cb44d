/* SPDX-License-Identifier: Apache-2.0 */
/* refine - makes each candidate from the last correct kernel, and shows the last k results */
#include "search/policy/experience.h"

enum { LAST, REPAIRS };

static const struct kl_policy_param params[] = {
	KL_PARAM_COUNT("k", "5", 0, 100, "results that are shown, the last ones"),
	KL_PARAM_COUNT("repairs", "0", 0, 10, "further tries of a candidate that failed"),
	KL_PARAMS_END,
};

static int64_t last_correct(const struct kl_experience *seen)
{
	int64_t last = seen->n - 1;

	while (last > 0 && !kl_experience_is_correct(seen, last))
		last--;
	return last;
}

static void propose_step(struct kl_intent *out, const struct kl_experience *seen,
			 const struct kl_draws *draws)
{
	int64_t first = seen->n - seen->setup->value[LAST];

	kl_intent_edit(out, "coder", last_correct(seen));
	out->tries = 1 + seen->setup->value[REPAIRS];
	for (int64_t i = first > 1 ? first : 1; i < seen->n; i++)
		kl_intent_show(out, "result", i);
}

const struct kl_policy kl_policy_refine = {
	.name = "refine",
	.what = "each candidate is made from the last correct one, with the last results in sight",
	.param = params,
	.preset = kl_policy_no_preset,
	.horizon = kl_policy_sequence,
	.propose = propose_step,
};
