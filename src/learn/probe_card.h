/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_PROBE_CARD_H
#define KL_LEARN_PROBE_CARD_H

#include "card/library.h"
#include "learn/transition.h"
#include "probe/findings.h"

/*
 * probe_card - writes the findings of a probe into the card whose steps it probed.
 *
 * A measured clause becomes a `sound` condition with the state `witnessed`, and with a guard, so
 * that it holds for its operator and language only: `op != 'topk' || language != 'c' ||
 * (extent(cols) % 4 == 0)`. Its event is the failure where the clause is false. A clause of an
 * assumed condition is removed if every step of the card was probed and none needs it; it stays if
 * it was not tested.
 *
 *	kl_probe_card_ask(texts, sources, card);	the clauses to hold against the points
 *	kl_probe_card_put(&changed, library, card, step, n);
 */
#define KL_PROBE_CARD_SOURCE "card" /* source of the findings about the card's own clauses */

/** One step of the card, and the probe's findings about it; all borrowed. */
struct kl_probe_card_step {
	const struct kl_transition *transition;
	const struct kl_probing *probe; /* of the step's two states */
	const struct kl_probe_findings *findings;
};

/** Append the clauses of the card's assumed conditions, each with its guard. */
int kl_probe_card_ask(struct kl_strvec *texts, struct kl_strvec *sources,
		      const struct kl_card *card);
/**
 * Write the findings into the card, as one commit of the library; set *changed to true if there was
 * anything to write. `card` is the library's version.
 */
int kl_probe_card_put(bool *changed, struct kl_library *library, const struct kl_card *card,
		      const struct kl_probe_card_step *step, size_t n);

#endif
