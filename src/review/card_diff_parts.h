/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REVIEW_CARD_DIFF_PARTS_H
#define KL_REVIEW_CARD_DIFF_PARTS_H

#include <stdio.h>
#include <string.h>

#include "review/card_diff.h"

/*
 * card_diff_parts - the functions of card_diff*.c, each of which compares some fields of a card.
 *
 * They append findings. The formats of findings are those of review/finding.h: %s is quoted text of
 * the card, %w a word of our own, %r a ratio.
 */

/* Two versions of a card. */
struct kl_card_pair {
	struct kl_findings *out;
	const struct kl_card *old, *now;
	/* the old version is provisional or admitted, so trials passed with its text */
	bool trusted;
};

#define ANSWER(p, ...) kl_findings_add((p)->out, KL_ANSWER, __VA_ARGS__)
#define NOTE(p, ...) kl_findings_add((p)->out, KL_NOTE, __VA_ARGS__)
#define SHORT 12 /* a finding shows this many digits of an id */

static inline const char *brief_id(char out[SHORT + 1], const char *hex)
{
	snprintf(out, SHORT + 1, "%s", hex ? hex : "none");
	return out;
}

static inline bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* -- card_diff_pre.c: preconditions ------------------------------------------------- */

void kl_card_diff_pre(struct kl_card_pair *pair);

/* -- card_diff_scope.c: scope and effect -------------------------------------------- */

/**
 * Return true if `ver` or `effect` has a verified row for `what`: a case in the first function, a
 * language in the second.
 */
bool kl_card_diff_case_verified(const struct kl_card *card, const char *what);
bool kl_card_diff_language_verified(const struct kl_card *card, const char *what);
void kl_card_diff_scope(struct kl_card_pair *pair);
/** `old_events` has the ids of all events that the old version cites, sorted. */
void kl_card_diff_effect(struct kl_card_pair *pair, const struct kl_strvec *old_events);

/* -- card_diff_ver.c: evidence, risks, trials --------------------------------------------- */

void kl_card_diff_evidence(struct kl_card_pair *pair);
void kl_card_diff_risks(struct kl_card_pair *pair);
void kl_card_diff_trials(struct kl_card_pair *pair);
/** Append a note for a new trial or retraction. */
void kl_card_diff_print_trial(struct kl_card_pair *pair, const struct kl_card_trial *trial);

#endif
