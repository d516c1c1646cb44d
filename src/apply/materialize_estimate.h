/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_MATERIALIZE_ESTIMATE_H
#define KL_APPLY_MATERIALIZE_ESTIMATE_H

#include "apply/materialize.h"

/*
 * materialize_estimate - the likely cost of a run's conversation, before anything is sent. The
 * assumptions are part of the answer. The lower and upper bounds are sums over the requests; each
 * request includes all turns before it (session.h, kl_session_cost).
 */
struct kl_materialize_estimate {
	int64_t cards;        /* cards that fit the root and are shown in the prompt */
	int64_t prefix_bytes; /* system texts: rules, cards, contract */
	int64_t state_bytes;  /* size of the sources */
	int64_t requests[2];  /* { lower, upper bound }, as below */
	int64_t reply_tokens[2];
	int64_t nano[2]; /* nano-dollars; 0: not metered */
};

/** Estimate the run that `opts` describes. */
int kl_materialize_estimate(struct kl_materialize_estimate *out,
			    const struct kl_materialize_opts *opts);

#endif
