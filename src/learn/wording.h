/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_WORDING_H
#define KL_LEARN_WORDING_H

#include "learn/lift.h"
#include "learn/wording_reply.h"
#include "model/session.h"
#include "retrieve/taxonomy.h"

/*
 * wording - a model words the new cards of a lift (lift.h): intent, anchor, carriers, conditions
 * and risks from diffs, places, profiles and code of the steps. It writes words, and no evidence.
 *
 *	kl_lift_run(&lift, &t, library);
 *	kl_wording_open(&w, &lift, &opts);
 *	for (i = 0; i < lift.n; i++)
 *		kl_wording_do(&w, i);		one conversation; lift.v[i].card has the words then
 *	kl_wording_release(&w);
 *
 * What it writes is checked against the data before any of it is believed (docs/formats.md, "Words
 * of a card"): names in a predicate are of facts that are known of a step's state before; a `sound`
 * predicate holds in at least one of these and is false in none; a witness is a refused step at
 * which the predicate was false; a risk cites steps that failed so; no text tells a speed. What
 * does not hold is told to the model, which answers again, three times in all; then the card keeps
 * its measured words. Conversations are
 * refs/klineage/chat/<workload>/<name>/lift-<mechanism>-<digest> of the transition that came first,
 * in that workload's ledger and the budget `induce`.
 */
struct kl_wording_opts {
	struct kl_repo *repo;
	const char *who; /* "chat" or "exec" */
	/** The conversation of a workload, borrowed; the last one may go. */
	int (*open)(struct kl_session **out, const char *workload, void *payload);
	void *payload;
};

struct kl_wording {
	struct kl_lift *lift;
	struct kl_wording_opts o;
	struct kl_mechanisms mechanisms;
	struct kl_taxonomy *tax;
	size_t asked, worded; /* cards */
};

int kl_wording_open(struct kl_wording *out, struct kl_lift *lift,
		    const struct kl_wording_opts *opts);
void kl_wording_release(struct kl_wording *wording);

/** Is there anything to word? Of cards that are there already the words stay. */
bool kl_wording_wants(const struct kl_wording *wording, size_t i);
/**
 * Word result i. 0 also if no usable answer came, or the budget allows none: the lift's notes say
 * so. Errors are the provider's.
 */
int kl_wording_do(struct kl_wording *wording, size_t i);

/** What it would cost: requests and nano-dollars, at least and at most. Nothing is sent. */
struct kl_wording_estimate {
	int64_t cards, requests[2], nano[2];
};
int kl_wording_estimate(struct kl_wording_estimate *out, struct kl_wording *wording);

#endif
