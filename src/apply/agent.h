/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_AGENT_H
#define KL_APPLY_AGENT_H

#include "card/card.h"
#include "contract/surface.h"
#include "model/chat.h"
#include "rewrite/dialogue.h"
#include "text/json.h"

/*
 * agent - a model that writes edits by cards: one conversation, a turn at a time. What its replies lead to,
 * and what is asked next, is its user's affair (agent_trial.h, materialize_agent.h); here a question becomes
 * text, and a reply an edit of the state or a reason why not.
 *
 *	kl_agent_open(&a, &opts);
 *	err = kl_agent_ask(&answer, a, turn, &question);
 *	if (!err && answer.to) ... judge it
 *	kl_agent_answer_release(&answer);
 *
 * Turns that are stored are answered from the repository (chat.h): going through a conversation
 * again costs nothing. The system texts are the same at every turn, so that a provider keeps them in its
 * cache; cards stand in them whole.
 */
struct kl_agent;

struct kl_agent_opts {
	struct kl_repo *repo;
	struct kl_chat *chat;
	const char *name, *phase;	/* of the conversation */
	const char *rewriter;		/* "chat" or "exec" */
	const char *prompt;		/* system text: "materialize", "admit", "control" */
	const char *cards;		/* for its place @CARDS@ */
	const struct kl_surface *state;	/* whose contract is told */
};

/** Borrows all of `o` but the texts. Errors as kl_talk_open. */
int kl_agent_open(struct kl_agent **out, const struct kl_agent_opts *o);
void kl_agent_free(struct kl_agent *a);
KL_DEFINE_CLEANUP(struct kl_agent *, kl_agent_free)
size_t kl_agent_turns(const struct kl_agent *a);	/* stored */
/** Do the system texts tell of this card? Those that are stored stand, whatever was to be told now. */
bool kl_agent_knows(const struct kl_agent *a, const char *card);
/** How the digest of a stored turn's state begins, and what it asked for; false: it does not say. */
bool kl_agent_turn_state(char digest[13], enum kl_dialogue_kind *kind, const struct kl_agent *a, size_t turn);

struct kl_agent_question {
	enum kl_dialogue_kind kind;	/* STEP shows the state, the others do not; AGAIN: see `why` */
	const char *prompt;		/* the turn's template; NULL: that of AGAIN */
	const struct kl_surface *state;
	const json_t *facts;		/* event of the state, or NULL */
	const char *offer;		/* cards that it may take, for people and models; "" */
	const char *offered;		/* the same for the key: their ids */
	/* what came of the turn before */
	const char *class_;		/* NULL: there was none */
	const char *outcome;		/* a sentence */
	const char *missing;		/* of what the card is to bring, or NULL */
	const json_t *event;		/* what the gate said, or NULL */
	const char *why;		/* AGAIN: why the reply could not be used */
	int repair;
};

struct kl_agent_answer {
	struct kl_surface *to;		/* NULL: no edit came */
	char *why;			/* of no edit: why the reply cannot be used; NULL: it gives up */
	char *card;			/* that it names, or NULL */
	char *action, *mechanism;	/* "" or NULL: none */
	char *text;			/* its own line; of who gives up, too */
	char *source;			/* "materialize.3" */
};
void kl_agent_answer_release(struct kl_agent_answer *a);

/** Errors as kl_talk_ask: KL_ENO is the budget's. */
int kl_agent_ask(struct kl_agent_answer *out, struct kl_agent *a, size_t turn,
		 const struct kl_agent_question *q);

/** What the conversation did cost so far, nano-dollars; -1: it is not metered. `*model` is borrowed. */
int64_t kl_agent_cost(const char **model, const struct kl_agent *a);

/* --- cards as they are told ------------------------------------------------------------- */

enum kl_cards_arm { KL_CARDS_FULL, KL_CARDS_LABELS, KL_CARDS_NONE };	/* --cards */
/** "full", "labels", "none"; NULL: there is no such arm. */
const char *kl_cards_arm_name(enum kl_cards_arm arm);

/** Fenced: the whole card, canonical, its carrier verbatim; or its id and intent alone. */
void kl_agent_card(struct kl_buf *out, const struct kl_card *c, enum kl_cards_arm arm);

#endif
