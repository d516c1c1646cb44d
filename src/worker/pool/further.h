/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_FURTHER_H
#define KL_WORKER_POOL_FURTHER_H

#include "base/key.h"
#include "worker/compare/member.h"

/*
 * further - chooses and draws bands of values that no contract lists, but that its fills allow:
 *
 *	graded-<dim>	a few slices along a dim are far larger than the others
 *	wide		every element has a magnitude of its own
 *	large small	everything scaled towards an end of the type's range
 *	denormal	one input is denormal
 *	zeros		zeros of both signs
 *	constant	each row of the last axis has one value
 *	ties		few different values
 *	sorted reversed	the rows of the last axis in order
 *	nan inf		one element is no number
 *
 * A fill promises which values a kernel gets. So only inputs that the contract sweeps are scaled,
 * and only if their fill is normal, uniform, cauchy or outliers. Zeros, NaN and infinities replace
 * values only of such a fill, without map, unit, lower or running. Rows are rearranged only if each
 * element is drawn by itself, and keep values of the fill. No NaN is drawn in an input whose values
 * a rule orders, and neither NaN nor infinity if an output holds whole numbers.
 *
 * The member's key determines which inputs a band changes, and by how much. A band can make answers
 * overflow; kl_poolmake_further() then draws it again with a larger `attempt`, which stays closer
 * to ordinary numbers.
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
/* Most bands of a point: one `graded` for each dim, and one of every other kind. */
#define KL_FURTHER_MAX (KL_FURTHERS - 1 + KL_MAX_DIMS)

/** List the bands that can be drawn at a point. Returns their number. */
size_t kl_further_list(char band[KL_FURTHER_MAX][32], const struct kl_job *job,
		       const struct kl_point *pt);
/** Return how many attempts at a member differ; see kl_further_fill(). */
int kl_further_tries(const struct kl_job *job, const struct kl_member *member);
/** Set the fields that say how answers to a member of this band are judged (member.h). */
void kl_further_mark(struct kl_member *member, const struct kl_job *job);
/**
 * Draw argument `arg` of a member from its fill, under a key derived from `key`, then change it as
 * the band says. `attempt` is 0 at first; with a larger one, scaling bands scale less.
 */
int kl_further_fill(void *out, const struct kl_job *job, const struct kl_member *member,
		    const struct kl_key *key, size_t arg, int attempt);

/* For further_draw.c. */

/**
 * Return the kind of a band; KL_FURTHERS: it is not a further band. For `graded`, *dim is its dim.
 */
enum kl_further kl_further_find(const struct kl_job *job, const char *band, size_t *dim);
/** Return true if the band can change this argument. `dim`: the dim of a `graded` band. */
bool kl_further_touches(const struct kl_job *job, const struct kl_point *pt,
			enum kl_further further, size_t dim, size_t arg);
/** Return 1 + the axis of the argument whose extent is the dim; 0: no axis. */
int kl_further_axis(const struct kl_job *job, size_t arg, size_t dim);

#endif
