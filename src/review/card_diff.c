/* SPDX-License-Identifier: Apache-2.0 */
#include "review/card_diff.h"

#include <string.h>

#include "card/status.h"
#include "review/card_diff_parts.h"

/* --- texts -------------------------------------------------------------------------------- */

static void diff_line(struct kl_card_pair *pair, const char *what, const char *before,
		      const char *after)
{
	if (same_text(before, after))
		return;
	if (pair->trusted)
		ANSWER(pair, "edited-after-trials",
		       "'%w' was edited after trials passed with its old text: %s (was %s)", what,
		       after ? after : "nothing", before ? before : "nothing");
	else
		NOTE(pair, "edited", "'%w' is %s (was %s)", what, after ? after : "nothing",
		     before ? before : "nothing");
}

static bool same_list(const struct kl_strvec *a, const struct kl_strvec *b)
{
	for (size_t i = 0; i < a->n; i++)
		if (!kl_strvec_has(b, a->v[i]))
			return false;
	return a->n == b->n;
}

static bool same_find(const struct kl_card_find *a, const struct kl_card_find *b)
{
	bool same = same_list(&a->facts, &b->facts) && same_list(&a->loop_has, &b->loop_has) &&
		    a->constant.n == b->constant.n;

	for (size_t i = 0; same && i < a->constant.n; i++) {
		int64_t value;

		same = kl_card_dims_get(&value, &b->constant, a->constant.v[i].name) &&
		       value == a->constant.v[i].v;
	}
	return same;
}

static const struct kl_card_find *anchor_find(const struct kl_card *card, const char *language)
{
	for (size_t i = 0; i < card->anchor.find.n; i++)
		if (!strcmp(card->anchor.find.v[i].language, language))
			return &card->anchor.find.v[i];
	return NULL;
}

static void diff_find(struct kl_card_pair *pair)
{
	for (size_t i = 0; i < pair->old->anchor.find.n; i++) {
		const struct kl_card_find *before = &pair->old->anchor.find.v[i];
		const struct kl_card_find *after = anchor_find(pair->now, before->language);

		if (!after || !same_find(before, after))
			NOTE(pair, "anchor-find", "'anchor.find' for %s %w", before->language,
			     after ? "was changed" : "was removed");
	}
	for (size_t i = 0; i < pair->now->anchor.find.n; i++)
		if (!anchor_find(pair->old, pair->now->anchor.find.v[i].language))
			NOTE(pair, "anchor-find", "'anchor.find' for %s is new",
			     pair->now->anchor.find.v[i].language);
}

static const struct kl_card_carrier *find_carrier(const struct kl_card *card,
						  const struct kl_card_carrier *carrier)
{
	const struct kl_card_carrier *like = NULL;
	size_t n = 0;

	for (size_t i = 0; i < card->carriers.n; i++) {
		if (strcmp(card->carriers.v[i].language, carrier->language) ||
		    card->carriers.v[i].form != carrier->form)
			continue;
		if (same_text(card->carriers.v[i].of, carrier->of))
			return &card->carriers.v[i];
		like = &card->carriers.v[i];
		n++;
	}
	/* a card that has one carrier of the form may cite another event for it now */
	return n == 1 ? like : NULL;
}

static void diff_carriers(struct kl_card_pair *pair)
{
	for (size_t i = 0; i < pair->old->carriers.n; i++) {
		const struct kl_card_carrier *before = &pair->old->carriers.v[i],
					     *after = find_carrier(pair->now, before);
		const char *form = kl_carrier_form_name(before->form);

		if (!after)
			NOTE(pair, "carrier-removed", "the carrier for %s (%w) was removed",
			     before->language, form);
		else if (strcmp(before->text, after->text) && pair->trusted)
			ANSWER(pair, "carrier-edited",
			       "the carrier for %s (%w) was edited after admission: trials passed "
			       "with its old text",
			       before->language, form);
		else if (strcmp(before->text, after->text))
			NOTE(pair, "carrier-edited", "the carrier for %s (%w) was edited",
			     before->language, form);
		if (after && !same_text(before->of, after->of))
			NOTE(pair, "carrier-source",
			     "the carrier for %s (%w) cites another event as its source",
			     before->language, form);
	}
	for (size_t i = 0; i < pair->now->carriers.n; i++)
		if (!find_carrier(pair->old, &pair->now->carriers.v[i]))
			NOTE(pair, "carrier-added", "a carrier for %s (%w) is new",
			     pair->now->carriers.v[i].language,
			     kl_carrier_form_name(pair->now->carriers.v[i].form));
}

/* --- the card ------------------------------------------------------------------------------ */

/*
 * Report a change of status. A higher status needs no answer, because it is computed from trials,
 * and new trials are reported and checked elsewhere.
 */
static void diff_status(struct kl_card_pair *pair)
{
	enum kl_card_status before = pair->old->status, after = pair->now->status;
	const char *old = kl_card_status_name(before), *now = kl_card_status_name(after);

	if (before == after)
		return;
	if (after == KL_CARD_RETRACTED || after > before)
		NOTE(pair, "status", "the status is %w (was %w)", now, old);
	if (before == KL_CARD_RETRACTED)
		ANSWER(pair, "status", "the status is %w again (was retracted)", now);
	else if (after < before)
		ANSWER(pair, "status",
		       "the status is lowered to %w (was %w): trials that it depended on were "
		       "removed or no longer count",
		       now, old);
}

/*
 * Report a new card. If the card is provisional or admitted, also report the parts of its scope
 * that neither `ver` nor `effect` verifies.
 */
static void new_card(struct kl_card_pair *pair)
{
	const struct kl_card *card = pair->now;

	NOTE(pair, "card-added", "a new card, %w: %s", kl_card_status_name(card->status),
	     card->intent);
	for (size_t i = 0; i < card->ver.n; i++)
		kl_card_diff_print_trial(pair, &card->ver.v[i]);
	if (card->status != KL_CARD_ADMITTED && card->status != KL_CARD_PROVISIONAL)
		return;
	for (size_t i = 0; i < card->scope.cases.n; i++)
		if (!kl_card_diff_case_verified(card, card->scope.cases.v[i]))
			ANSWER(pair, "scope-unverified",
			       "the scope has the case %s, which nothing in 'ver' or 'effect' "
			       "verifies",
			       card->scope.cases.v[i]);
	for (size_t i = 0; i < card->scope.languages.n; i++)
		if (!kl_card_diff_language_verified(card, card->scope.languages.v[i]))
			ANSWER(pair, "scope-unverified",
			       "the scope has the language %s, which nothing in 'ver' or "
			       "'effect' verifies",
			       card->scope.languages.v[i]);
}

void kl_card_diff(struct kl_findings *out, const struct kl_card *old, const struct kl_card *now)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec events = KL_STRVEC_INIT;
	struct kl_card_pair pair = { .out = out, .old = old, .now = now };

	if (!old) {
		new_card(&pair);
		return;
	}
	pair.trusted = old->status == KL_CARD_ADMITTED || old->status == KL_CARD_PROVISIONAL;
	kl_card_events(&events, old);
	diff_status(&pair);
	kl_card_diff_pre(&pair);
	kl_card_diff_scope(&pair);
	kl_card_diff_effect(&pair, &events);
	kl_card_diff_evidence(&pair);
	kl_card_diff_risks(&pair);
	kl_card_diff_trials(&pair);
	diff_line(&pair, "intent", old->intent, now->intent);
	diff_line(&pair, "anchor.construct", old->anchor.construct, now->anchor.construct);
	diff_line(&pair, "anchor.acts_on", old->anchor.acts_on, now->anchor.acts_on);
	diff_find(&pair);
	diff_carriers(&pair);
	if (!same_text(old->mechanism, now->mechanism) || !same_text(old->action, now->action))
		NOTE(&pair, "mechanism", "mechanism and action are %s and %s (were %s and %s)",
		     now->mechanism, now->action, old->mechanism, old->action);
}
