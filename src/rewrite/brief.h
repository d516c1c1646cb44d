/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_BRIEF_H
#define KL_REWRITE_BRIEF_H

#include "rewrite/driver.h"
#include "rewrite/rewriter.h"

/*
 * brief - the texts of a dialogue about one state: system texts, and the user's text of each turn.
 * Everything follows from the walk's records as they were when the turn was due, so that asking
 * again after a crash says the same; and so does the key, by which a recorded reply is found
 * elsewhere: it has no time, no drawn index, no compiler's message and no fact in it, but the
 * state's digest, actions, places and classes.
 *
 * The first line of each turn says which it is; kl_brief_head_read has it back from a
 * stored one.
 */

/** What the turn answers to; what does not concern its kind is NULL. */
struct kl_brief_of {
	const json_t *refused; /* record of the step that was refused */
	const char *foreign;   /* a step is compound */
};

/** The system texts, most stable first, of prompt "deoptimize", "rederive" or "traits". */
int kl_brief_system(struct kl_strvec *out, struct kl_repo *repo, const char *prompt,
		    const struct kl_surface *surface, const struct kl_mechanisms *mechanisms);

/** The same of prompts that tell of cards: `cards` stands at their place @CARDS@. */
int kl_brief_system_cards(struct kl_strvec *out, struct kl_repo *repo, const char *prompt,
			  const struct kl_surface *surface, const char *cards);

/** The same of a prompt that has no places. */
int kl_brief_system_plain(struct kl_strvec *out, struct kl_repo *repo, const char *prompt);

/** The present turn of the conversation about a walk's state. */
void kl_brief_turn(struct kl_driver_turn *out, const struct kl_rewrite *rw,
		   const struct kl_driver *driver, const struct kl_brief_of *of);

/** The last thing that is done to what is said: whatever came into it, it is text. */
void kl_brief_clean(struct kl_buf *out, const struct kl_buf *text);

/** "[back-3, turn 2, state 0123456789ab: repair]" */
void kl_brief_head(struct kl_buf *out, const char *phase, size_t turn,
		   const struct kl_surface *surface, enum kl_dialogue_kind kind);
/**
 * Read the head of a stored turn: the first digits of its state's digest, and what it asked for.
 * Without a head `state` becomes "" and `*kind` stays as it is.
 */
void kl_brief_head_read(enum kl_dialogue_kind *kind, char state[13], const char *user,
			const char *phase, size_t turn);
/** KL_EEXISTS: the stored turn is about another state than `surface`. */
int kl_brief_head_check(const char *state, const char *phase, size_t turn,
			const struct kl_surface *surface);

/** "back-3.2": the source of a proposal that turn 2 (from 0) led to. */
char *kl_brief_source(const char *phase, size_t turn);
/** The rejection of what turn `turn` led to, or of a part of it ("back-3.2@split"), or NULL. */
const json_t *kl_brief_record(const struct kl_rewrite *rw, const struct kl_driver *driver,
			      size_t turn);

#endif
