/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_AGENT_H
#define KL_APPLY_AGENT_H

#include "card/card.h"
#include "rewrite/driver.h"
#include "text/json.h"

/*
 * agent - turns for a model that edits kernels by cards: it composes a turn from the facts of a
 * kernel and reads an edit from the reply. driver.h runs the conversation; the callers
 * (materialize_agent.c, learn/admit_attempt.c) judge the edit and choose the next turn. The system
 * texts contain the complete cards and are the same at every turn, so that a provider can cache
 * them.
 *
 *	struct kl_driver d = { .repo = repo, ... };
 *	err = kl_agent_open(&d, "admit", cards, state);
 *	while (!err && kl_driver_next(&d) && !(err = kl_agent_ask(&answer, &d, &question)))
 *		... judge answer.to, choose the next turn ...
 */

/** Open the conversation: `prompt` is "materialize", "admit", "control"; `cards`: its @CARDS@. */
int kl_agent_open(struct kl_driver *driver, const char *prompt, const char *cards,
		  const struct kl_surface *state);

struct kl_agent_question {
	const struct kl_surface *state;
	const struct kl_event *facts; /* of the state, or NULL */
	const char *offer;            /* text that offers cards; "": none */
	const char *offered;          /* ids of the offered cards, for the request's key */
	/* result of the turn before */
	const char *class_;           /* NULL: there was no turn before */
	const char *outcome;          /* a sentence */
	const char *missing;          /* facts that the card should have added, or NULL */
	const struct kl_event *event; /* of the gate, or NULL */
};

struct kl_agent_answer {
	struct kl_surface *to;    /* NULL: the model gives up */
	char *card;               /* named by the model, or NULL */
	char *action, *mechanism; /* "" or NULL: none */
	char *text;               /* the model's explanation, also when it gives up */
	char *source;             /* the turn: "materialize.3" */
};
void kl_agent_answer_release(struct kl_agent_answer *answer);

/**
 * Ask the current turn. Returns 0 with the answer in `out`; 1 if the reply is unusable, with the
 * reason in driver->why and the parts that could be read in `out`. Errors as kl_driver_ask. The
 * caller releases `out` in every case.
 */
int kl_agent_ask(struct kl_agent_answer *out, struct kl_driver *driver,
		 const struct kl_agent_question *question);

/* --- cards as shown to a model ----------------------------------------------------------- */

enum kl_cards_arm { KL_CARDS_FULL, KL_CARDS_LABELS, KL_CARDS_NONE }; /* --cards */
/** "full", "labels", "none"; NULL if `arm` is out of range. */
const char *kl_cards_arm_name(enum kl_cards_arm arm);

/** Write a card in a fence: the complete canonical card (KL_CARDS_FULL), or its id and intent. */
void kl_agent_card(struct kl_buf *out, const struct kl_card *card, enum kl_cards_arm arm);

#endif
