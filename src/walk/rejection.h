/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_REJECTION_H
#define KL_WALK_REJECTION_H

#include <stdbool.h>

/*
 * rejection - what the class of a rejected proposal means for the walk: whether it counts towards
 * the limit of rejections, and whether another proposal may lead to the same state.
 *
 *	class		counts towards the limit	the state may be proposed again
 *	no-change	never				from another state
 *	compile		not if `history` proposed it	never
 *	slower, skipped, inconclusive, compound
 *			yes				from another state
 *	any other	yes				never
 *
 * An older state that does not compile says nothing about the states before it: what failed is the
 * contract of the expert on sources of another time. So it does not end the walk. The proposals of
 * a model count in another way, too (kl_walk_limit), because each of them costs money.
 */

/** Return true if the rejection counts towards the limit of rejections in a row. */
bool kl_rejection_counts(const char *rewriter, const char *class_);
/**
 * Return true for an older state of `history` that was passed over rather than rejected: it is
 * counted by its class at the end, instead of being reported by itself.
 */
bool kl_rejection_is_passed_over(const char *rewriter, const char *class_);
/** Return true if the class rejects only the step, so that another proposal may lead to its state. */
bool kl_rejection_is_of_step(const char *class_);

#endif
