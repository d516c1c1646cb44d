/* SPDX-License-Identifier: Apache-2.0 */
#include "review/card_diff.h"

#include <string.h>

#include "card/status.h"
#include "review/card_diff_parts.h"

/* --- words -------------------------------------------------------------------------------- */

static void diff_line(struct kl_card_pair *pair, const char *what, const char *left,
		      const char *right)
{
	if (same_text(left, right))
		return;
	if (pair->trusted)
		ANSWER(pair, "edited-after-trials",
		       "'%w' was edited after trials passed with other words: %s, before "
		       "%s",
		       what, right ? right : "nothing", left ? left : "nothing");
	else
		NOTE(pair, "edited", "'%w' is %s, before %s", what, right ? right : "nothing",
		     left ? left : "nothing");
}

static bool same_list(const struct kl_strvec *left, const struct kl_strvec *right)
{
	for (size_t i = 0; i < left->n; i++)
		if (!kl_strvec_has(right, left->v[i]))
			return false;
	return left->n == right->n;
}

static bool same_find(const struct kl_card_find *left, const struct kl_card_find *right)
{
	bool same = same_list(&left->facts, &right->facts) &&
		    same_list(&left->loop_has, &right->loop_has) &&
		    left->constant.n == right->constant.n;

	for (size_t i = 0; same && i < left->constant.n; i++) {
		int64_t value;

		same = kl_card_dims_get(&value, &right->constant, left->constant.v[i].name) &&
		       value == left->constant.v[i].v;
	}
	return same;
}

static const struct kl_card_find *find_find(const struct kl_card *card, const char *language)
{
	for (size_t i = 0; i < card->anchor.find.n; i++)
		if (!strcmp(card->anchor.find.v[i].language, language))
			return &card->anchor.find.v[i];
	return NULL;
}

static void diff_find(struct kl_card_pair *pair)
{
	for (size_t i = 0; i < pair->old->anchor.find.n; i++) {
		const struct kl_card_find *left = &pair->old->anchor.find.v[i];
		const struct kl_card_find *right = find_find(pair->now, left->language);

		if (!right || !same_find(left, right))
			NOTE(pair, "anchor-find", "what is looked for in %s %w", left->language,
			     right ? "is another thing" : "is not said any more");
	}
	for (size_t i = 0; i < pair->now->anchor.find.n; i++)
		if (!find_find(pair->old, pair->now->anchor.find.v[i].language))
			NOTE(pair, "anchor-find", "what is looked for in %s is said now",
			     pair->now->anchor.find.v[i].language);
}

static const struct kl_card_carrier *find_carrier(const struct kl_card *card,
						  const struct kl_card_carrier *carrier)
{
	for (size_t i = 0; i < card->carriers.n; i++)
		if (!strcmp(card->carriers.v[i].language, carrier->language) &&
		    card->carriers.v[i].form == carrier->form)
			return &card->carriers.v[i];
	return NULL;
}

static void diff_carriers(struct kl_card_pair *pair)
{
	for (size_t i = 0; i < pair->old->carriers.n; i++) {
		const struct kl_card_carrier *left = &pair->old->carriers.v[i],
					     *right = find_carrier(pair->now, left);
		const char *form = kl_carrier_form_name(left->form);

		if (!right)
			NOTE(pair, "carrier-removed", "the carrier for %s (%w) is gone",
			     left->language, form);
		else if (strcmp(left->text, right->text) && pair->trusted)
			ANSWER(pair, "carrier-edited",
			       "the carrier for %s (%w) was edited after admission: trials passed "
			       "with another text",
			       left->language, form);
		else if (strcmp(left->text, right->text))
			NOTE(pair, "carrier-edited", "the carrier for %s (%w) has another text",
			     left->language, form);
		if (right && !same_text(left->of, right->of))
			NOTE(pair, "carrier-source",
			     "the carrier for %s (%w) is said to come from another event",
			     left->language, form);
	}
	for (size_t i = 0; i < pair->now->carriers.n; i++)
		if (!find_carrier(pair->old, &pair->now->carriers.v[i]))
			NOTE(pair, "carrier-added", "a carrier for %s (%w) is new",
			     pair->now->carriers.v[i].language,
			     kl_carrier_form_name(pair->now->carriers.v[i].form));
}

/* --- the card ------------------------------------------------------------------------------ */

/*
 * Status is computed, so that a rise has trials behind it; they are named, and followed elsewhere.
 */
static void diff_status(struct kl_card_pair *pair)
{
	enum kl_card_status left = pair->old->status, right = pair->now->status;
	const char *old = kl_card_status_name(left), *now = kl_card_status_name(right);

	if (left == right)
		return;
	if (right == KL_CARD_RETRACTED || right > left)
		NOTE(pair, "status", "the status is %w, before %w", now, old);
	if (left == KL_CARD_RETRACTED)
		ANSWER(pair, "status", "the status is %w again, it was retracted", now);
	else if (right < left)
		ANSWER(pair, "status",
		       "the status is lowered to %w, it was %w: trials that it rested on are gone, or "
		       "no longer count",
		       now, old);
}

/* What a new card says that nothing verifies, if it is more than a hypothesis. */
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
		NOTE(&pair, "mechanism", "it is of mechanism %s, action %s; before %s, %s",
		     now->mechanism, now->action, old->mechanism, old->action);
}
