/* SPDX-License-Identifier: Apache-2.0 */
/* pareto - draws parents, as GEPA does, among the kernels that are fastest at some case */
#include "base/error.h"
#include "search/policy/experience.h"

static const struct kl_policy_param params[] = { KL_PARAMS_END };

/*
 * Return the speed of a kernel at a case, or 0 if the kernel is not correct. If the contract has no
 * cases, case 0 is the whole.
 */
static int64_t case_speed(const struct kl_experience *seen, int64_t ticket, size_t at)
{
	const struct kl_observation *observation = &seen->at[ticket];

	if (!kl_experience_is_correct(seen, ticket))
		return 0;
	return at < observation->ncase ? observation->case_ppm[at] : observation->speed_ppm;
}

static size_t case_count(const struct kl_experience *seen)
{
	return seen->at[0].ncase ? seen->at[0].ncase : 1;
}

static bool is_leading(const struct kl_experience *seen, int64_t ticket, size_t at)
{
	int64_t speed = case_speed(seen, ticket, at);

	for (int64_t i = 0; i < seen->n; i++)
		if (case_speed(seen, i, at) > speed)
			return false;
	return speed > 0;
}

/*
 * Return true if at each case at which a kernel is the fastest, another kernel that is not gone is
 * equally fast.
 */
static bool is_dominated(const struct kl_experience *seen, int64_t ticket, const bool *gone)
{
	for (size_t at = 0; at < case_count(seen); at++) {
		bool other = false;

		if (!is_leading(seen, ticket, at))
			continue;
		for (int64_t i = 0; i < seen->n && !other; i++)
			other = i != ticket && !gone[i] && is_leading(seen, i, at);
		if (!other)
			return false;
	}
	return true;
}

/*
 * Set gone[t] for dominated kernels, until no other kernel is dominated. Take the slowest first, of
 * equally fast ones the last.
 */
static void drop_dominated(bool *gone, const struct kl_experience *seen)
{
	for (;;) {
		int64_t worst = -1;

		for (int64_t i = 0; i < seen->n; i++)
			if (!gone[i] && is_dominated(seen, i, gone) &&
			    (worst < 0 || seen->at[i].speed_ppm <= seen->at[worst].speed_ppm))
				worst = i;
		if (worst < 0)
			return;
		gone[worst] = true;
	}
}

static void propose_child(struct kl_intent *out, const struct kl_experience *seen,
			  const struct kl_draws *draws)
{
	KL_AUTO(kl_freep) bool *gone = kl_calloc((size_t)seen->n, sizeof(*gone));
	KL_AUTO(kl_freep) double *weight = kl_calloc((size_t)seen->n, sizeof(*weight));
	struct kl_rng rng;

	drop_dominated(gone, seen);
	for (int64_t i = 0; i < seen->n; i++)
		for (size_t at = 0; !gone[i] && at < case_count(seen); at++)
			weight[i] += is_leading(seen, i, at);
	kl_draw_open(&rng, draws, "parent");
	kl_intent_edit(out, "mutator", (int64_t)kl_draw_weighted(&rng, weight, (size_t)seen->n));
	for (int64_t i = 0; i < seen->n; i++)
		if (!gone[i] && i != out->parent)
			kl_intent_show(out, "leader", i);
}

const struct kl_policy kl_policy_pareto = {
	.name = "pareto",
	.what = "GEPA: parents that are the fastest at some case, drawn by the number of cases",
	.param = params,
	.preset = kl_policy_no_preset,
	.horizon = kl_policy_sequence,
	.propose = propose_child,
};
