/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_EFFECT_H
#define KL_WALK_EFFECT_H

#include "event/event.h"

/*
 * effect - the change that a step makes for the user of a kernel, as far as the gate has shown it.
 *
 *	speed	   the simpler state is fast or slow against the other one, at a case or in the mean
 *	generality the simpler state is right at the cases of the contract but fails at another point
 *		   of its domain, or is right only if its outputs start at zero (zeroed.h); the
 *		   gate rejects such a step
 *	nothing	   both pass, and no case shows a difference of speed
 *
 * An ambiguous comparison shows no difference if its whole interval is within 5 % of 1. If it is
 * wider, noise can hide a difference, and the effect is unknown.
 */
enum kl_effect {
	/* the event does not show the effect: noise, no comparison, or a failure at a case */
	KL_EFFECT_UNKNOWN,
	KL_EFFECT_SPEED,
	KL_EFFECT_GENERALITY,
	KL_EFFECT_NOTHING
};

/** Classify a step by the event of its simpler state, which compares it with the other one. */
enum kl_effect kl_effect_of(const struct kl_event *simpler);
/** Return the name of an effect; "" if unknown. */
const char *kl_effect_name(enum kl_effect effect);
/** Return true if noise hides the effect: both pass, and the comparison is ambiguous and wide. */
bool kl_effect_is_hidden(const struct kl_event *simpler);

#endif
