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

/** The yard of one rule, worked out once for a member; kl_yard_release frees. */
int kl_yard_make(struct kl_yard *out, const struct kl_job *job, size_t rule,
		 const struct kl_member *w);
void kl_yard_release(struct kl_yard *y);
/** Let `y` stand for the honest errors of `other`'s draws as well: `n` draws so far, and one more. */
void kl_yard_merge(struct kl_yard *y, const struct kl_yard *other, size_t n);
/** Elements of a group of a rule `noise` at a point; 0: another rule, or one that does not fit. */
size_t kl_yard_group(const struct kl_job *job, size_t rule, const struct kl_point *pt);

/**
 * Is this place on a border? In some axis of at least 4: the first index, or
 * within the last eighth (at least 1, at most 15 places): where halos and the
 * remainders of tiles lie.
 */
bool kl_compare_border(const int64_t *index, const int64_t *extent, size_t naxes);

#endif
