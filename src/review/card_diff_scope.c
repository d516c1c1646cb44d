/* SPDX-License-Identifier: Apache-2.0 */
/* card_diff_scope - changes of a card's scope and effect */
#include <string.h>

#include "card/shape.h"
#include "card/status.h"
#include "review/card_diff_parts.h"

/* --- scope -------------------------------------------------------------------------- */

typedef bool covers(const struct kl_card *c, const char *what);

bool kl_card_diff_case_verified(const struct kl_card *c, const char *what)
{
	for (size_t i = 0; i < c->rows.n; i++)
		if (kl_card_row_is_verified(c, &c->rows.v[i]) && !strcmp(c->rows.v[i].case_, what))
			return true;
	return false;
}

bool kl_card_diff_language_verified(const struct kl_card *c, const char *what)
{
	for (size_t i = 0; i < c->rows.n; i++)
		if (kl_card_row_is_verified(c, &c->rows.v[i]) &&
		    !strcmp(c->rows.v[i].language, what))
			return true;
	return false;
}

static void diff_declared(struct kl_card_pair *p, const struct kl_strvec *a,
			  const struct kl_strvec *b, const char *what, covers *verified)
{
	for (size_t i = 0; i < b->n; i++) {
		if (kl_strvec_has(a, b->v[i]))
			continue;
		if (verified(p->now, b->v[i]))
			NOTE(p, "scope-added",
			     "the scope has the %w %s now, where a trial or a derivation "
			     "verifies it",
			     what, b->v[i]);
		else
			ANSWER(p, "scope-widened",
			       "the scope is widened to the %w %s, which nothing in 'ver' or "
			       "'effect' verifies",
			       what, b->v[i]);
	}
	for (size_t i = 0; i < a->n; i++)
		if (!kl_strvec_has(b, a->v[i]))
			NOTE(p, "scope-narrowed", "the scope no longer has the %w %s", what,
			     a->v[i]);
}

/* What is asked of a target: less of it widens. */
static void diff_asked(struct kl_card_pair *p, const struct kl_strvec *a, const struct kl_strvec *b,
		       const char *fewer, const char *more)
{
	for (size_t i = 0; i < a->n; i++)
		if (!kl_strvec_has(b, a->v[i]))
			ANSWER(p, "scope-widened", fewer, a->v[i]);
	for (size_t i = 0; i < b->n; i++)
		if (!kl_strvec_has(a, b->v[i]))
			NOTE(p, "scope-narrowed", more, b->v[i]);
}

static void diff_promised(struct kl_card_pair *p, const struct kl_strvec *a,
			  const struct kl_strvec *b, const char *where)
{
	for (size_t i = 0; i < b->n; i++)
		if (!kl_strvec_has(a, b->v[i]))
			ANSWER(p, "provides-added", "it promises the fact %s in '%w'", b->v[i],
			       where);
	for (size_t i = 0; i < a->n; i++)
		if (!kl_strvec_has(b, a->v[i]))
			NOTE(p, "provides-removed", "it no longer promises the fact %s in '%w'",
			     a->v[i], where);
}

void kl_card_diff_scope(struct kl_card_pair *p)
{
	const struct kl_card_scope *a = &p->old->scope, *b = &p->now->scope;

	diff_declared(p, &a->cases, &b->cases, "case", kl_card_diff_case_verified);
	diff_declared(p, &a->languages, &b->languages, "language", kl_card_diff_language_verified);
	diff_asked(p, &a->needs, &b->needs,
		   "the scope is widened: platforms need not have %s any more",
		   "platforms must have %s");
	diff_asked(p, &a->requires, &b->requires,
		   "the scope is widened: %s need not be there any more",
		   "%s must be there before");
	diff_asked(p, &a->conflicts, &b->conflicts,
		   "the scope is widened: %s is no conflict any more", "%s is a conflict now");
	diff_promised(p, &a->provides, &b->provides, "scope");
}

/* --- effect --------------------------------------------------------------------------- */

static const char *const by_words[] = { "a trial", "a derivation anew", "nothing verified" };

static const struct kl_card_row *find_row(const struct kl_card *c, const struct kl_card_row *r)
{
	for (size_t i = 0; i < c->rows.n; i++)
		if (kl_shape_same_key(&c->rows.v[i], r, &kl_shape_row))
			return &c->rows.v[i];
	return NULL;
}

static bool cites_event(const struct kl_strvec *events, const char *id)
{
	for (size_t lo = 0, hi = events->n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;
		int d = strcmp(events->v[mid], id);

		if (!d)
			return true;
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

static void diff_row(struct kl_card_pair *p, const struct kl_card_row *a,
		     const struct kl_card_row *b)
{
	char e[SHORT + 1];

	brief_id(e, a->event);
	if (b->ratio.ppm > a->ratio.ppm || b->ratio.lo > a->ratio.lo)
		ANSWER(p, "effect-raised",
		       "the effect for %s on %s is raised from %rx to %rx, and the event is the "
		       "same (%w)",
		       a->case_, a->platform, a->ratio.ppm, b->ratio.ppm, e);
	else if (memcmp(&a->ratio, &b->ratio, sizeof(a->ratio)))
		NOTE(p, "effect-lowered", "the effect for %s on %s is %rx, before %rx", a->case_,
		     a->platform, b->ratio.ppm, a->ratio.ppm);
	if (b->by < a->by)
		ANSWER(p, "effect-verified",
		       "the effect for %s on %s is said to be measured by %w, before by %w, "
		       "and the event is the same (%w)",
		       a->case_, a->platform, by_words[b->by], by_words[a->by], e);
	if (strcmp(a->case_, b->case_) || strcmp(a->dtype, b->dtype) ||
	    strcmp(a->language, b->language) || strcmp(a->platform, b->platform))
		ANSWER(p, "effect-moved",
		       "the event %w is said to be of %s %s %s %s, before of %s %s %s %s", e,
		       b->case_, b->dtype, b->language, b->platform, a->case_, a->dtype,
		       a->language, a->platform);
}

void kl_card_diff_effect(struct kl_card_pair *p, const struct kl_strvec *old_events)
{
	char e[SHORT + 1];

	for (size_t i = 0; i < p->old->rows.n; i++) {
		const struct kl_card_row *a = &p->old->rows.v[i], *b = find_row(p->now, a);

		if (b)
			diff_row(p, a, b);
		else
			ANSWER(p, "effect-removed",
			       "a measured effect is gone: %rx for %s on %s (event %w)",
			       a->ratio.ppm, a->case_, a->platform, brief_id(e, a->event));
	}
	for (size_t i = 0; i < p->now->rows.n; i++) {
		const struct kl_card_row *b = &p->now->rows.v[i];

		if (find_row(p->old, b))
			continue;
		if (cites_event(old_events, b->event))
			ANSWER(p, "effect-raised",
			       "a new effect of %rx for %s on %s rests on no new event (%w)",
			       b->ratio.ppm, b->case_, b->platform, brief_id(e, b->event));
		else
			NOTE(p, "effect-added", "a new effect: %rx for %s on %s, by %w (event %w)",
			     b->ratio.ppm, b->case_, b->platform, by_words[b->by],
			     brief_id(e, b->event));
	}
	diff_promised(p, &p->old->provides, &p->now->provides, "effect");
	if (!p->old->enables.n != !p->now->enables.n)
		ANSWER(p, "effect-kind",
		       p->now->enables.n ? "a win by itself is said to be an enabler" :
					   "an enabler is said to be a win by itself");
	for (size_t i = 0; i < p->now->enables.n && p->old->enables.n; i++)
		if (!kl_strvec_has(&p->old->enables, p->now->enables.v[i]))
			ANSWER(p, "enables-added", "it is said to make room for the card %s, too",
			       p->now->enables.v[i]);
	for (size_t i = 0; i < p->old->enables.n && p->now->enables.n; i++)
		if (!kl_strvec_has(&p->now->enables, p->old->enables.v[i]))
			NOTE(p, "enables-removed", "it no longer makes room for the card %s",
			     p->old->enables.v[i]);
}
