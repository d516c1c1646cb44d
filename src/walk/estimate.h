/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_ESTIMATE_H
#define KL_WALK_ESTIMATE_H

#include "contract/surface.h"
#include "event/facts.h"
#include "model/session.h"

/*
 * estimate - what a walk with a model is likely to cost, before anything is sent. The assumptions
 * are part of the answer; the two ends are sums over the conversations that they
 * imply, each request with all that was said before it (session.h, kl_session_cost).
 *
 *	kl_estimate_assume(&e, &of);
 *	kl_estimate_walk(&e, session);
 */
struct kl_estimate {
	/* assumed */
	bool proposes, derives; /* the model */
	int64_t steps[2];       /* accepted: at least, at most; likewise below */
	int64_t rejections[2];  /* of the model's proposals */
	int64_t attempts[2];    /* at each re-derivation */
	int64_t reply_tokens[2];
	int64_t state_bytes; /* sources */
	/* to propose, to derive, to read traits: all but the sources */
	int64_t prompt_bytes[3];
	/* computed */
	int64_t requests[2];
	int64_t nano[2]; /* dollars; 0 if it is not metered */
};

/** What a walk from `expert` is assumed to be: all borrowed. */
struct kl_estimate_of {
	struct kl_repo *repo;
	const struct kl_surface *expert;
	const struct kl_mechanisms *mechanisms;
	const char *rewriters, *rederive; /* rederive NULL: nobody */
	int64_t step_limit, rejection_limit;
};

/** Errors as those of the prompts, which are filled to see how long they are. */
int kl_estimate_assume(struct kl_estimate *estimate, const struct kl_estimate_of *of);
void kl_estimate_walk(struct kl_estimate *estimate, const struct kl_session *session);

#endif
