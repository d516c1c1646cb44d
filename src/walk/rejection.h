/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_REJECTION_H
#define KL_WALK_REJECTION_H

#include <stdbool.h>

#include "text/json.h"

/*
 * rejection - the meaning of a rejected proposal's class for the walk: whether it counts towards
 * the limit of rejections, and whether another proposal may lead to the same state.
 *
 *	class			counts towards the limit	the state may be proposed again
 *	no-change		never				from another state
 *	no-effect		never				never
 *	compile			not of an older state		never
 *	any other, if the effect is "generality"
 *				not of an older state		never
 *	slower, skipped, inconclusive, compound
 *				yes				from another state
 *	any other		yes				never
 *
 * An older state is one that `history` proposed. If it does not compile, or is right at the cases
 * only (effect.h), this says nothing about the states before it, because today's contract was not
 * written for it. So such a rejection does not end the walk. Proposals of a model also count
 * towards a second limit (kl_walk_limit), because each of them costs money.
 */

/**
 * Return true if the rejection of this record counts towards the limit on consecutive rejections.
 */
bool kl_rejection_counts(const json_t *rec);
/**
 * Return true for an older state that was passed over rather than rejected, because of its class
 * no-change, no-effect or compile: it is counted at the end instead of being reported by itself.
 */
bool kl_rejection_is_passed_over(const char *rewriter, const char *class_);
/** Return true if the class rejects only the step, so that another proposal may lead to its state. */
bool kl_rejection_is_of_step(const char *class_);

#endif
