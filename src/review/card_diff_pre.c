/* SPDX-License-Identifier: Apache-2.0 */
/* card_diff_pre - changes of a card's preconditions */
#include <string.h>

#include "card/predicate.h"
#include "review/card_diff_parts.h"

static void diff_test(struct kl_card_pair *pair, const struct kl_card_pre *left,
		      const struct kl_card_pre *right)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *old = NULL, *now = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec lost = KL_STRVEC_INIT;

	if (same_text(left->test, right->test))
		return;
	if (!right->test) {
		ANSWER(pair, "pre-unknown",
		       "the precondition %s is no longer checked: its test %s is gone", left->id,
		       left->test);
		return;
	}
	if (!left->test) {
		NOTE(pair, "pre-checked", "the precondition %s is checked now: %s", right->id,
		     right->test);
		return;
	}
	/* the reader of cards has parsed both */
	if (kl_predicate_parse(&old, left->test, NULL) < 0 ||
	    kl_predicate_parse(&now, right->test, NULL) < 0)
		return;
	switch (kl_predicate_relation(old, now, &lost)) {
	case KL_RELATION_SAME:
		NOTE(pair, "pre-rewritten",
		     "the precondition %s is written otherwise and means the same", left->id);
		return;
	case KL_RELATION_STRONGER:
		NOTE(pair, "pre-stronger", "the precondition %s asks for more: %s, before %s",
		     left->id, right->test, left->test);
		return;
	case KL_RELATION_WEAKER:
		ANSWER(pair, "pre-weakened", "the precondition %s is weaker: %s, before %s",
		       left->id, right->test, left->test);
		break;
	case KL_RELATION_OTHER:
		ANSWER(pair, "pre-changed",
		       "the precondition %s is another one, and may hold where it did not: %s, "
		       "before %s",
		       left->id, right->test, left->test);
		break;
	}
	for (size_t i = 0; i < lost.n && lost.n > 1; i++)
		NOTE(pair, "pre-part", "of the precondition %s this no longer follows: %s",
		     left->id, lost.v[i]);
}

static void diff_witness(struct kl_card_pair *pair, const struct kl_card_pre *left,
			 const struct kl_card_pre *right)
{
	char text[SHORT + 1], string[SHORT + 1];

	if (left->state == KL_PRE_WITNESSED && right->state != KL_PRE_WITNESSED)
		ANSWER(pair, "pre-witness-gone",
		       "the precondition %s was witnessed by event %w, now it is assumed", left->id,
		       brief_id(text, left->by));
	else if (left->state != right->state)
		NOTE(pair, "pre-witnessed", "the precondition %s is witnessed now, by event %w",
		     right->id, brief_id(string, right->by));
	else if (!same_text(left->by, right->by) || !same_text(left->class_, right->class_))
		NOTE(pair, "pre-witness",
		     "the precondition %s has another witness: event %w (%s), before %w (%s)",
		     left->id, brief_id(string, right->by), right->class_, brief_id(text, left->by),
		     left->class_);
}

static void diff_pre(struct kl_card_pair *pair, const struct kl_card_pre *left, bool was_sound)
{
	bool sound;
	const struct kl_card_pre *right = kl_card_find_pre(pair->now, left->id, &sound);

	if (!right) {
		ANSWER(pair, "pre-dropped", "the precondition %s was dropped: %s", left->id,
		       left->test ? left->test : left->text);
		return;
	}
	if (was_sound && !sound)
		ANSWER(pair, "pre-demoted",
		       "the precondition %s was needed to be right, now it is said to be needed "
		       "for speed alone",
		       left->id);
	else if (!was_sound && sound)
		NOTE(pair, "pre-promoted",
		     "the precondition %s is needed to be right now, not for speed alone",
		     left->id);
	diff_test(pair, left, right);
	diff_witness(pair, left, right);
	if (same_text(left->text, right->text))
		return;
	/* without a test its text is all that it says */
	if (left->test || right->test)
		NOTE(pair, "pre-reworded", "the precondition %s is put otherwise: %s, before %s",
		     left->id, right->text, left->text);
	else
		ANSWER(pair, "pre-changed",
		       "the precondition %s, which nothing checks, says %s, before %s", left->id,
		       right->text, left->text);
}

void kl_card_diff_pre(struct kl_card_pair *pair)
{
	bool sound;

	for (size_t i = 0; i < pair->old->sound.n; i++)
		diff_pre(pair, &pair->old->sound.v[i], true);
	for (size_t i = 0; i < pair->old->useful.n; i++)
		diff_pre(pair, &pair->old->useful.v[i], false);
	for (size_t i = 0; i < pair->now->sound.n; i++)
		if (!kl_card_find_pre(pair->old, pair->now->sound.v[i].id, &sound))
			NOTE(pair, "pre-added", "a precondition to be right is new: %s, %s",
			     pair->now->sound.v[i].id,
			     pair->now->sound.v[i].test ? pair->now->sound.v[i].test :
							  pair->now->sound.v[i].text);
	for (size_t i = 0; i < pair->now->useful.n; i++)
		if (!kl_card_find_pre(pair->old, pair->now->useful.v[i].id, &sound))
			NOTE(pair, "pre-added", "a precondition to be faster is new: %s, %s",
			     pair->now->useful.v[i].id,
			     pair->now->useful.v[i].test ? pair->now->useful.v[i].test :
							   pair->now->useful.v[i].text);
}
