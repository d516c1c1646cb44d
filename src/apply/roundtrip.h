/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_ROUNDTRIP_H
#define KL_APPLY_ROUNDTRIP_H

#include "apply/materialize.h"

/*
 * roundtrip - measures how much of an expert kernel's performance cards recover. A run
 * (materialize.h) starts from K_0 of a lineage, and its best result is compared with K*. Each trial
 * is a separate run, `<name>-<i>`, with its own conversation.
 */
#define KL_ROUNDTRIP_TRIALS 5
/* least share of K*'s performance that a successful trial reaches, in millionths */
#define KL_ROUNDTRIP_SUCCESS 900000

struct kl_roundtrip_trial {
	struct kl_materialization m;
	char name[65];
	/* K*'s time divided by the time of the best state; 1000000 if they are equally fast */
	struct kl_ratio recovered;
	/*
	 * id of the event that compares the best state with K*, in the note of the best commit; ""
	 * if there is none
	 */
	char event[KL_DIGEST_HEX];
	bool success;
	bool noisy; /* noise may hide whether the trial is a success */
};

struct kl_roundtrip {
	char *lineage;         /* "<workload>/<name>" */
	git_oid first, expert; /* K_0, K* */
	struct kl_surface *root, *goal;
	struct kl_roundtrip_trial *v;
	size_t n, alloc;
	size_t successes, noisy;
	size_t waiting; /* number of trials that wait for a verdict; they have no result yet */
	enum kl_cards_arm arm; /* how cards were shown to the model in the trials */
	bool held_out;         /* cards learned from this lineage were left out */
};

/**
 * Load K_0 and K* of "<workload>/<name>", or of the only lineage of a workload. Return KL_ENOTFOUND
 * if there is no such lineage. Return KL_EUSAGE if the workload has several lineages.
 */
int kl_roundtrip_begin(struct kl_roundtrip *out, struct kl_repo *repo, const char *lineage);
/** Check with kl_materialize_check() that a run can begin under the name of each trial. */
int kl_roundtrip_check(const struct kl_roundtrip *rt, const struct kl_materialize_opts *opts,
		       size_t trials);
/**
 * Run one more trial. `opts` has everything but root and commit; its name is the prefix of the names
 * of the trials' runs. If a verdict comes later, only rt->waiting is counted; once the results are
 * imported, forget the trials and run them again with the option `again`. Return KL_ECANNOT if the
 * speed of the result cannot be measured here.
 */
int kl_roundtrip_trial(struct kl_roundtrip *rt, const struct kl_materialize_opts *opts);
/** Forget the trials that were run, but not the lineage. */
void kl_roundtrip_forget(struct kl_roundtrip *rt);
void kl_roundtrip_release(struct kl_roundtrip *rt);

#endif
