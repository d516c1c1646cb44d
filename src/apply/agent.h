/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_AGENT_H
#define KL_APPLY_AGENT_H

#include "card/card.h"
#include "rewrite/driver.h"
#include "text/json.h"

/*
 * agent - composes the turns in which a model edits a kernel by cards. A turn is composed from
 * facts of the kernel, and the model's edit is read from its reply. driver.h runs the conversation;
 * the callers (materialize_agent.c, learn/admit_attempt.c) judge the edit and choose the next turn.
 * The system texts contain the complete cards and are the same at every turn, so that a provider
 * can cache them.
 *
 *	struct kl_driver d = { .repo = repo, ... };
 *	err = kl_agent_open(&d, "admit", cards, state);
 *	while (!err && kl_driver_next(&d) && !(err = kl_agent_ask(&answer, &d, &question)))
 *		... judge answer.to, choose the next turn ...
 */

/**
 * Open the conversation. `prompt` names its system prompt: "materialize", "admit" or "control".
 * `cards` replaces @CARDS@ in that prompt.
 */
int kl_agent_open(struct kl_driver *driver, const char *prompt, const char *cards,
		  const struct kl_surface *state);

/* first word of the line of a request's key that lists the offered cards */
#define KL_AGENT_OFFERED "cards"

struct kl_agent_question {
	const struct kl_surface *state;
	const struct kl_event *facts; /* event with the facts of `state`, or NULL */
	const char *offer;            /* text that offers cards; "" if the turn offers none */
	const char *offered;          /* ids of the offered cards, for the request's key */
	/* result of the previous turn */
	/* class of the previous turn's edit; "" if the edit was correct; NULL in the first turn */
	const char *class_;
	const char *outcome; /* a sentence that tells the result of the previous turn, or NULL */
	/* facts that the card should have added but did not, or NULL */
	const char *missing;
	const struct kl_event *event; /* the gate's event for the previous edit, or NULL */
};

struct kl_agent_answer {
	struct kl_surface *to; /* the edited surface; NULL if the model gives up */
	char *card; /* id of the card that the model applied, as its reply says, or NULL */
	char *action, *mechanism; /* as the model's reply says; "" or NULL if it does not say */
	char *text;   /* the model's explanation of the edit; if `to` is NULL, why it gives up */
	char *source; /* the turn that gave the answer: "materialize.3" */
};
void kl_agent_answer_release(struct kl_agent_answer *answer);

/**
 * Send the current turn to the model. Return 0 with the answer in `out`, or 1 if the reply is
 * unusable: driver->why then has the reason, and `out` the parts that could be read. Errors are
 * those of kl_driver_ask(). The caller releases `out` in every case.
 */
int kl_agent_ask(struct kl_agent_answer *out, struct kl_driver *driver,
		 const struct kl_agent_question *question);

/* --- cards as shown to a model ----------------------------------------------------------- */

enum kl_cards_arm { KL_CARDS_FULL, KL_CARDS_LABELS, KL_CARDS_NONE }; /* values of --cards */
/** Return "full", "labels" or "none"; NULL if `arm` is out of range. */
const char *kl_cards_arm_name(enum kl_cards_arm arm);

/**
 * Write a card in a fence: with KL_CARDS_FULL, the complete canonical card; otherwise its id and
 * intent.
 */
void kl_agent_card(struct kl_buf *out, const struct kl_card *card, enum kl_cards_arm arm);

#endif
