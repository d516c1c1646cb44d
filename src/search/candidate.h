/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_CANDIDATE_H
#define KL_SEARCH_CANDIDATE_H

#include "search/cell.h"

/* candidate - judges a kernel that a ticket made, compares it with the root, and commits it. */

/**
 * Judge a kernel, and compare it with `root` unless `root` is NULL. If the kernel is correct but
 * the measurement is too noisy to tell which of the two is faster, measure again, at most twice. If
 * `anew` is true, ignore cached verdicts. The caller frees *out. The judgement is deferred if the
 * verdict comes from elsewhere. Return KL_ECANNOT if the gate cannot judge the kernel.
 */
int kl_candidate_judge(struct kl_judgement **out, struct kl_gate *gate,
		       const struct kl_surface *surface, const struct kl_surface *root, bool anew);

/** Fill in the outcome, the speed and the sizes of an observation from the gate's event. */
void kl_candidate_observe(struct kl_observation *out, const struct kl_event *event,
			  const struct kl_surface *surface);

/** Fill in an observation of the root. The root's speed is 1 by definition. */
void kl_candidate_observe_root(struct kl_observation *out, const struct kl_event *event,
			       const struct kl_surface *surface);

/** The data from which the message of a candidate's commit is made. */
struct kl_candidate_text {
	const char *policy, *form, *rewriter;
	const char *action; /* name of the change, such as "unroll"; NULL if not known */
	const char *why, *class_;
	int64_t ticket;
};

/**
 * Commit the kernel `to` on top of `parent`, which is the commit of the kernel `from`. Use the
 * author time of the parent, so that the same candidate always gets the same commit id.
 */
int kl_candidate_commit(git_oid *out, struct kl_repo *repo, const git_oid *parent,
			const struct kl_surface *from, const struct kl_surface *to,
			const struct kl_candidate_text *text);

#endif
