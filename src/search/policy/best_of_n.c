/* SPDX-License-Identifier: Apache-2.0 */
/* best_of_n - the control: independent candidates, all made from the root */
#include "search/policy/experience.h"

static const struct kl_policy_param params[] = { KL_PARAMS_END };

/* Return the horizon of a ticket: the root is all that it may use. */
static int64_t root_alone(const struct kl_setup *setup, int64_t ticket)
{
	return 0;
}

static void propose_sample(struct kl_intent *out, const struct kl_experience *seen,
			   const struct kl_draws *draws)
{
	kl_intent_edit(out, "coder", 0);
}

const struct kl_policy kl_policy_best_of_n = {
	.name = "best-of-n",
	.what = "independent candidates from the root: the control that every search must beat",
	.param = params,
	.preset = kl_policy_no_preset,
	.horizon = root_alone,
	.propose = propose_sample,
};
