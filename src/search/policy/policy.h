/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_POLICY_H
#define KL_SEARCH_POLICY_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "search/policy/draw.h"
#include "search/policy/intent.h"
#include "search/policy/observation.h"
#include "search/policy/setup.h"

/*
 * policy - the interface of a policy: how it folds observations, and what it proposes.
 *
 * The intent of ticket t depends only on the setup, on the draws of t, and on the observations of
 * tickets 0 to horizon(t), folded in this order. So the search does not depend on which ticket was
 * finished first, on the number of workers, or on where it was killed. A policy opens no file,
 * reads no clock, and remembers nothing outside its state.
 *
 * Each policy is a file of its own, named after it, that ends with its row.
 */
struct kl_experience; /* experience.h */

struct kl_policy {
	const char *name;
	const char *what;                      /* one line for users */
	const struct kl_policy_param *param;   /* ends with KL_PARAMS_END */
	const struct kl_policy_preset *preset; /* ends with a row without name */
	/** Return the last ticket whose observation ticket `ticket` may use; it never falls. */
	int64_t (*horizon)(const struct kl_setup *setup, int64_t ticket);
	/** Return a new state. NULL: the policy needs only the history, and the others are NULL. */
	void *(*create)(const struct kl_setup *setup);
	/** Add the last observation of the history to the state. */
	void (*fold)(struct kl_experience *seen, const struct kl_observation *observation);
	void (*propose)(struct kl_intent *out, const struct kl_experience *seen,
			const struct kl_draws *draws);
	/** Return all of the state that the history does not determine at sight, as JSON. */
	json_t *(*write)(const struct kl_experience *seen);
	void (*release)(void *state);
	/**
	 * Push a line for each thing that the policy is known for and that cannot happen within the
	 * budget. NULL: nothing.
	 */
	void (*cannot)(struct kl_strvec *lines, const struct kl_setup *setup);
};

extern const struct kl_policy kl_policy_best_of_n, kl_policy_climb, kl_policy_refine,
	kl_policy_adaexplore, kl_policy_accelopt, kl_policy_kernelblaster, kl_policy_evolve,
	kl_policy_shinka, kl_policy_pareto;

/** All policies; ends with NULL. */
extern const struct kl_policy *const kl_policies[];
/** Return the policy of this name, or NULL. */
const struct kl_policy *kl_policy_find(const char *name);

/** The horizon of a policy whose tickets are candidates, one after the other: ticket - width. */
int64_t kl_policy_sequence(const struct kl_setup *setup, int64_t ticket);
/** The end of the table for policies without presets. */
extern const struct kl_policy_preset kl_policy_no_preset[];

#endif
