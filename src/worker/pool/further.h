/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_FURTHER_H
#define KL_WORKER_POOL_FURTHER_H

#include "base/key.h"
#include "worker/compare/member.h"

/*
 * further - chooses and draws bands of values that a contract does not list, but that its fills
 * allow. They are called further bands:
 *
 *	graded-<dim>	a few slices along a dim have far larger values than the other slices
 *	wide		every element has a magnitude of its own
 *	large small	inputs are scaled up or down towards an end of the type's range
 *	denormal	one input is denormal
 *	zeros		zeros of both signs
 *	constant	each row of the last axis has one value
 *	ties		few different values
 *	sorted reversed	each row of the last axis is in ascending or descending order
 *	nan inf		one element of one input is NaN, or is infinite
 *
 * A fill promises which values a kernel gets. This limits the bands:
 *  - Only inputs that the contract sweeps are scaled, and only if their fill is `normal`,
 *    `uniform`, `cauchy` or `outliers`.
 *  - Zeros, NaN and infinities are put only into inputs with one of these fills and without `map`,
 *    `unit`, `lower` or `running`.
 *  - Rows are made constant, tied or sorted only if the fill draws each element by itself; the new
 *    rows consist of values that the fill has drawn.
 *  - NaN is not put into an input whose values the rule `multiset` orders. Neither NaN nor infinity
 *    is put into any input if an output, other than indices of this rule, holds whole numbers.
 *  - Denormals, NaN and infinities are not drawn if the contract calls them undefined.
 *
 * The member's key determines which inputs a band changes, and by how much. A band can make answers
 * overflow; kl_poolmake_further() then draws it again with a larger `attempt`, which scales less.
 */
enum kl_further {
	KL_FURTHER_GRADED,
	KL_FURTHER_WIDE,
	KL_FURTHER_LARGE,
	KL_FURTHER_SMALL,
	KL_FURTHER_DENORMAL,
	KL_FURTHER_ZEROS,
	KL_FURTHER_CONSTANT,
	KL_FURTHER_TIES,
	KL_FURTHER_SORTED,
	KL_FURTHER_REVERSED,
	KL_FURTHER_NAN,
	KL_FURTHER_INF,
	KL_FURTHERS
};
/* Maximum number of bands of a point: one `graded` for each dim, and one of every other kind. */
#define KL_FURTHER_MAX (KL_FURTHERS - 1 + KL_MAX_DIMS)

/** List the further bands that can be drawn at a point. Return their number. */
size_t kl_further_list(char band[KL_FURTHER_MAX][32], const struct kl_job *job,
		       const struct kl_point *pt);
/** Return the number of attempts that kl_further_fill() can make with different results. */
int kl_further_tries(const struct kl_job *job, const struct kl_member *member);
/** Set the fields that say how answers to a member of this band are judged (member.h). */
void kl_further_mark(struct kl_member *member, const struct kl_job *job);
/**
 * Draw argument `arg` of a member from its fill, under a key derived from `key`, then change it as
 * the band says. `attempt` begins at 0; the larger it is, the less the band scales values, if it
 * scales them at all.
 */
int kl_further_fill(void *out, const struct kl_job *job, const struct kl_member *member,
		    const struct kl_key *key, size_t arg, int attempt);

/* The functions below are for further_draw.c. */

/**
 * Return the kind of the band with this name; KL_FURTHERS if it is not a further band. For a
 * `graded` band, *dim is its dim.
 */
enum kl_further kl_further_find(const struct kl_job *job, const char *band, size_t *dim);
/** Return true if the band can change this argument. `dim` is the dim of a `graded` band. */
bool kl_further_touches(const struct kl_job *job, const struct kl_point *pt,
			enum kl_further further, size_t dim, size_t arg);
/** Return 1 + the axis of argument `arg` whose extent is dim `dim`; 0 if there is no such axis. */
int kl_further_axis(const struct kl_job *job, size_t arg, size_t dim);

#endif
