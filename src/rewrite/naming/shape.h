/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_SHAPE_H
#define KL_REWRITE_SHAPE_H

#include "base/vec.h"
#include "contract/surface.h"

/*
 * shape - counts, in the sources of a surface, the constructs that optimizations leave behind:
 * blocked loops, accumulators, copies, tables, shared memory. Names, comments, formatting and the
 * order of functions do not change a shape.
 */
enum kl_shape_item {
	KL_SHAPE_LOOPS,
	KL_SHAPE_INNER,        /* loops without loops inside */
	KL_SHAPE_BLOCKS,       /* loops over blocks, with inner loops that run within a block */
	KL_SHAPE_JAMS,         /* loops that contain loops and do several rounds at once */
	KL_SHAPE_UNROLLED,     /* innermost loops that do several rounds at once */
	KL_SHAPE_ACCUMULATORS, /* the most variables that one innermost loop adds to */
	KL_SHAPE_ZEROED,       /* the most variables that one function sets to zero, for sums */
	KL_SHAPE_MEMORY_SUMS,  /* the most places in memory that one innermost loop adds to */
	KL_SHAPE_PARTIAL,      /* sums of two accumulators */
	KL_SHAPE_ASSIGNMENTS,  /* in innermost loops */
	KL_SHAPE_ACCESSES,     /* accesses to memory in innermost loops */
	KL_SHAPE_HOISTS,       /* values computed from memory outside of innermost loops */
	KL_SHAPE_GUARDS,       /* calls that only the first round of a loop makes */
	KL_SHAPE_COPIES,       /* loops that copy, except to shared memory */
	KL_SHAPE_STAGES,       /* loops or statements that copy to shared memory */
	KL_SHAPE_WALKS,        /* pointers that loops advance */
	KL_SHAPE_DIVISIONS,    /* in loops */
	KL_SHAPE_SHIFTS,       /* in loops: shifts, masks, multiplications by a constant */
	KL_SHAPE_BRANCHES,     /* in loops */
	KL_SHAPE_CHOICES,      /* in loops: ?:, and comparisons used as values */
	KL_SHAPE_TABLES,       /* constant arrays with values */
	KL_SHAPE_STATICS,      /* static arrays without values */
	KL_SHAPE_LOCALS,       /* other local arrays */
	KL_SHAPE_THREADS,      /* uses of the index of a thread */
	KL_SHAPE_SHARED,       /* arrays in shared memory */
	KL_SHAPE_PADDED,       /* of these, arrays with a padded row */
	KL_SHAPE_DOUBLED,      /* of these, arrays with several stages */
	KL_SHAPE_COALESCED,    /* subscripts whose last term is the thread's x */
	KL_SHAPE_STRIDED,      /* subscripts whose last term is the thread's y or z, or x scaled */
	KL_SHAPE_ITEMS,
};

#define KL_SHAPE_MOST \
	(256u << 10) /* larger sources, in bytes, are not read, because a source can be hostile */

struct kl_shape {
	long count[KL_SHAPE_ITEMS];
	struct kl_strvec words; /* identifiers, strings and directives */
	struct kl_strvec
		paths; /* the conditions of each innermost loop and of the loops around it */
};

/** Return true if the sources have at most KL_SHAPE_MOST bytes. */
bool kl_shape_fits(const struct kl_file *file, size_t n);
void kl_shape_read(struct kl_shape *out, const struct kl_file *file, size_t n);
void kl_shape_release(struct kl_shape *shape);
/** Count the words that match a pattern (fnmatch). */
long kl_shape_words(const struct kl_shape *shape, const char *pattern);
/** Return the name of an item for use in a sentence: "accumulators". */
const char *kl_shape_name(enum kl_shape_item item);

#endif
