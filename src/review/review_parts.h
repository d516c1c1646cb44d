/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REVIEW_REVIEW_PARTS_H
#define KL_REVIEW_REVIEW_PARTS_H

#include "review/review.h"

/* review_parts - what the files of a review share. Inside src/review only. */
struct kl_review_work {
	struct kl_review *v;
	struct kl_repo *r;
	git_oid base_tree, head_tree;
	git_oid *commit; /* of the range, oldest first */
	size_t ncommit;
	struct kl_strvec paths; /* that differ, sorted */
};

/** Resolve `text`, fill all of `work` but `v` and `r`, and the range of the review. */
int kl_review_range(struct kl_review_work *work, const char *text);
/** Contracts, kernels and commits. */
int kl_review_kernels(struct kl_review_work *work);
/** Cards whose preconditions a kernel violates that they are used in. */
struct kl_surface;
int kl_review_violations(struct kl_findings *out, struct kl_review_work *work,
			 const struct kl_surface *old, const struct kl_surface *now);
int kl_review_cards(struct kl_review_work *work);

/** A new last item; `title` by kl_finding_addf. Borrowed until the next one of that part. */
struct kl_review_item *kl_review_add(struct kl_review_work *work, enum kl_review_part part,
				     const char *title, ...);

#endif
