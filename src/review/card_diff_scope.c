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

static void diff_declared(struct kl_card_pair *pair, const struct kl_strvec *left,
			  const struct kl_strvec *right, const char *what, covers *verified)
{
	for (size_t i = 0; i < right->n; i++) {
		if (kl_strvec_has(left, right->v[i]))
			continue;
		if (verified(pair->now, right->v[i]))
			NOTE(pair, "scope-added",
			     "the scope has the %w %s now, where a trial or a derivation "
			     "verifies it",
			     what, right->v[i]);
		else
			ANSWER(pair, "scope-widened",
			       "the scope is widened to the %w %s, which nothing in 'ver' or "
			       "'effect' verifies",
			       what, right->v[i]);
	}
	for (size_t i = 0; i < left->n; i++)
		if (!kl_strvec_has(right, left->v[i]))
			NOTE(pair, "scope-narrowed", "the scope no longer has the %w %s", what,
			     left->v[i]);
}

/* What is asked of a target: less of it widens. */
static void diff_asked(struct kl_card_pair *pair, const struct kl_strvec *left,
		       const struct kl_strvec *right, const char *fewer, const char *more)
{
	for (size_t i = 0; i < left->n; i++)
		if (!kl_strvec_has(right, left->v[i]))
			ANSWER(pair, "scope-widened", fewer, left->v[i]);
	for (size_t i = 0; i < right->n; i++)
		if (!kl_strvec_has(left, right->v[i]))
			NOTE(pair, "scope-narrowed", more, right->v[i]);
}

static void diff_promised(struct kl_card_pair *pair, const struct kl_strvec *left,
			  const struct kl_strvec *right, const char *where)
{
	for (size_t i = 0; i < right->n; i++)
		if (!kl_strvec_has(left, right->v[i]))
			ANSWER(pair, "provides-added", "it promises the fact %s in '%w'",
			       right->v[i], where);
	for (size_t i = 0; i < left->n; i++)
		if (!kl_strvec_has(right, left->v[i]))
			NOTE(pair, "provides-removed", "it no longer promises the fact %s in '%w'",
			     left->v[i], where);
}

void kl_card_diff_scope(struct kl_card_pair *pair)
{
	const struct kl_card_scope *left = &pair->old->scope, *right = &pair->now->scope;

	diff_declared(pair, &left->cases, &right->cases, "case", kl_card_diff_case_verified);
	diff_declared(pair, &left->languages, &right->languages, "language",
		      kl_card_diff_language_verified);
	diff_asked(pair, &left->needs, &right->needs,
		   "the scope is widened: platforms need not have %s any more",
		   "platforms must have %s");
	diff_asked(pair, &left->requires, &right->requires,
		   "the scope is widened: %s need not be there any more",
		   "%s must be there before");
	diff_asked(pair, &left->conflicts, &right->conflicts,
		   "the scope is widened: %s is no conflict any more", "%s is a conflict now");
	diff_promised(pair, &left->provides, &right->provides, "scope");
}

/* --- effect --------------------------------------------------------------------------- */

static const char *const by_words[] = { "a trial", "a derivation anew", "nothing verified" };

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
		int depth = strcmp(events->v[mid], id);

		if (!depth)
			return true;
		if (depth < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

static void diff_row(struct kl_card_pair *pair, const struct kl_card_row *left,
		     const struct kl_card_row *right)
{
	char end[SHORT + 1];

	brief_id(end, left->event);
	if (right->ratio.ppm > left->ratio.ppm || right->ratio.lo > left->ratio.lo)
		ANSWER(pair, "effect-raised",
		       "the effect for %s on %s is raised from %rx to %rx, and the event is the "
		       "same (%w)",
		       left->case_, left->platform, left->ratio.ppm, right->ratio.ppm, end);
	else if (memcmp(&left->ratio, &right->ratio, sizeof(left->ratio)))
		NOTE(pair, "effect-lowered", "the effect for %s on %s is %rx, before %rx",
		     left->case_, left->platform, right->ratio.ppm, left->ratio.ppm);
	if (right->by < left->by)
		ANSWER(pair, "effect-verified",
		       "the effect for %s on %s is said to be measured by %w, before by %w, "
		       "and the event is the same (%w)",
		       left->case_, left->platform, by_words[right->by], by_words[left->by], end);
	if (strcmp(left->case_, right->case_) || strcmp(left->dtype, right->dtype) ||
	    strcmp(left->language, right->language) || strcmp(left->platform, right->platform))
		ANSWER(pair, "effect-moved",
		       "the event %w is said to be of %s %s %s %s, before of %s %s %s %s", end,
		       right->case_, right->dtype, right->language, right->platform, left->case_,
		       left->dtype, left->language, left->platform);
}

void kl_card_diff_effect(struct kl_card_pair *pair, const struct kl_strvec *old_events)
{
	char end[SHORT + 1];

	for (size_t i = 0; i < pair->old->rows.n; i++) {
		const struct kl_card_row *left = &pair->old->rows.v[i],
					 *right = find_row(pair->now, left);

		if (right)
			diff_row(pair, left, right);
		else
			ANSWER(pair, "effect-removed",
			       "a measured effect is gone: %rx for %s on %s (event %w)",
			       left->ratio.ppm, left->case_, left->platform,
			       brief_id(end, left->event));
	}
	for (size_t i = 0; i < pair->now->rows.n; i++) {
		const struct kl_card_row *right = &pair->now->rows.v[i];

		if (find_row(pair->old, right))
			continue;
		if (cites_event(old_events, right->event))
			ANSWER(pair, "effect-raised",
			       "a new effect of %rx for %s on %s rests on no new event (%w)",
			       right->ratio.ppm, right->case_, right->platform,
			       brief_id(end, right->event));
		else
			NOTE(pair, "effect-added",
			     "a new effect: %rx for %s on %s, by %w (event %w)", right->ratio.ppm,
			     right->case_, right->platform, by_words[right->by],
			     brief_id(end, right->event));
	}
	diff_promised(pair, &pair->old->provides, &pair->now->provides, "effect");
	if (!pair->old->enables.n != !pair->now->enables.n)
		ANSWER(pair, "effect-kind",
		       pair->now->enables.n ? "a win by itself is said to be an enabler" :
					      "an enabler is said to be a win by itself");
	for (size_t i = 0; i < pair->now->enables.n && pair->old->enables.n; i++)
		if (!kl_strvec_has(&pair->old->enables, pair->now->enables.v[i]))
			ANSWER(pair, "enables-added",
			       "it is said to make room for the card %s, too",
			       pair->now->enables.v[i]);
	for (size_t i = 0; i < pair->old->enables.n && pair->now->enables.n; i++)
		if (!kl_strvec_has(&pair->now->enables, pair->old->enables.v[i]))
			NOTE(pair, "enables-removed", "it no longer makes room for the card %s",
			     pair->old->enables.v[i]);
}
