/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_NAMING_H
#define KL_REWRITE_NAMING_H

#include "contract/surface.h"
#include "event/facts.h"

/*
 * naming - finds the mechanism of a step from both its sources and the facts of both machine codes.
 *
 * Each rule (naming_rules.c) names the traces that a mechanism leaves in the source: words such as
 * "restrict", or constructs such as accumulators and loops over blocks (shape.h). If the faster
 * source has more of them, the rule gives a confidence. Gained facts that belong to the mechanism
 * raise it; facts that the mechanism does not explain lower it. A mechanism is never named if its
 * facts contradict it. A step whose best confidence is below KL_NAMING_LEAST gets no name.
 * docs/formats.md, "Names", has the numbers.
 *
 * If only constants differ, the loop that a changed constant bounds decides: an outer loop over
 * memory gives cache-block, the trip count of an innermost loop of accumulators gives
 * register-tile.
 */
#define KL_NAMING_LEAST 50 /* per cent */

struct kl_naming_sides {
	const struct kl_file *fast, *plain; /* sources with the mechanism, and without it */
	size_t nfast, nplain;
	const struct kl_facts *had, *has; /* facts of `fast`, and of `plain` */
	const struct kl_mechanisms *mechanisms;
};

struct kl_naming {
	const struct kl_mechanism *mechanism; /* NULL if no name reaches KL_NAMING_LEAST */
	int percent;            /* confidence of the best name, even if `mechanism` is NULL */
	struct kl_buf evidence; /* "accumulators 1 -> 16; gained broadcast" */
};

/** Find the mechanism. The caller releases `out`. */
void kl_naming_find(struct kl_naming *out, const struct kl_naming_sides *sides);
void kl_naming_release(struct kl_naming *naming);
/**
 * Check a mechanism that the author of a step claims: return true, with the reason in `why`, if the
 * sources contradict it. A mechanism that the rules cannot decide is not contradicted.
 */
bool kl_naming_refutes(struct kl_buf *why, const struct kl_naming_sides *sides,
		       const struct kl_mechanism *claimed);

#endif
