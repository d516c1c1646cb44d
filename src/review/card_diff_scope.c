/* SPDX-License-Identifier: Apache-2.0 */
/* card_diff_scope - changes of a card's scope and effect */
#include <string.h>

#include "card/card_types.h"
#include "card/status.h"
#include "review/card_diff_parts.h"

/* --- scope -------------------------------------------------------------------------- */

typedef bool covers(const struct kl_card *c, const char *what);

bool kl_card_diff_case_verified(const struct kl_card *card, const char *what)
{
	for (size_t i = 0; i < card->rows.n; i++)
		if (kl_card_row_is_verified(card, &card->rows.v[i]) &&
		    !strcmp(card->rows.v[i].case_, what))
			return true;
	return false;
}

bool kl_card_diff_language_verified(const struct kl_card *card, const char *what)
{
	for (size_t i = 0; i < card->rows.n; i++)
		if (kl_card_row_is_verified(card, &card->rows.v[i]) &&
		    !strcmp(card->rows.v[i].language, what))
			return true;
	return false;
}

static void diff_declared(struct kl_card_pair *pair, const struct kl_strvec *before,
			  const struct kl_strvec *after, const char *what, covers *verified)
{
	for (size_t i = 0; i < after->n; i++) {
		if (kl_strvec_has(before, after->v[i]))
			continue;
		if (verified(pair->now, after->v[i]))
			NOTE(pair, "scope-added",
			     "the scope has the new %w %s, which a trial or a re-derivation "
			     "verifies",
			     what, after->v[i]);
		else
			ANSWER(pair, "scope-widened",
			       "the scope is widened to the %w %s, which nothing in 'ver' or "
			       "'effect' verifies",
			       what, after->v[i]);
	}
	for (size_t i = 0; i < before->n; i++)
		if (!kl_strvec_has(after, before->v[i]))
			NOTE(pair, "scope-narrowed", "the scope no longer has the %w %s", what,
			     before->v[i]);
}

/* Report changes of requirements on a target. A dropped requirement widens the scope. */
static void diff_required(struct kl_card_pair *pair, const struct kl_strvec *before,
			  const struct kl_strvec *after, const char *fewer, const char *more)
{
	for (size_t i = 0; i < before->n; i++)
		if (!kl_strvec_has(after, before->v[i]))
			ANSWER(pair, "scope-widened", fewer, before->v[i]);
	for (size_t i = 0; i < after->n; i++)
		if (!kl_strvec_has(before, after->v[i]))
			NOTE(pair, "scope-narrowed", more, after->v[i]);
}

static void diff_promised(struct kl_card_pair *pair, const struct kl_strvec *before,
			  const struct kl_strvec *after, const char *where)
{
	for (size_t i = 0; i < after->n; i++)
		if (!kl_strvec_has(before, after->v[i]))
			ANSWER(pair, "provides-added", "the card now promises the fact %s in '%w'",
			       after->v[i], where);
	for (size_t i = 0; i < before->n; i++)
		if (!kl_strvec_has(after, before->v[i]))
			NOTE(pair, "provides-removed",
			     "the card no longer promises the fact %s in '%w'", before->v[i],
			     where);
}

void kl_card_diff_scope(struct kl_card_pair *pair)
{
	const struct kl_card_scope *before = &pair->old->scope, *after = &pair->now->scope;

	diff_declared(pair, &before->cases, &after->cases, "case", kl_card_diff_case_verified);
	diff_declared(pair, &before->languages, &after->languages, "language",
		      kl_card_diff_language_verified);
	diff_required(pair, &before->needs, &after->needs,
		      "the scope is widened: platforms no longer need %s", "platforms now need %s");
	diff_required(pair, &before->requires, &after->requires,
		      "the scope is widened: %s is no longer required",
		      "%s is now required before the card");
	diff_required(pair, &before->conflicts, &after->conflicts,
		      "the scope is widened: %s is no longer a conflict", "%s is now a conflict");
	diff_promised(pair, &before->provides, &after->provides, "scope");
}

/* --- effect --------------------------------------------------------------------------- */

static const char *const by_words[] = { "a trial", "a re-derivation", "an unverified step" };

static const struct kl_card_row *find_row(const struct kl_card *card, const struct kl_card_row *row)
{
	for (size_t i = 0; i < card->rows.n; i++)
		if (kl_schema_same_key(&card->rows.v[i], row, &kl_card_row_schema))
			return &card->rows.v[i];
	return NULL;
}

static bool cites_event(const struct kl_strvec *events, const char *id)
{
	for (size_t lo = 0, hi = events->n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;
		int order = strcmp(events->v[mid], id);

		if (!order)
			return true;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

static void diff_row(struct kl_card_pair *pair, const struct kl_card_row *before,
		     const struct kl_card_row *after)
{
	char id[SHORT + 1];

	brief_id(id, before->event);
	if (after->ratio.ppm > before->ratio.ppm || after->ratio.lo > before->ratio.lo)
		ANSWER(pair, "effect-raised",
		       "the effect for %s on %s is raised from %rx to %rx, but the event is the "
		       "same (%w)",
		       before->case_, before->platform, before->ratio.ppm, after->ratio.ppm, id);
	else if (memcmp(&before->ratio, &after->ratio, sizeof(before->ratio)))
		NOTE(pair, "effect-lowered", "the effect for %s on %s is %rx (was %rx)",
		     before->case_, before->platform, after->ratio.ppm, before->ratio.ppm);
	if (after->by < before->by)
		ANSWER(pair, "effect-verified",
		       "the effect for %s on %s is said to be measured by %w (was %w), but the "
		       "event is the same (%w)",
		       before->case_, before->platform, by_words[after->by], by_words[before->by],
		       id);
	if (strcmp(before->case_, after->case_) || strcmp(before->dtype, after->dtype) ||
	    strcmp(before->language, after->language) || strcmp(before->platform, after->platform))
		ANSWER(pair, "effect-moved",
		       "the event %w is said to be for %s %s %s %s (was for %s %s %s %s)", id,
		       after->case_, after->dtype, after->language, after->platform, before->case_,
		       before->dtype, before->language, before->platform);
}

void kl_card_diff_effect(struct kl_card_pair *pair, const struct kl_strvec *old_events)
{
	char id[SHORT + 1];

	for (size_t i = 0; i < pair->old->rows.n; i++) {
		const struct kl_card_row *before = &pair->old->rows.v[i],
					 *after = find_row(pair->now, before);

		if (after)
			diff_row(pair, before, after);
		else
			ANSWER(pair, "effect-removed",
			       "a measured effect was removed: %rx for %s on %s (event %w)",
			       before->ratio.ppm, before->case_, before->platform,
			       brief_id(id, before->event));
	}
	for (size_t i = 0; i < pair->now->rows.n; i++) {
		const struct kl_card_row *after = &pair->now->rows.v[i];

		if (find_row(pair->old, after))
			continue;
		if (cites_event(old_events, after->event))
			ANSWER(pair, "effect-raised",
			       "a new effect of %rx for %s on %s cites no new event (%w)",
			       after->ratio.ppm, after->case_, after->platform,
			       brief_id(id, after->event));
		else
			NOTE(pair, "effect-added",
			     "a new effect: %rx for %s on %s, by %w (event %w)", after->ratio.ppm,
			     after->case_, after->platform, by_words[after->by],
			     brief_id(id, after->event));
	}
	diff_promised(pair, &pair->old->provides, &pair->now->provides, "effect");
	if (!pair->old->enables.n != !pair->now->enables.n)
		ANSWER(pair, "effect-kind",
		       pair->now->enables.n ? "the card was said to gain speed by itself, and is "
					      "now said to enable other cards" :
					      "the card was said to enable other cards, and is now "
					      "said to gain speed by itself");
	for (size_t i = 0; i < pair->now->enables.n && pair->old->enables.n; i++)
		if (!kl_strvec_has(&pair->old->enables, pair->now->enables.v[i]))
			ANSWER(pair, "enables-added",
			       "the card is now also said to enable the card %s",
			       pair->now->enables.v[i]);
	for (size_t i = 0; i < pair->old->enables.n && pair->now->enables.n; i++)
		if (!kl_strvec_has(&pair->now->enables, pair->old->enables.v[i]))
			NOTE(pair, "enables-removed",
			     "the card is no longer said to enable the card %s",
			     pair->old->enables.v[i]);
}
