/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_ADAEXPLORE_H
#define KL_SEARCH_POLICY_ADAEXPLORE_H

#include "search/policy/experience.h"

/*
 * adaexplore - the tree of AdaExplore (arXiv 2604.16625): which node is built on, and how.
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
	bool is_node; /* false: the ticket made no candidate */
	bool large;
	int64_t parent;
	int64_t visits;
	double total, max; /* rewards of the node and of all below */
	int64_t *child;    /* in order of tickets */
	size_t nchild, alloc;
};

/* a rule about what fails, such as "You cannot take the address of a register." */
struct kl_ada_rule {
	int64_t ticket; /* the note that first wrote it */
	int64_t count;  /* notes that wrote it */
};

struct kl_ada_tree {
	struct kl_ada_node *node; /* by ticket */
	size_t n, alloc;
	struct kl_ada_rule *rule;
	size_t nrule, rule_alloc;
};

/** Return the reward of an observation. */
double kl_ada_reward(const struct kl_observation *observation);
/** Return the node to build on. */
int64_t kl_ada_select(const struct kl_experience *seen);
/** True if a large step is made from a node; `coin` is uniform in [0, 1). */
bool kl_ada_is_large(const struct kl_experience *seen, int64_t node, double coin);
/** Show what a large step from a node sees. */
void kl_ada_show_pool(struct kl_intent *out, const struct kl_experience *seen, int64_t node,
		      const struct kl_draws *draws);

#endif
