/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_COMPARE_H
#define KL_WORKER_COMPARE_COMPARE_H

#include "worker/compare/member.h"

/*
 * compare - the rules of `accept` (docs/formats.md, "Rules").
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

struct kl_mismatch {
	int out; /* argument index; -1: none, it matched */
	int64_t index[KL_MAX_AXES];
	size_t naxes;
	char got[40], wanted[40];
	char why[120];
	double margin;         /* worst error / allowed error; <= 1 passes */
	int64_t bad, elements; /* wrong elements, elements checked */
	bool edge_only;        /* all bad ones on a border, or no perf point */
};
/**
 * Judge outputs against a member: `got[arg]` in the kernel's dtype. 0 and m->out = -1
 * when it passes; KL_ENO (no message set) and the first bad place otherwise;
 * KL_EINVALID: the job's rule does not fit its tensors.
 */
int kl_compare(struct kl_mismatch *mismatch, const struct kl_job *job,
	       const struct kl_member *member, const void *const *got);

/**
 * As kl_compare, for who asks whether an answer is right: it looks no further than to where it
 * finds something wrong, so that `bad`, `margin` and `edge_only` are of what was seen.
 */
int kl_compare_first(struct kl_mismatch *mismatch, const struct kl_job *job,
		     const struct kl_member *member, const void *const *got);

#endif
