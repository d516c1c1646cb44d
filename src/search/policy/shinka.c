/* SPDX-License-Identifier: Apache-2.0 */
/* shinka - ShinkaEvolve: prefers parents that are fast and have few children */
#include "base/error.h"
#include "search/policy/experience.h"
#include "search/policy/number.h"

enum { LAMBDA, ARCHIVE, ISLANDS, DIFF, FULL, CROSS };

static const struct kl_policy_param params[] = {
	KL_PARAM_DECIMAL("lambda", "10", 0, 1000, "how sharply faster parents are preferred"),
	KL_PARAM_COUNT("archive", "40", 1, 10000, "kernels that can be parents, the fastest"),
	KL_PARAM_COUNT("islands", "1", 1, 100, "islands; nothing migrates"),
	KL_PARAM_DECIMAL("diff", "0.6", 0, 1000, "weight of edits"),
	KL_PARAM_DECIMAL("full", "0.3", 0, 1000, "weight of whole kernels"),
	KL_PARAM_DECIMAL("cross", "0.1", 0, 1000, "weight of kernels made from two"),
	KL_PARAMS_END,
};

static const struct kl_policy_preset presets[] = {
	{ "paper", "islands=1", "one archive" },
	{ "code", "islands=2", "as released: each of two islands draws from its own part of it" },
	{ .name = NULL },
};

#define LEAST_DEVIATION 1e-6

/*
 * Return true if a kernel is on an island. The root is on all islands, any other kernel on one that
 * is drawn.
 */
static bool is_on_island(const struct kl_experience *seen, int64_t ticket, size_t island)
{
	struct kl_draws draws = { .key = seen->setup->key, .ticket = ticket };
	size_t islands = (size_t)seen->setup->value[ISLANDS];

	return !ticket || islands == 1 || kl_draw_below(&draws, "island", islands) == island;
}

/*
 * Put into `out` all correct kernels, the fastest first; of equally fast ones the first. Return how
 * many of them the archive has room for.
 */
static size_t rank_archive(int64_t *out, const struct kl_experience *seen)
{
	size_t n = 0, most = (size_t)seen->setup->value[ARCHIVE];

	for (int64_t i = 0; i < seen->n; i++) {
		size_t at = n;

		if (!kl_experience_is_correct(seen, i))
			continue;
		for (; at > 0 && seen->at[out[at - 1]].speed_ppm < seen->at[i].speed_ppm; at--)
			out[at] = out[at - 1];
		out[at] = i;
		n++;
	}
	return n < most ? n : most;
}

/*
 * Put into `out` the kernels of the archive that are on an island, in order of tickets, or the
 * fastest kernel if none is. Return their number, which is at least 1.
 */
static size_t island_members(int64_t *out, const struct kl_experience *seen, size_t island)
{
	KL_AUTO(kl_freep) int64_t *archive = kl_calloc((size_t)seen->n, sizeof(*archive));
	size_t all = rank_archive(archive, seen), n = 0;

	for (int64_t i = 0; i < seen->n; i++)
		for (size_t j = 0; j < all; j++)
			if (archive[j] == i && is_on_island(seen, i, island))
				out[n++] = i;
	if (!n)
		out[n++] = archive[0];
	return n;
}

static int64_t count_children(const struct kl_experience *seen, int64_t parent)
{
	int64_t children = 0;

	for (int64_t i = 1; i < seen->n; i++)
		children += seen->at[i].parent == parent;
	return children;
}

/*
 * Set weight[i] = sigmoid(lambda (speed - median) / deviation) / (1 + children) for each member.
 * The deviation is the median absolute deviation of the speeds.
 */
static void weigh_parents(double *weight, const struct kl_experience *seen, const int64_t *member,
			  size_t n)
{
	KL_AUTO(kl_freep) double *sorted = kl_calloc(n, sizeof(*sorted));
	double lambda = kl_setup_decimal(seen->setup, LAMBDA), median, deviation;

	for (size_t i = 0; i < n; i++)
		sorted[i] = kl_experience_speed(seen, member[i]);
	median = kl_number_median(sorted, n);
	for (size_t i = 0; i < n; i++)
		sorted[i] = sorted[i] > median ? sorted[i] - median : median - sorted[i];
	deviation = kl_number_median(sorted, n);
	deviation = deviation > LEAST_DEVIATION ? deviation : LEAST_DEVIATION;
	for (size_t i = 0; i < n; i++) {
		double speed = kl_experience_speed(seen, member[i]);

		weight[i] = kl_number_sigmoid(lambda * (speed - median) / deviation) /
			    (double)(1 + count_children(seen, member[i]));
	}
}

static const char *draw_form(const struct kl_experience *seen, size_t n,
			     const struct kl_draws *draws)
{
	static const char *const form[] = { "diff", "full", "cross" };
	double weight[3];
	struct kl_rng rng;

	for (int i = 0; i < 3; i++)
		weight[i] = kl_setup_decimal(seen->setup, DIFF + i);
	if (n < 2) /* a cross needs two kernels */
		weight[2] = 0;
	kl_draw_open(&rng, draws, "form");
	return form[kl_draw_weighted(&rng, weight, 3)];
}

static void propose_child(struct kl_intent *out, const struct kl_experience *seen,
			  const struct kl_draws *draws)
{
	KL_AUTO(kl_freep) int64_t *member = kl_calloc((size_t)seen->n, sizeof(*member));
	KL_AUTO(kl_freep) double *weight = kl_calloc((size_t)seen->n, sizeof(*weight));
	size_t island = kl_draw_below(draws, "island", (size_t)seen->setup->value[ISLANDS]);
	size_t n = island_members(member, seen, island), parent, other;
	struct kl_rng rng;

	weigh_parents(weight, seen, member, n);
	kl_draw_open(&rng, draws, "parent");
	parent = kl_draw_weighted(&rng, weight, n);
	kl_intent_edit(out, "mutator", member[parent]);
	out->form = draw_form(seen, n, draws);
	if (out->form[0] != 'c')
		return;
	other = kl_draw_below(draws, "other", n - 1);
	kl_intent_show(out, "other", member[other + (other >= parent)]);
}

const struct kl_policy kl_policy_shinka = {
	.name = "shinka",
	.what = "ShinkaEvolve: parents by a sigmoid of their speed, those with few children first",
	.param = params,
	.preset = presets,
	.horizon = kl_policy_sequence,
	.propose = propose_child,
};
