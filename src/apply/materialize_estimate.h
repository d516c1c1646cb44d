/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_MATERIALIZE_ESTIMATE_H
#define KL_APPLY_MATERIALIZE_ESTIMATE_H

#include "apply/materialize.h"

/*
 * materialize_estimate - what the conversation of a run is likely to cost, before anything is
 * sent. What is assumed
 * is part of the answer; the two ends are sums over its requests, each with all that was said
 * before it (session.h, kl_session_cost).
 */
struct kl_materialize_estimate {
	int64_t cards;        /* that fit the root, and are told whole */
	int64_t prefix_bytes; /* system texts: rules, cards, contract */
	int64_t state_bytes;  /* sources */
	int64_t requests[2];  /* at least, at most; likewise below */
	int64_t reply_tokens[2];
	int64_t nano[2]; /* dollars; 0: it is not metered */
};

int kl_materialize_estimate(struct kl_materialize_estimate *out,
			    const struct kl_materialize_opts *opts);

#endif
