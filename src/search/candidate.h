/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_CANDIDATE_H
#define KL_SEARCH_CANDIDATE_H

#include "search/cell.h"

/* candidate - a kernel that a ticket made: judges it against the root, and commits it. */

/**
 * Judge a kernel and compare it with the root (NULL: no comparison). What is correct but too noisy
 * to tell is measured again, at most twice. `anew`: ignore cached verdicts. KL_ECANNOT: there is no
 * verdict.
 */
int kl_candidate_judge(struct kl_judgement **out, struct kl_gate *gate,
		       const struct kl_surface *surface, const struct kl_surface *root, bool anew);

/** Fill in the outcome, the speed and the sizes of an observation from the gate's event. */
void kl_candidate_observe(struct kl_observation *out, const struct kl_event *event,
			  const struct kl_surface *surface);

/** The same for the root, whose speed is 1 by definition. */
void kl_candidate_observe_root(struct kl_observation *out, const struct kl_event *event,
			       const struct kl_surface *surface);

/** What the commit of a candidate says. */
struct kl_candidate_text {
	const char *policy, *form, *rewriter;
	const char *action; /* "unroll"; NULL: not known */
	const char *why, *class_;
	int64_t ticket;
};

/**
 * Commit a kernel on the commit `parent` of the kernel `from`. Author time is that of the parent, so
 * that the same candidate gets the same id.
 */
int kl_candidate_commit(git_oid *out, struct kl_repo *repo, const git_oid *parent,
			const struct kl_surface *from, const struct kl_surface *to,
			const struct kl_candidate_text *text);

#endif
