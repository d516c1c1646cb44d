/* SPDX-License-Identifier: Apache-2.0 */
/* card_diff_pre - changes of a card's preconditions */
#include <string.h>

#include "card/predicate.h"
#include "review/card_diff_parts.h"

static void diff_test(struct kl_card_pair *p, const struct kl_card_pre *a,
		      const struct kl_card_pre *b)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *old = NULL, *now = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec lost = KL_STRVEC_INIT;

	if (same_text(a->test, b->test))
		return;
	if (!b->test) {
		ANSWER(p, "pre-unknown",
		       "the precondition %s is no longer checked: its test %s is gone", a->id,
		       a->test);
		return;
	}
	if (!a->test) {
		NOTE(p, "pre-checked", "the precondition %s is checked now: %s", b->id, b->test);
		return;
	}
	/* the reader of cards has parsed both */
	if (kl_predicate_parse(&old, a->test, NULL) < 0 ||
	    kl_predicate_parse(&now, b->test, NULL) < 0)
		return;
	switch (kl_predicate_relation(old, now, &lost)) {
	case KL_RELATION_SAME:
		NOTE(p, "pre-rewritten",
		     "the precondition %s is written otherwise and means the same", a->id);
		return;
	case KL_RELATION_STRONGER:
		NOTE(p, "pre-stronger", "the precondition %s asks for more: %s, before %s", a->id,
		     b->test, a->test);
		return;
	case KL_RELATION_WEAKER:
		ANSWER(p, "pre-weakened", "the precondition %s is weaker: %s, before %s", a->id,
		       b->test, a->test);
		break;
	case KL_RELATION_OTHER:
		ANSWER(p, "pre-changed",
		       "the precondition %s is another one, and may hold where it did not: %s, "
		       "before %s",
		       a->id, b->test, a->test);
		break;
	}
	for (size_t i = 0; i < lost.n && lost.n > 1; i++)
		NOTE(p, "pre-part", "of the precondition %s this no longer follows: %s", a->id,
		     lost.v[i]);
}

static void diff_witness(struct kl_card_pair *p, const struct kl_card_pre *a,
			 const struct kl_card_pre *b)
{
	char x[SHORT + 1], y[SHORT + 1];

	if (a->state == KL_PRE_WITNESSED && b->state != KL_PRE_WITNESSED)
		ANSWER(p, "pre-witness-gone",
		       "the precondition %s was witnessed by event %w, now it is assumed", a->id,
		       brief_id(x, a->by));
	else if (a->state != b->state)
		NOTE(p, "pre-witnessed", "the precondition %s is witnessed now, by event %w", b->id,
		     brief_id(y, b->by));
	else if (!same_text(a->by, b->by) || !same_text(a->class_, b->class_))
		NOTE(p, "pre-witness",
		     "the precondition %s has another witness: event %w (%s), before %w (%s)",
		     a->id, brief_id(y, b->by), b->class_, brief_id(x, a->by), a->class_);
}

static void diff_pre(struct kl_card_pair *p, const struct kl_card_pre *a, bool was_sound)
{
	bool sound;
	const struct kl_card_pre *b = kl_card_find_pre(p->now, a->id, &sound);

	if (!b) {
		ANSWER(p, "pre-dropped", "the precondition %s was dropped: %s", a->id,
		       a->test ? a->test : a->text);
		return;
	}
	if (was_sound && !sound)
		ANSWER(p, "pre-demoted",
		       "the precondition %s was needed to be right, now it is said to be needed "
		       "for speed alone",
		       a->id);
	else if (!was_sound && sound)
		NOTE(p, "pre-promoted",
		     "the precondition %s is needed to be right now, not for speed alone", a->id);
	diff_test(p, a, b);
	diff_witness(p, a, b);
	if (same_text(a->text, b->text))
		return;
	/* without a test its text is all that it says */
	if (a->test || b->test)
		NOTE(p, "pre-reworded", "the precondition %s is put otherwise: %s, before %s",
		     a->id, b->text, a->text);
	else
		ANSWER(p, "pre-changed",
		       "the precondition %s, which nothing checks, says %s, before %s", a->id,
		       b->text, a->text);
}

void kl_card_diff_pre(struct kl_card_pair *p)
{
	bool sound;

	for (size_t i = 0; i < p->old->sound.n; i++)
		diff_pre(p, &p->old->sound.v[i], true);
	for (size_t i = 0; i < p->old->useful.n; i++)
		diff_pre(p, &p->old->useful.v[i], false);
	for (size_t i = 0; i < p->now->sound.n; i++)
		if (!kl_card_find_pre(p->old, p->now->sound.v[i].id, &sound))
			NOTE(p, "pre-added", "a precondition to be right is new: %s, %s",
			     p->now->sound.v[i].id,
			     p->now->sound.v[i].test ? p->now->sound.v[i].test :
						       p->now->sound.v[i].text);
	for (size_t i = 0; i < p->now->useful.n; i++)
		if (!kl_card_find_pre(p->old, p->now->useful.v[i].id, &sound))
			NOTE(p, "pre-added", "a precondition to be faster is new: %s, %s",
			     p->now->useful.v[i].id,
			     p->now->useful.v[i].test ? p->now->useful.v[i].test :
							p->now->useful.v[i].text);
}
