/* SPDX-License-Identifier: Apache-2.0 */
#include "search/policy/adaexplore.h"

#include <string.h>

#include "base/error.h"
#include "search/policy/memory.h"
#include "search/policy/number.h"

static const char *const learn_words[] = { "none", "each", NULL };

static const struct kl_policy_param params[] = {
	KL_PARAM_DECIMAL("c", "0.3", 0, 100, "weight of exploration"),
	KL_PARAM_DECIMAL("ratio", "1", 0, 100, "weight of new children, as a factor of c"),
	KL_PARAM_DECIMAL("alpha", "0", 0, 1, "weight of a subtree's maximum against its mean"),
	KL_PARAM_DECIMAL("p_large", "0.2", 0, 1, "probability of a large step"),
	KL_PARAM_COUNT("limit", "2", 0, 1000, "small children of a node before a large step"),
	KL_PARAM_COUNT("pool", "5", 1, 100, "kernels that a large step sees"),
	KL_PARAM_COUNT("extra", "0", 0, 100, "most of them from other parts of the tree"),
	KL_PARAM_DECIMAL("temperature", "1", 0, 1000, "of the draw of those, by speed"),
	KL_PARAM_DECIMAL("geometric", "0.6", 0, 1, "of the draw of their number"),
	KL_PARAM_COUNT("rounds", "5", 1, 100, "ancestors that a small step sees"),
	KL_PARAM_COUNT("rules", "3", 1, 1000, "failures before a rule is shown"),
	KL_PARAM_WORD("learn", "none", learn_words, "write rules: none, or after each failure"),
	KL_PARAMS_END,
};

/* The released program has other values than the paper for these parameters. */
static const struct kl_policy_preset presets[] = {
	{ "paper", "c=0.3 alpha=0 p_large=0.2 extra=0 geometric=0.6", "as published" },
	{ "code", "c=0.25 alpha=1 p_large=0.25 extra=3 geometric=0.5", "as released" },
	{ .name = NULL },
};

/* --- the tree ------------------------------------------------------------------------------ */

double kl_ada_reward(const struct kl_observation *observation)
{
	double speed = (double)observation->speed_ppm / KL_MILLION, reward;

	if (observation->outcome == KL_OUTCOME_WRONG)
		return 0.05;
	if (observation->outcome != KL_OUTCOME_CORRECT)
		return 0;
	speed = speed < 0.1 ? 0.1 : speed > 10.0 ? 10.0 : speed;
	/* Do not simplify this: one different bit in a reward can choose another parent. */
	reward = 0.4 + (1.6 - 0.4) * (speed - 0.1) / (10.0 - 0.1);
	return reward < 0.4 ? 0.4 : reward > 1.6 ? 1.6 : reward;
}

static const struct kl_ada_tree *tree_of(const struct kl_experience *seen)
{
	return seen->state;
}

static double blend_rewards(const struct kl_experience *seen, const struct kl_ada_node *node)
{
	double alpha = kl_setup_decimal(seen->setup, KL_ADA_ALPHA);

	return alpha * node->max + (1 - alpha) * (node->total / (double)node->visits);
}

static double upper_bound(const struct kl_experience *seen, int64_t at)
{
	const struct kl_ada_node *node = &tree_of(seen)->node[at];
	int64_t above = tree_of(seen)->node[node->parent].visits;
	double c = kl_setup_decimal(seen->setup, KL_ADA_C);

	if (!node->visits)
		return __builtin_inf();
	if (!above)
		return blend_rewards(seen, node);
	return blend_rewards(seen, node) +
	       c * kl_number_sqrt(kl_number_log((double)above) / (double)node->visits);
}

/*
 * Return the upper confidence bound of a new child of the node. It is compared with those of the
 * present children.
 */
static double child_promise(const struct kl_experience *seen, int64_t at)
{
	const struct kl_ada_node *node = &tree_of(seen)->node[at];
	double c = kl_setup_decimal(seen->setup, KL_ADA_C) *
		   kl_setup_decimal(seen->setup, KL_ADA_RATIO);
	double most = -__builtin_inf(), children = (double)node->nchild;

	if (!node->nchild)
		return __builtin_inf();
	if (c <= 0)
		return -__builtin_inf();
	for (size_t i = 0; i < node->nchild; i++) {
		double value = blend_rewards(seen, &tree_of(seen)->node[node->child[i]]);

		most = value > most ? value : most;
	}
	return most +
	       c * kl_number_sqrt(kl_number_log((double)node->visits) / (children * children));
}

int64_t kl_ada_select(const struct kl_experience *seen)
{
	const struct kl_ada_tree *tree = tree_of(seen);
	int64_t at = 0;

	for (;;) {
		const struct kl_ada_node *node = &tree->node[at];
		double most = -__builtin_inf();
		int64_t next = at;

		for (size_t i = 0; i < node->nchild; i++) {
			double bound = upper_bound(seen, node->child[i]);

			if (bound > most) {
				most = bound;
				next = node->child[i];
			}
		}
		if (!node->nchild || child_promise(seen, at) > most)
			return at;
		at = next;
	}
}

bool kl_ada_is_large(const struct kl_experience *seen, int64_t node, double coin)
{
	const struct kl_ada_node *from = &tree_of(seen)->node[node];
	int64_t small = 0;

	for (size_t i = 0; i < from->nchild; i++)
		small += !tree_of(seen)->node[from->child[i]].large;
	return !node || small >= seen->setup->value[KL_ADA_LIMIT] ||
	       coin < kl_setup_decimal(seen->setup, KL_ADA_LARGE);
}

/* --- what is shown ------------------------------------------------------------------------- */

/*
 * Return the fastest correct kernel of a component, or -1 if none is correct. A component is a
 * large node with all nodes that are reached from it through small nodes.
 */
static int64_t best_of_component(const struct kl_experience *seen, int64_t top)
{
	const struct kl_ada_tree *tree = tree_of(seen);
	int64_t best = kl_experience_is_correct(seen, top) ? top : -1;

	for (int64_t i = top + 1; i < (int64_t)tree->n; i++) {
		int64_t up = i;

		while (tree->node[up].is_node && !tree->node[up].large && up > top)
			up = tree->node[up].parent;
		if (up == top && kl_experience_is_correct(seen, i) &&
		    (best < 0 || seen->at[i].speed_ppm > seen->at[best].speed_ppm))
			best = i;
	}
	return best;
}

static bool is_on_path(const struct kl_ada_tree *tree, int64_t top, int64_t node)
{
	while (node > top)
		node = tree->node[node].parent;
	return node == top;
}

/*
 * Put into `best` the best kernel of each component that begins on the path from the root to `node`
 * or, if `on` is false, of each that does not. Return the number of kernels.
 */
static size_t component_bests(int64_t *best, const struct kl_experience *seen, int64_t node,
			      bool on)
{
	const struct kl_ada_tree *tree = tree_of(seen);
	size_t n = 0;

	for (int64_t i = 1; i < (int64_t)tree->n; i++)
		if (tree->node[i].large && is_on_path(tree, i, node) == on) {
			int64_t found = best_of_component(seen, i);

			if (found >= 0)
				best[n++] = found;
		}
	return n;
}

/* Draw a number K from 0 to `most` with a probability proportional to (1 - geometric)^K. */
static size_t draw_extra(const struct kl_experience *seen, size_t most,
			 const struct kl_draws *draws)
{
	double keep = 1 - kl_setup_decimal(seen->setup, KL_ADA_GEOMETRIC), power = 1;
	KL_AUTO(kl_freep) double *weight = kl_calloc(most + 1, sizeof(*weight));
	struct kl_rng rng;

	for (size_t i = 0; i <= most; i++, power *= keep)
		weight[i] = power;
	kl_draw_open(&rng, draws, "extra");
	return kl_draw_weighted(&rng, weight, most + 1);
}

/*
 * Draw `count` different kernels of the `n` in `other` and show them. The weights of the draw are
 * the softmax of the speeds. `other` is overwritten.
 */
static void show_others(struct kl_intent *out, const struct kl_experience *seen, int64_t *other,
			size_t n, size_t count, const struct kl_draws *draws)
{
	double temperature = kl_setup_decimal(seen->setup, KL_ADA_TEMPERATURE);
	KL_AUTO(kl_freep) double *speed = kl_calloc(n + 1, sizeof(*speed));
	KL_AUTO(kl_freep) double *weight = kl_calloc(n + 1, sizeof(*weight));
	struct kl_rng rng;

	kl_draw_open(&rng, draws, "which");
	for (; count && n; count--) {
		size_t drawn;

		for (size_t i = 0; i < n; i++)
			speed[i] = kl_experience_speed(seen, other[i]);
		kl_number_softmax(weight, speed, n, temperature);
		drawn = kl_draw_weighted(&rng, weight, n);
		kl_intent_show(out, "pool", other[drawn]);
		memmove(&other[drawn], &other[drawn + 1], (n - drawn - 1) * sizeof(*other));
		n--;
	}
}

void kl_ada_show_pool(struct kl_intent *out, const struct kl_experience *seen, int64_t node,
		      const struct kl_draws *draws)
{
	size_t room = (size_t)seen->setup->value[KL_ADA_POOL], nodes = tree_of(seen)->n;
	size_t extra = (size_t)seen->setup->value[KL_ADA_EXTRA];
	KL_AUTO(kl_freep) int64_t *best = kl_calloc(nodes, sizeof(*best));
	size_t n = component_bests(best, seen, node, true);
	struct kl_rng rng;

	if (n > room) {
		kl_draw_open(&rng, draws, "pool");
		kl_draw_sample(&rng, best, n, room);
	}
	for (size_t i = 0; i < n && i < room; i++)
		kl_intent_show(out, "pool", best[i]);
	if (n >= room || !extra)
		return;
	extra = draw_extra(seen, room - n < extra ? room - n : extra, draws);
	n = component_bests(best, seen, node, false);
	show_others(out, seen, best, n, extra, draws);
}

/* Show the node and its ancestors up to the nearest large one, the oldest first. */
static void show_ancestors(struct kl_intent *out, const struct kl_experience *seen, int64_t node)
{
	const struct kl_ada_tree *tree = tree_of(seen);
	int64_t most = seen->setup->value[KL_ADA_ROUNDS], shown[100], n = 0;

	for (; node && n < most; node = tree->node[node].parent) {
		shown[n++] = node;
		if (tree->node[node].large)
			break;
	}
	while (n > 0)
		kl_intent_show(out, "ancestor", shown[--n]);
}

/* Show the rules of this search, and tell those of the memory. */
static void show_rules(struct kl_intent *out, const struct kl_experience *seen)
{
	json_t *recalled;

	for (size_t i = 0; i < tree_of(seen)->nrule; i++)
		if (tree_of(seen)->rule[i].count >= seen->setup->value[KL_ADA_RULES])
			kl_intent_show(out, "rule", tree_of(seen)->rule[i].ticket);
	recalled = kl_memory_rules(seen->setup->memory, seen->setup->value[KL_ADA_RULES]);
	if (recalled) {
		out->told = json_object();
		kl_json_set(out->told, "rules", recalled);
	}
}

/* --- tickets ------------------------------------------------------------------------------- */

static bool is_learning(const struct kl_setup *setup)
{
	return setup->value[KL_ADA_LEARN] == KL_ADA_LEARN_EACH;
}

/*
 * Return the horizon of a ticket. If rules are learnt, candidates have odd tickets, and the note
 * about a candidate has the even ticket that follows.
 */
static int64_t see_before(const struct kl_setup *setup, int64_t ticket)
{
	int64_t candidate = (ticket + 1) / 2 - setup->width;

	if (!is_learning(setup))
		return kl_policy_sequence(setup, ticket);
	if (ticket % 2 == 0)
		return ticket - 1;
	return candidate > 0 ? 2 * candidate : 0;
}

static void propose_large(struct kl_intent *out, const struct kl_experience *seen, int64_t node,
			  const struct kl_draws *draws)
{
	kl_intent_edit(out, "proposer", node);
	out->form = "large";
	kl_ada_show_pool(out, seen, node, draws);
}

static void propose_small(struct kl_intent *out, const struct kl_experience *seen, int64_t node)
{
	bool any = false;

	kl_intent_edit(out, "reviser", node);
	out->form = "small";
	show_ancestors(out, seen, node);
	for (size_t i = 0; i < out->nshown; i++)
		any |= kl_experience_is_correct(seen, out->shown[i].ticket);
	/* The reviser needs a correct kernel. If none is shown, ask only the tuner. */
	if (any)
		kl_intent_ask(out, "tuner");
	else
		out->role[0] = "tuner";
}

/*
 * Ask for a rule that explains why a candidate failed. Skip the ticket if the candidate only gave
 * wrong results, because no rule can be learnt from that.
 */
static void propose_rule(struct kl_intent *out, const struct kl_experience *seen, int64_t failed)
{
	const struct kl_observation *observation = &seen->at[failed];

	if (!kl_observation_is_candidate(observation) || observation->outcome >= KL_OUTCOME_WRONG) {
		out->kind = KL_TICKET_SKIP;
		return;
	}
	kl_intent_note(out, "extractor", failed);
	kl_intent_ask(out, "judge");
	for (size_t i = 0; i < tree_of(seen)->nrule; i++)
		kl_intent_show(out, "rule", tree_of(seen)->rule[i].ticket);
}

static void propose_next(struct kl_intent *out, const struct kl_experience *seen,
			 const struct kl_draws *draws)
{
	int64_t node;

	if (is_learning(seen->setup) && draws->ticket % 2 == 0) {
		propose_rule(out, seen, draws->ticket - 1);
		return;
	}
	node = kl_ada_select(seen);
	if (kl_ada_is_large(seen, node, kl_draw_coin(draws, "coin")))
		propose_large(out, seen, node, draws);
	else
		propose_small(out, seen, node);
	show_rules(out, seen);
}

/* --- the state ----------------------------------------------------------------------------- */

static void *create_tree(const struct kl_setup *setup)
{
	return kl_calloc(1, sizeof(struct kl_ada_tree));
}

static void add_node(struct kl_ada_tree *tree, const struct kl_observation *observation)
{
	double reward = kl_ada_reward(observation);
	struct kl_ada_node *node = &tree->node[observation->ticket];

	node->is_node = true;
	node->parent = observation->parent;
	node->large = observation->form && !strcmp(observation->form, "large");
	if (!observation->ticket)
		return;
	for (int64_t at = observation->ticket;; at = tree->node[at].parent) {
		struct kl_ada_node *above = &tree->node[at];

		above->visits++;
		above->total += reward;
		above->max = reward > above->max ? reward : above->max;
		if (!at)
			break;
	}
	node = &tree->node[observation->parent];
	KL_GROW(node->child, node->nchild + 1, node->alloc);
	node->child[node->nchild++] = observation->ticket;
}

/* Read a note: {"rule": text} adds a rule, {"same": ticket} counts one of an earlier note. */
static void add_rule(struct kl_ada_tree *tree, const struct kl_observation *observation)
{
	int64_t same = kl_json_int_or(observation->note, "same", -1);

	for (size_t i = 0; i < tree->nrule; i++)
		if (tree->rule[i].ticket == same) {
			tree->rule[i].count++;
			return;
		}
	if (!kl_json_str_or(observation->note, "rule", NULL))
		return;
	KL_GROW(tree->rule, tree->nrule + 1, tree->rule_alloc);
	tree->rule[tree->nrule++] = (struct kl_ada_rule){ .ticket = observation->ticket,
							  .count = 1 };
}

static void fold_tree(struct kl_experience *seen, const struct kl_observation *observation)
{
	struct kl_ada_tree *tree = seen->state;
	bool is_edit = !is_learning(seen->setup) || observation->ticket % 2 || !observation->ticket;

	KL_GROW(tree->node, tree->n + 1, tree->alloc);
	tree->node[tree->n++] = (struct kl_ada_node){ 0 };
	/* As in the released program, an edit without a usable reply becomes a node, too. */
	if (is_edit && observation->outcome != KL_OUTCOME_SKIPPED)
		add_node(tree, observation);
	else if (observation->outcome == KL_OUTCOME_NOTE)
		add_rule(tree, observation);
}

static json_t *write_tree(const struct kl_experience *seen)
{
	json_t *json = json_object(), *nodes = json_array(), *rules = json_array();

	for (size_t i = 0; i < tree_of(seen)->n; i++) {
		const struct kl_ada_node *node = &tree_of(seen)->node[i];
		json_t *row = json_array();

		json_array_append_new(row, json_integer(node->visits));
		json_array_append_new(row, kl_experience_number(node->total));
		json_array_append_new(row, kl_experience_number(node->max));
		json_array_append_new(nodes, row);
	}
	for (size_t i = 0; i < tree_of(seen)->nrule; i++) {
		json_t *row = json_array();

		json_array_append_new(row, json_integer(tree_of(seen)->rule[i].ticket));
		json_array_append_new(row, json_integer(tree_of(seen)->rule[i].count));
		json_array_append_new(rules, row);
	}
	kl_json_set(json, "nodes", nodes);
	kl_json_set(json, "rules", rules);
	return json;
}

static void release_tree(void *state)
{
	struct kl_ada_tree *tree = state;

	for (size_t i = 0; i < tree->n; i++)
		free(tree->node[i].child);
	free(tree->node);
	free(tree->rule);
	free(tree);
}

const struct kl_policy kl_policy_adaexplore = {
	.name = "adaexplore",
	.what = "AdaExplore: a tree by upper confidence bounds, with large and small steps",
	.param = params,
	.preset = presets,
	.memory = "rule",
	.horizon = see_before,
	.create = create_tree,
	.fold = fold_tree,
	.propose = propose_next,
	.write = write_tree,
	.release = release_tree,
};
