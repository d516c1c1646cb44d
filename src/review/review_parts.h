/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REVIEW_REVIEW_PARTS_H
#define KL_REVIEW_REVIEW_PARTS_H

#include "event/belief.h"
#include "review/review.h"

/* review_parts - the state of a running review, shared by the files of src/review. */
struct kl_review_work {
	struct kl_review *v;
	struct kl_repo *r;
	git_oid base_tree, head_tree;
	git_oid *commit; /* the commits of the range, oldest first */
	size_t ncommit;
	struct kl_strvec paths;   /* paths that differ between the two trees, sorted */
	git_oid tip;              /* commit of the base; the range can begin at an earlier commit */
	struct kl_belief *belief; /* decides whose verdicts in the notes are believed */
};

/**
 * Resolve the range `text`. Fill in the range of the review, and all of `work` but `v`, `r` and
 * `belief`.
 */
int kl_review_range(struct kl_review_work *work, const char *text);
/** Review contracts, kernels and commits. */
int kl_review_kernels(struct kl_review_work *work);
struct kl_surface;
/**
 * Report each card that is in use in the kernel if one of the card's preconditions for correctness
 * is false for `now` and was not false for `old`.
 */
int kl_review_violations(struct kl_findings *out, struct kl_review_work *work,
			 const struct kl_surface *old, const struct kl_surface *now);
int kl_review_cards(struct kl_review_work *work);

/**
 * Append an item to a part. `title` is a format of kl_finding_addf(). The item is valid until the
 * next item is added to that part.
 */
struct kl_review_item *kl_review_add(struct kl_review_work *work, enum kl_review_part part,
				     const char *title, ...);

#endif
