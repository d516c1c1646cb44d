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
 * policy - the interface of a policy, which folds observations into a state and proposes intents.
 *
 * The intent of ticket t depends only on the setup, on the draws of t, and on the observations of
 * tickets 0 to horizon(t), folded in this order. So the search does not depend on which ticket was
 * finished first, on the number of workers, or on where it was killed. A policy opens no file,
 * reads no clock, and remembers nothing outside its state.
 *
 * Each policy is implemented in the file of its name. The file ends with the policy's struct
 * kl_policy.
 */
struct kl_experience; /* experience.h */

struct kl_policy {
	const char *name;
	const char *what;                      /* a line that describes the policy to users */
	const struct kl_policy_param *param;   /* ends with KL_PARAMS_END */
	const struct kl_policy_preset *preset; /* ends with a row without name */
	/* kind of the entries of a memory that the policy reads (memory.h); NULL for none */
	const char *memory;
	/**
	 * Return the horizon of `ticket`: the last ticket whose observation its intent may use. The
	 * horizon of a later ticket is never smaller.
	 */
	int64_t (*horizon)(const struct kl_setup *setup, int64_t ticket);
	/**
	 * Return a new state. If the policy needs no state, only the observations, this and the
	 * other functions for the state are NULL.
	 */
	void *(*create)(const struct kl_setup *setup);
	/** Update the state with the last observation that was added. */
	void (*fold)(struct kl_experience *seen, const struct kl_observation *observation);
	void (*propose)(struct kl_intent *out, const struct kl_experience *seen,
			const struct kl_draws *draws);
	/**
	 * Return the state as JSON, from which its digest is made; the caller owns it. Members that
	 * can be read directly from the observations may be left out.
	 */
	json_t *(*write)(const struct kl_experience *seen);
	void (*release)(void *state);
	/**
	 * Push a line for each characteristic part of the policy, such as migration, that cannot
	 * happen within the budget. The function is NULL if there is no such part.
	 */
	void (*cannot)(struct kl_strvec *lines, const struct kl_setup *setup);
};

extern const struct kl_policy kl_policy_best_of_n, kl_policy_climb, kl_policy_refine,
	kl_policy_adaexplore, kl_policy_accelopt, kl_policy_kernelblaster, kl_policy_evolve,
	kl_policy_shinka, kl_policy_pareto, kl_policy_command;

/** All policies; ends with NULL. */
extern const struct kl_policy *const kl_policies[];
/** Return the policy of this name, or NULL if there is none. */
const struct kl_policy *kl_policy_find(const char *name);

/** Return `ticket` - width, but at least 0: the horizon where each ticket is a candidate. */
int64_t kl_policy_sequence(const struct kl_setup *setup, int64_t ticket);
/** An empty table, for policies without presets. */
extern const struct kl_policy_preset kl_policy_no_preset[];

#endif
