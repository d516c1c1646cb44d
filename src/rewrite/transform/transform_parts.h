/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_TRANSFORM_PARTS_H
#define KL_REWRITE_TRANSFORM_PARTS_H

#include "rewrite/source/loop_text.h"
#include "rewrite/transform/transform.h"

/* transform_parts - functions that the files transform*.c share. Private to src/rewrite. */

/* most copies of a loop's body, and most names that they derive from one name */
#define KL_TRANSFORM_COPIES 16

/** One application of a transformation to a source. */
struct kl_transforming {
	const struct kl_ctokens *tokens;
	const struct kl_loops *loops;
	const struct kl_transform_source *source;
	int64_t value; /* of the parameter */
	struct kl_cedits edits;
	struct kl_strvec reserved; /* names from which copies of loops derived theirs */
	int64_t offset;            /* added to the numbers of fresh names */
};

/** Return a name made of `base` and a number that the source does not use. The caller frees it. */
char *kl_transform_fresh(const struct kl_transforming *work, const char *base, int64_t number);
/**
 * Keep the names that the next copies derive from `base` apart from those of earlier loops. Set
 * work->offset to 0 before the first name of a loop.
 */
void kl_transform_reserve(struct kl_transforming *work, const char *base);
/**
 * Append to `out` a fresh name for each variable that the statements declare, for copy `number`;
 * return the number of names. Allocate an array of renames by kl_calloc() and release it by
 * kl_transform_free_renames().
 */
size_t kl_transform_rename(struct kl_rename *out, const struct kl_transforming *work,
			   const struct kl_cstmts *stmts, int64_t number);
void kl_transform_free_renames(struct kl_rename *rename, size_t n);
/** Check that the pointer parameters of a function never overlap. */
bool kl_transform_has_disjoint(const struct kl_transforming *work, int fn);
/**
 * Return true if no access touches an element that an access with another index writes. For this,
 * arrays with different roots must not overlap, and all accesses to a root that is written must
 * have the same index or, in different rounds of `loop` (NULL for any loop), be in different rows.
 */
bool kl_transform_is_independent(const struct kl_transforming *work,
				 const struct kl_accesses *accesses, const struct kl_loop *loop);
/** Count the tokens first ... last that are `name`. */
size_t kl_transform_count(const struct kl_ctokens *tokens, size_t first, size_t last,
			  const char *name);
/**
 * Check that a loop counts up by one, has no directive before it, and is no remainder of another.
 */
bool kl_transform_is_plain(const struct kl_loop *loop);

/* Each function adds its edits to work->edits. */
void kl_transform_unroll(struct kl_transforming *work);
void kl_transform_unroll_jam(struct kl_transforming *work);
void kl_transform_vector(struct kl_transforming *work);
void kl_transform_interchange(struct kl_transforming *work);
void kl_transform_cache_block(struct kl_transforming *work);
void kl_transform_pack(struct kl_transforming *work);
void kl_transform_hoist(struct kl_transforming *work);
void kl_transform_prefetch(struct kl_transforming *work);
void kl_transform_ivdep(struct kl_transforming *work);
void kl_transform_restrict(struct kl_transforming *work);
void kl_transform_cuda_restrict(struct kl_transforming *work);
void kl_transform_pragma_unroll(struct kl_transforming *work);
void kl_transform_launch_bounds(struct kl_transforming *work);

#endif
