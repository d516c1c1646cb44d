/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_AGENT_H
#define KL_APPLY_AGENT_H

#include "card/card.h"
#include "rewrite/driver.h"
#include "text/json.h"

/*
 * agent - a model that writes edits by cards: what is known of a kernel becomes a turn, a reply
 * becomes an edit. The conversation is driver.h's; what a reply leads to, and what is asked next,
 * its user decides (materialize_agent.c, learn/admit_attempt.c). Cards stand whole in the system
 * texts, the same at every turn, so that a provider keeps them in its cache.
 *
 *	struct kl_driver d = { .repo = repo, ... };
 *	err = kl_agent_open(&d, "admit", cards, state);
 *	while (!err && kl_driver_next(&d) && !(err = kl_agent_ask(&answer, &d, &question)))
 *		... judge answer.to, choose the next turn ...
 */

/** Opens the conversation: `prompt` is "materialize", "admit" or "control", `cards` its @CARDS@. */
int kl_agent_open(struct kl_driver *driver, const char *prompt, const char *cards,
		  const struct kl_surface *state);

struct kl_agent_question {
	const struct kl_surface *state;
	const struct kl_event *facts; /* of the state, or NULL */
	const char *offer;            /* cards that it may take, for people and models; "" */
	const char *offered;          /* the same for the key: their ids */
	/* what came of the turn before */
	const char *class_;           /* NULL: there was none */
	const char *outcome;          /* a sentence */
	const char *missing;          /* of what the card is to bring, or NULL */
	const struct kl_event *event; /* what the gate said, or NULL */
};

struct kl_agent_answer {
	struct kl_surface *to;    /* NULL: it gives up */
	char *card;               /* that it names, or NULL */
	char *action, *mechanism; /* "" or NULL: none */
	char *text;               /* its own line; of who gives up, too */
	char *source;             /* "materialize.3" */
};
void kl_agent_answer_release(struct kl_agent_answer *answer);

/**
 * The present turn. 0: `out` has the answer; 1: the reply cannot be used, driver->why says why, and
 * what could be read of it is in `out`. Errors as kl_driver_ask. `out` has to be released in any
 * case.
 */
int kl_agent_ask(struct kl_agent_answer *out, struct kl_driver *driver,
		 const struct kl_agent_question *question);

/* --- cards as they are told ------------------------------------------------------------- */

enum kl_cards_arm { KL_CARDS_FULL, KL_CARDS_LABELS, KL_CARDS_NONE }; /* --cards */
/** "full", "labels", "none"; NULL: there is no such arm. */
const char *kl_cards_arm_name(enum kl_cards_arm arm);

/** Fenced: the whole card, canonical, its carrier verbatim; or its id and intent alone. */
void kl_agent_card(struct kl_buf *out, const struct kl_card *card, enum kl_cards_arm arm);

#endif
