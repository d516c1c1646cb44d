/* SPDX-License-Identifier: Apache-2.0 */
#include "review/card_diff.h"

#include <string.h>

#include "card/status.h"
#include "review/card_diff_parts.h"

/* --- words -------------------------------------------------------------------------------- */

static void diff_line(struct kl_card_pair *p, const char *what, const char *a, const char *b)
{
	if (same_text(a, b))
		return;
	if (p->trusted)
		ANSWER(p, "edited-after-trials",
		       "'%w' was edited after trials passed with other words: %s, before "
		       "%s",
		       what, b ? b : "nothing", a ? a : "nothing");
	else
		NOTE(p, "edited", "'%w' is %s, before %s", what, b ? b : "nothing",
		     a ? a : "nothing");
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
		int64_t v;

		same = kl_card_dims_get(&v, &b->constant, a->constant.v[i].name) &&
		       v == a->constant.v[i].v;
	}
	return same;
}

static const struct kl_card_find *find_find(const struct kl_card *c, const char *language)
{
	for (size_t i = 0; i < c->anchor.find.n; i++)
		if (!strcmp(c->anchor.find.v[i].language, language))
			return &c->anchor.find.v[i];
	return NULL;
}

static void diff_find(struct kl_card_pair *p)
{
	for (size_t i = 0; i < p->old->anchor.find.n; i++) {
		const struct kl_card_find *a = &p->old->anchor.find.v[i];
		const struct kl_card_find *b = find_find(p->now, a->language);

		if (!b || !same_find(a, b))
			NOTE(p, "anchor-find", "what is looked for in %s %w", a->language,
			     b ? "is another thing" : "is not said any more");
	}
	for (size_t i = 0; i < p->now->anchor.find.n; i++)
		if (!find_find(p->old, p->now->anchor.find.v[i].language))
			NOTE(p, "anchor-find", "what is looked for in %s is said now",
			     p->now->anchor.find.v[i].language);
}

static const struct kl_card_carrier *find_carrier(const struct kl_card *c,
						  const struct kl_card_carrier *k)
{
	for (size_t i = 0; i < c->carriers.n; i++)
		if (!strcmp(c->carriers.v[i].language, k->language) &&
		    c->carriers.v[i].form == k->form)
			return &c->carriers.v[i];
	return NULL;
}

static void diff_carriers(struct kl_card_pair *p)
{
	for (size_t i = 0; i < p->old->carriers.n; i++) {
		const struct kl_card_carrier *a = &p->old->carriers.v[i],
					     *b = find_carrier(p->now, a);
		const char *form = kl_carrier_form_name(a->form);

		if (!b)
			NOTE(p, "carrier-removed", "the carrier for %s (%w) is gone", a->language,
			     form);
		else if (strcmp(a->text, b->text) && p->trusted)
			ANSWER(p, "carrier-edited",
			       "the carrier for %s (%w) was edited after admission: trials passed "
			       "with another text",
			       a->language, form);
		else if (strcmp(a->text, b->text))
			NOTE(p, "carrier-edited", "the carrier for %s (%w) has another text",
			     a->language, form);
		if (b && !same_text(a->of, b->of))
			NOTE(p, "carrier-source",
			     "the carrier for %s (%w) is said to come from another event",
			     a->language, form);
	}
	for (size_t i = 0; i < p->now->carriers.n; i++)
		if (!find_carrier(p->old, &p->now->carriers.v[i]))
			NOTE(p, "carrier-added", "a carrier for %s (%w) is new",
			     p->now->carriers.v[i].language,
			     kl_carrier_form_name(p->now->carriers.v[i].form));
}

/* --- the card ------------------------------------------------------------------------------ */

/*
 * Status is computed, so that a rise has trials behind it; they are named, and followed elsewhere.
 */
static void diff_status(struct kl_card_pair *p)
{
	enum kl_card_status a = p->old->status, b = p->now->status;
	const char *old = kl_card_status_name(a), *now = kl_card_status_name(b);

	if (a == b)
		return;
	if (b == KL_CARD_RETRACTED || b > a)
		NOTE(p, "status", "the status is %w, before %w", now, old);
	if (a == KL_CARD_RETRACTED)
		ANSWER(p, "status", "the status is %w again, it was retracted", now);
	else if (b < a)
		ANSWER(p, "status",
		       "the status is lowered to %w, it was %w: trials that it rested on are gone, or "
		       "no longer count",
		       now, old);
}

/* What a new card says that nothing verifies, if it is more than a hypothesis. */
static void new_card(struct kl_card_pair *p)
{
	const struct kl_card *c = p->now;

	NOTE(p, "card-added", "a new card, %w: %s", kl_card_status_name(c->status), c->intent);
	for (size_t i = 0; i < c->ver.n; i++)
		kl_card_diff_say_trial(p, &c->ver.v[i]);
	if (c->status != KL_CARD_ADMITTED && c->status != KL_CARD_PROVISIONAL)
		return;
	for (size_t i = 0; i < c->scope.cases.n; i++)
		if (!kl_card_diff_case_verified(c, c->scope.cases.v[i]))
			ANSWER(p, "scope-unverified",
			       "the scope has the case %s, which nothing in 'ver' or 'effect' "
			       "verifies",
			       c->scope.cases.v[i]);
	for (size_t i = 0; i < c->scope.languages.n; i++)
		if (!kl_card_diff_language_verified(c, c->scope.languages.v[i]))
			ANSWER(p, "scope-unverified",
			       "the scope has the language %s, which nothing in 'ver' or "
			       "'effect' verifies",
			       c->scope.languages.v[i]);
}

void kl_card_diff(struct kl_findings *out, const struct kl_card *old, const struct kl_card *now)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec events = KL_STRVEC_INIT;
	struct kl_card_pair p = { .out = out, .old = old, .now = now };

	if (!old) {
		new_card(&p);
		return;
	}
	p.trusted = old->status == KL_CARD_ADMITTED || old->status == KL_CARD_PROVISIONAL;
	kl_card_events(&events, old);
	diff_status(&p);
	kl_card_diff_pre(&p);
	kl_card_diff_scope(&p);
	kl_card_diff_effect(&p, &events);
	kl_card_diff_evidence(&p);
	kl_card_diff_risks(&p);
	kl_card_diff_trials(&p);
	diff_line(&p, "intent", old->intent, now->intent);
	diff_line(&p, "anchor.construct", old->anchor.construct, now->anchor.construct);
	diff_line(&p, "anchor.acts_on", old->anchor.acts_on, now->anchor.acts_on);
	diff_find(&p);
	diff_carriers(&p);
	if (!same_text(old->mechanism, now->mechanism) || !same_text(old->action, now->action))
		NOTE(&p, "mechanism", "it is of mechanism %s, action %s; before %s, %s",
		     now->mechanism, now->action, old->mechanism, old->action);
}
