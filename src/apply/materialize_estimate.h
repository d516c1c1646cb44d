/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_MATERIALIZE_ESTIMATE_H
#define KL_APPLY_MATERIALIZE_ESTIMATE_H

#include "apply/materialize.h"

/*
 * materialize_estimate - estimates the cost of a run's conversation before anything is sent. The
 * result also has the assumptions of the estimate. The lower and upper bounds are sums over all
 * requests; each request includes all earlier turns (session.h, kl_session_cost).
 */
struct kl_materialize_estimate {
	int64_t cards;        /* number of cards that fit the root and are shown in the prompt */
	int64_t prefix_bytes; /* size of the system texts: rules, cards, contract */
	int64_t state_bytes;  /* size of the root's sources */
	/* number of requests; [0] is the lower bound, [1] the upper, here and below */
	int64_t requests[2];
	int64_t reply_tokens[2];
	int64_t nano[2]; /* cost in nano-dollars; 0 if not metered */
};

/** Estimate the run that `opts` describes. */
int kl_materialize_estimate(struct kl_materialize_estimate *out,
			    const struct kl_materialize_opts *opts);

#endif
