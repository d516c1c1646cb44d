/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_WORDING_H
#define KL_LEARN_WORDING_H

#include "learn/lift.h"
#include "learn/wording_reply.h"
#include "model/session.h"
#include "retrieve/taxonomy.h"

/*
 * wording - lets a model write the texts of the new cards of a lift (lift.h). The model gets the
 * diffs, places, profiles and code of the steps, and words intent, anchor, carriers, conditions and
 * risks. It cannot add evidence.
 *
 *	kl_lift_run(&lift, &t, library);
 *	kl_wording_open(&w, &lift, &opts);
 *	for (i = 0; i < lift.n; i++)
 *		kl_wording_do(&w, i);		one conversation; sets lift.v[i].card
 *	kl_wording_release(&w);
 *
 * The texts are checked against the data before they are used (docs/formats.md, "Words of a card"):
 * a predicate names only facts that are known for the state before some step; a `sound` predicate
 * holds for at least one of these states and is false for none; a witness is a refused step at
 * which the predicate was false; a risk cites steps that failed with its class; no text states a
 * speed. The model gets the errors and can answer three times in all; after that the card keeps the
 * texts that lift wrote. The name of the conversation is
 * refs/klineage/chat/<workload>/<name>/lift-<mechanism>-<digest> of the group's first transition.
 * Its cost is charged to the ledger of that workload, in the budget `induce`.
 */
struct kl_wording_opts {
	struct kl_repo *repo;
	const char *who; /* the rewriter: "chat" or "exec" */
	/** Open the session of a workload; *out is borrowed, and valid until the next call. */
	int (*open)(struct kl_session **out, const char *workload, void *payload);
	void *payload;
};

struct kl_wording {
	struct kl_lift *lift;
	struct kl_wording_opts o;
	struct kl_mechanisms mechanisms;
	struct kl_taxonomy *tax;
	/* number of cards for which a model was asked; number of those that were reworded */
	size_t asked, worded;
};

int kl_wording_open(struct kl_wording *out, struct kl_lift *lift,
		    const struct kl_wording_opts *opts);
void kl_wording_release(struct kl_wording *wording);

/** Check that result i is a new card, because only new cards are reworded. */
bool kl_wording_wants(const struct kl_wording *wording, size_t i);
/**
 * Reword the card of result i. If there was no usable answer or the budget is spent, return 0 and
 * add the reason to the notes of the lift. Other errors are those of the provider and the
 * repository.
 */
int kl_wording_do(struct kl_wording *wording, size_t i);

/** Estimated numbers of requests and nano-dollars: [0] is the least, [1] the most. */
struct kl_wording_estimate {
	int64_t cards, requests[2], nano[2];
};
int kl_wording_estimate(struct kl_wording_estimate *out, struct kl_wording *wording);

#endif
