/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_ROUNDTRIP_H
#define KL_APPLY_ROUNDTRIP_H

#include "apply/materialize.h"

/*
 * roundtrip - measures how much of an expert's performance cards bring back. From K_0 of a lineage
 * a run (materialize.h) goes as far as it comes; what it made is timed against K*. Each trial is a
 * run of its own, `<name>-<i>`, with a conversation of its own.
 */
#define KL_ROUNDTRIP_TRIALS 5
#define KL_ROUNDTRIP_SUCCESS 900000 /* of K*'s performance, millionths */

struct kl_roundtrip_trial {
	struct kl_materialization m;
	char name[65];
	struct kl_card_ratio recovered; /* K*'s time over its best's: 1000000 is as fast */
	char event[KL_DIGEST_HEX];      /* that says so, in the note of its best */
	bool success;
	bool noisy; /* noise hides whether it is one: `again` measures anew */
};

struct kl_roundtrip {
	char *lineage;         /* "<workload>/<name>" */
	git_oid first, expert; /* K_0, K* */
	struct kl_surface *root, *goal;
	struct kl_roundtrip_trial *v;
	size_t n, alloc;
	size_t successes, noisy;
	enum kl_cards_arm arm; /* of the trials: what a model was told */
	bool held_out;         /* without cards learned from that lineage */
};

/** K_0 and K* of "<workload>/<name>" or a workload with one lineage. KL_ENOTFOUND. */
int kl_roundtrip_begin(struct kl_roundtrip *out, struct kl_repo *repo, const char *lineage);
/** Could the trials begin under that name? As kl_materialize_check. */
int kl_roundtrip_check(const struct kl_roundtrip *rt, const struct kl_materialize_opts *opts,
		       size_t trials);
/**
 * One trial more. `opts` says all but root and commit; its name is that of the trials. KL_ECANNOT:
 * how fast the result is cannot be told here.
 */
int kl_roundtrip_trial(struct kl_roundtrip *rt, const struct kl_materialize_opts *opts);
void kl_roundtrip_release(struct kl_roundtrip *rt);

#endif
