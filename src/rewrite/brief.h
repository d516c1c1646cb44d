/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_BRIEF_H
#define KL_REWRITE_BRIEF_H

#include "rewrite/driver.h"
#include "rewrite/rewriter.h"

/*
 * brief - composes the texts of a dialogue about a state: system texts and the text of each turn.
 *
 * The text of a turn depends only on the walk's record at the time of the turn, so a request that
 * is repeated after a crash has the same text. The provider `replay` finds a reply by the turn's
 * key, also in a recording from another repository. The key depends only on the state's digest and
 * on the actions, places and classes of earlier steps: it has no times, random indices, compiler
 * messages or facts.
 *
 * The first line of a turn identifies it; kl_brief_head_read() reads it from a stored turn.
 */

/** Why a turn is made; a member that does not apply to the turn's kind is NULL. */
struct kl_brief_of {
	const json_t *refused; /* record of the step that was refused in the previous turn */
	const char *foreign;   /* the facts that make a step compound, so that it must be split */
};

/**
 * Append the system texts of a prompt ("deoptimize", "rederive"); texts that change least often
 * come first.
 */
int kl_brief_system(struct kl_strvec *out, struct kl_repo *repo, const char *prompt,
		    const struct kl_surface *surface, const struct kl_mechanisms *mechanisms);

/** Append the system texts of a prompt about cards; `cards` replaces @CARDS@. */
int kl_brief_system_cards(struct kl_strvec *out, struct kl_repo *repo, const char *prompt,
			  const struct kl_surface *surface, const char *cards);

/** Append the system texts of a prompt without placeholders. */
int kl_brief_system_plain(struct kl_strvec *out, struct kl_repo *repo, const char *prompt);

/** Fill in `out` for the current turn of the conversation about a walk's state. */
void kl_brief_turn(struct kl_driver_turn *out, const struct kl_rewrite *rw,
		   const struct kl_driver *driver, const struct kl_brief_of *of);

/** Append `text` as valid UTF-8 (kl_utf8_clean); every text goes through this before it is sent. */
void kl_brief_clean(struct kl_buf *out, const struct kl_buf *text);

/** Append the first line of a turn: "[back-3, turn 2, state 0123456789ab: repair]". */
void kl_brief_head(struct kl_buf *out, const char *phase, size_t turn,
		   const struct kl_surface *surface, enum kl_dialogue_kind kind);
/**
 * Read the turn's kind and the first 12 digits of its state's digest from the first line of a
 * stored turn. If the line is not of this form, `state` becomes "" and *kind is unchanged.
 */
void kl_brief_head_read(enum kl_dialogue_kind *kind, char state[13], const char *user,
			const char *phase, size_t turn);
/** Check that a stored turn is about `surface`. Return KL_EEXISTS if it is about another state. */
int kl_brief_head_check(const char *state, const char *phase, size_t turn,
			const struct kl_surface *surface);

/** Return `source` of the proposal from turn `turn` (from 0): "back-3.2". Caller frees. */
char *kl_brief_source(const char *phase, size_t turn);
/**
 * Find the record of a rejected proposal from turn `turn`, or of a part of it ("back-3.2@split");
 * NULL if there is none. Borrowed.
 */
const json_t *kl_brief_record(const struct kl_rewrite *rw, const struct kl_driver *driver,
			      size_t turn);

#endif
