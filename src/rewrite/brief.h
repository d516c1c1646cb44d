/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_BRIEF_H
#define KL_REWRITE_BRIEF_H

#include "rewrite/driver.h"
#include "rewrite/rewriter.h"

/*
 * brief - composes the texts of a dialogue about a state: system texts and the text of each turn.
 *
 * A text depends only on the walk's records at the time the turn was due, so repeating a request
 * after a crash sends the same text. The key, by which a recorded reply is found in another
 * repository, depends only on the state's digest, actions, places and classes: it has no times, no
 * random indices, no compiler messages and no facts.
 *
 * The first line of a turn identifies it; kl_brief_head_read() reads it from a stored turn.
 */

/** The reason for a turn; members that do not apply to its kind are NULL. */
struct kl_brief_of {
	const json_t *refused; /* record of the step that was refused */
	const char *foreign;   /* why the step is compound */
};

/** Append the system texts of a prompt ("deoptimize", "rederive"), most stable first. */
int kl_brief_system(struct kl_strvec *out, struct kl_repo *repo, const char *prompt,
		    const struct kl_surface *surface, const struct kl_mechanisms *mechanisms);

/** The same for prompts about cards: `cards` replaces @CARDS@. */
int kl_brief_system_cards(struct kl_strvec *out, struct kl_repo *repo, const char *prompt,
			  const struct kl_surface *surface, const char *cards);

/** The same for a prompt without placeholders. */
int kl_brief_system_plain(struct kl_strvec *out, struct kl_repo *repo, const char *prompt);

/** Fill the current turn of the conversation about a walk's state. */
void kl_brief_turn(struct kl_driver_turn *out, const struct kl_rewrite *rw,
		   const struct kl_driver *driver, const struct kl_brief_of *of);

/** Append `text` as valid UTF-8 (kl_utf8_clean); every text goes through this before it is sent. */
void kl_brief_clean(struct kl_buf *out, const struct kl_buf *text);

/** Append the first line of a turn: "[back-3, turn 2, state 0123456789ab: repair]". */
void kl_brief_head(struct kl_buf *out, const char *phase, size_t turn,
		   const struct kl_surface *surface, enum kl_dialogue_kind kind);
/**
 * Read the first line of a stored turn: the first 12 digits of its state's digest, and its kind.
 * Without such a line `state` becomes "" and *kind is unchanged.
 */
void kl_brief_head_read(enum kl_dialogue_kind *kind, char state[13], const char *user,
			const char *phase, size_t turn);
/** KL_EEXISTS: the stored turn is about another state than `surface`. */
int kl_brief_head_check(const char *state, const char *phase, size_t turn,
			const struct kl_surface *surface);

/** "back-3.2": the source of a proposal from turn 2 (counted from 0). Caller frees. */
char *kl_brief_source(const char *phase, size_t turn);
/**
 * The record of the rejection of turn `turn`'s proposal, or of a part of it ("back-3.2@split");
 * NULL: none. Borrowed.
 */
const json_t *kl_brief_record(const struct kl_rewrite *rw, const struct kl_driver *driver,
			      size_t turn);

#endif
