/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_COMPARE_SLICE_H
#define KL_WORKER_COMPARE_SLICE_H

#include "base/par.h"
#include "worker/compare/compare.h"
#include "worker/compare/output.h"

/*
 * slice - processes the groups of an output in parallel. Each group (group.h) is divided into
 * slices of at most KL_SLICE elements, regardless of the number of processors, so that sums are the
 * same on every machine. Slices are numbered through all groups: slice k is slice k % each of group
 * k / each.
 *
 *	struct kl_slice_pass p = { .v = &v, .slices = kl_slices_of(&v) };
 *	for (; p.first < v.groups.count; p.first += n) {
 *		n = kl_slice_pass_run(&p, fn);	fn fills p.part[from ... to): one sum for each slice
 *		... kl_slice_pass_sum(&p, i)	of group p.first + i
 *	}
 *	free(p.part);
 *
 * A search works the same way, with one mismatch instead of one sum for each slice. If the caller
 * merges these mismatches in order with kl_mismatch_merge(), the first wrong element of the output
 * is the one that is recorded in full.
 */
#define KL_SLICE ((size_t)65536) /* maximum number of elements of one slice */
#define KL_SLICE_BLOCK 512 /* elements processed together; four arrays of doubles fit into L1 */

struct kl_slices {
	size_t each, size; /* number of slices in a group; number of elements in a slice */
	size_t grain;      /* number of slices that a thread takes at a time */
};

struct kl_slices kl_slices_of(const struct kl_output *output);

/* Iterator over the elements of one slice. */
struct kl_slice_walk {
	struct kl_group_walk walk;
	size_t left; /* elements left in the slice */
};

void kl_slice_start(struct kl_slice_walk *walk, const struct kl_output *output,
		    const struct kl_slices *slices, size_t group, size_t part);
/**
 * Set *off and *n so that [off, off + n) are the next contiguous elements of the slice, at most
 * `max`. Return false if there are no more.
 */
bool kl_slice_next(struct kl_slice_walk *walk, size_t *off, size_t *n, size_t max);

/* -- a pass: sums --------------------------------------------------------- */

struct kl_slice_error {
	double max, sq; /* maximum and sum of squares of |got - truth|; a NaN changes only `sq` */
};

/* Result of a pass over one slice. */
struct kl_slice_sum {
	struct kl_slice_error sums;
	double truth_sq; /* for tolerances of `noise`: sum of squares of the truth */
	double worst;    /* elementwise: largest ratio of an error to the allowed error */
	size_t n;
	bool unclear; /* the elements of the slice must be checked one by one */
};

struct kl_slice_pass {
	const struct kl_output *v;
	const struct kl_tolerance *tolerance;
	struct kl_slices slices;
	size_t first;              /* group that part[0] belongs to */
	struct kl_slice_sum *part; /* initially NULL; freed by the caller */
};

/** Process the next batch of groups, from pass->first on. Return the number of groups in it. */
size_t kl_slice_pass_run(struct kl_slice_pass *pass, kl_par_fn *fn);
/** Add up the results of all slices of the i-th group of the batch. */
struct kl_slice_sum kl_slice_pass_sum(const struct kl_slice_pass *pass, size_t i);

/* -- a search: element by element ------------------------------------------ */

/* Result of checking each element of one slice. */
struct kl_slice_found {
	struct kl_mismatch m;
	double sq, floor_sq; /* sums of squares of the errors and of kl_element_least() */
	size_t n;
};

struct kl_slice_search {
	const struct kl_output *v;
	const struct kl_tolerance *tolerance;
	struct kl_slices slices;
	const size_t
		/*
		 * slices to search; NULL to search consecutive pieces of the tensor instead of
		 * slices
		 */
		*slice;
	size_t first;                /* index of slot[0] in `slice` */
	bool zeros_tie;              /* if bits are compared, zeros of either sign count as equal */
	struct kl_slice_found *slot; /* initially NULL; freed by the caller */
};

/**
 * Search the next batch of the `total` slices, from search->first on. Return the number of slices
 * in it.
 */
size_t kl_slice_search_run(struct kl_slice_search *search, size_t total, kl_par_fn *fn);

#endif
