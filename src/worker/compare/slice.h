/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_SLICE_H
#define KL_WORKER_COMPARE_SLICE_H

#include "base/par.h"
#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * slice - goes through an output in parallel: its groups (group.h) in slices of at most KL_SLICE
 * elements, however many processors there are, so that sums come out the same everywhere. Slice k
 * is slice k % each of group k / each.
 *
 *	struct kl_slice_pass p = { .v = &v, .slices = kl_slices_of(&v) };
 *	for (; p.first < v.groups.count; p.first += n) {
 *		n = kl_slice_pass_run(&p, fn);	fn fills p.part[from ... to): one sum for each slice
 *		... kl_slice_pass_sum(&p, i)	of group p.first + i
 *	}
 *	free(p.part);
 *
 * A search is the like, with room for a mismatch in each slice; kl_mismatch_merge in their order
 * makes the first wrong element the first of all.
 */
#define KL_SLICE ((size_t)65536) /* elements that a thread looks at together */
#define KL_SLICE_BLOCK 512 /* elements looked at together: four arrays of doubles stay in L1 */

struct kl_slices {
	size_t each, size; /* in a group; elements of one */
	size_t grain;      /* so many make a thread's share */
};

struct kl_slices kl_slices_of(const struct kl_output *output);

/* The walk through one slice of a group. */
struct kl_slice_walk {
	struct kl_group_walk walk;
	size_t left;
};

void kl_slice_start(struct kl_slice_walk *walk, const struct kl_output *output,
		    const struct kl_slices *slices, size_t group, size_t part);
/** The next elements [off, off + n), at most `max` of them; false: that was all. */
bool kl_slice_next(struct kl_slice_walk *walk, size_t *off, size_t *n, size_t max);

/* -- a pass: sums --------------------------------------------------------- */

struct kl_slice_error {
	double max, sq; /* largest |d|, sum of d*d; a NaN shows in sq alone */
};

/* What is known of one slice after a pass. */
struct kl_slice_sum {
	struct kl_slice_error sums;
	double worst;
	size_t n;
	bool unclear;
};

struct kl_slice_pass {
	const struct kl_output *v;
	const struct kl_yard *yard;
	struct kl_slices slices;
	size_t first;              /* group of part[0] */
	struct kl_slice_sum *part; /* NULL at first; the caller frees it */
};

/** Groups [p->first, ...) of a batch; how many there are. */
size_t kl_slice_pass_run(struct kl_slice_pass *pass, kl_par_fn *fn);
/** All parts of the i-th group of a batch. */
struct kl_slice_sum kl_slice_pass_sum(const struct kl_slice_pass *pass, size_t i);

/* -- a search: each element ------------------------------------------------ */

/* What is found in one slice by looking at each element. */
struct kl_slice_found {
	struct kl_mismatch m;
	double sq, floor_sq;
	size_t n;
};

struct kl_slice_search {
	const struct kl_output *v;
	const struct kl_yard *yard;
	struct kl_slices slices;
	const size_t *slice; /* those that are searched; NULL: the tensor's own */
	size_t first;        /* place of slot[0] among them */
	bool zeros_tie;
	struct kl_slice_found *slot; /* NULL at first; the caller frees it */
};

/** The next slices of `total`; how many. */
size_t kl_slice_search_run(struct kl_slice_search *search, size_t total, kl_par_fn *fn);

#endif
