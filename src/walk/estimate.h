/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_ESTIMATE_H
#define KL_WALK_ESTIMATE_H

#include "contract/surface.h"
#include "event/facts.h"
#include "model/session.h"

/*
 * estimate - estimates lower and upper bounds on the cost of a walk with a model, before anything
 * is sent. The bounds are sums over the expected conversations; each request of a conversation
 * includes all turns before it (session.h, kl_session_cost). The assumptions of the estimate are
 * kept, to be printed with the bounds.
 *
 *	kl_estimate_assume(&e, &of);
 *	kl_estimate_walk(&e, session);
 */
struct kl_estimate {
	/* assumptions; arrays of two are { lower bound, upper bound } */
	bool proposes, derives; /* the model proposes steps; the model re-derives steps */
	int64_t steps[2];       /* accepted steps */
	int64_t rejections[2];  /* rejected proposals of the model */
	int64_t attempts[2];    /* attempts to re-derive one step */
	int64_t reply_tokens[2];
	int64_t state_bytes; /* size of the sources */
	/*
	 * sizes of the prompts to propose, to re-derive, and to audit traits, without the sources
	 */
	int64_t prompt_bytes[3];
	/* results */
	int64_t requests[2];
	int64_t nano[2]; /* nano-dollars; 0 if the provider is not metered */
};

/** The walk to estimate; all pointers are borrowed. */
struct kl_estimate_of {
	struct kl_repo *repo;
	const struct kl_surface *expert;
	const struct kl_mechanisms *mechanisms;
	const char *rewriters, *rederive; /* if `rederive` is NULL, no step is re-derived */
	int64_t step_limit, rejection_limit;
};

/**
 * Set the assumptions. Builds the prompts to learn their sizes; fails if a prompt cannot be built.
 */
int kl_estimate_assume(struct kl_estimate *estimate, const struct kl_estimate_of *of);
/** Compute the number of requests and the cost from the assumptions. */
void kl_estimate_walk(struct kl_estimate *estimate, const struct kl_session *session);

#endif
