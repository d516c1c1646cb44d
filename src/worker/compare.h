/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_H
#define KL_WORKER_COMPARE_H

#include "worker/pool.h"

/*
 * compare - the rules of `accept` (docs/formats.md, "Rules"). kl_compare itself is
 * declared in pool.h.
 *
 * Every element of every output is looked at. A first, fast pass over d = got - truth
 * decides the common case, a right answer; whatever it does not clear is looked at
 * again element by element, which alone decides that an answer is wrong and where. Both go
 * through the tensor in pieces, side by side where there are processors; what comes out does not
 * depend on that.
 *
 * What is common to the rules noise, elementwise and rel-l2:
 *	- truth NaN: the answer must be NaN; an infinity, or beyond the dtype's
 *	  range: the same infinity (or, where the honest answer is finite too, the
 *	  finite neighbour, judged by its error); else: the answer must be finite.
 *	- in an exact band they give way to bit-equality, where zeros of
 *	  either sign tie; multiset stays multiset.
 *	- integers are judged as numbers whose ulp is 1.
 */

/**
 * As kl_compare, for who asks whether an answer is right: it looks no further than to where it finds
 * something wrong, so that `bad`, `margin` and `edge_only` are of what was seen.
 */
int kl_compare_first(struct kl_mismatch *m, const struct kl_job *job, const struct kl_member *w,
		     const void *const *got);

#endif
