/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_ADAEXPLORE_H
#define KL_SEARCH_POLICY_ADAEXPLORE_H

#include "search/policy/experience.h"

/*
 * adaexplore - the tree of AdaExplore (arXiv 2604.16625). It selects the node from which the next
 * candidate is made, and whether the candidate is a large or a small step.
 *
 * A node is the candidate of a ticket, correct or not. It is large if it was written anew from a
 * pool of good kernels, and small if it is an edit of its parent.
 */
enum {
	KL_ADA_C,
	KL_ADA_RATIO,
	KL_ADA_ALPHA,
	KL_ADA_LARGE,
	KL_ADA_LIMIT,
	KL_ADA_POOL,
	KL_ADA_EXTRA,
	KL_ADA_TEMPERATURE,
	KL_ADA_GEOMETRIC,
	KL_ADA_ROUNDS,
	KL_ADA_RULES,
	KL_ADA_LEARN
};
enum { KL_ADA_LEARN_NONE, KL_ADA_LEARN_EACH };

struct kl_ada_node {
	bool is_node; /* false if the ticket was not to make a candidate */
	bool large;
	int64_t parent;
	int64_t visits;
	double total, max; /* sum and maximum of the rewards of the node and all nodes below */
	int64_t *child;    /* tickets of the children, in rising order */
	size_t nchild, alloc;
};

/* A rule about what fails, such as "You cannot take the address of a register." */
struct kl_ada_rule {
	int64_t ticket; /* ticket of the first note that gives the rule */
	int64_t count;  /* number of notes that give it */
};

struct kl_ada_tree {
	struct kl_ada_node *node; /* node[t] is the node of ticket t */
	size_t n, alloc;
	struct kl_ada_rule *rule;
	size_t nrule, rule_alloc;
};

/** Return the reward of an observation. */
double kl_ada_reward(const struct kl_observation *observation);
/** Return the node from which the next candidate is made. */
int64_t kl_ada_select(const struct kl_experience *seen);
/** Return true if the step from `node` is a large one. `coin` must be uniform in [0, 1). */
bool kl_ada_is_large(const struct kl_experience *seen, int64_t node, double coin);
/** Add to `out` the kernels that are shown for a large step from `node`. */
void kl_ada_show_pool(struct kl_intent *out, const struct kl_experience *seen, int64_t node,
		      const struct kl_draws *draws);

#endif
