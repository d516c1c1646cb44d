/* SPDX-License-Identifier: Apache-2.0 */
/* card_diff_pre - changes of a card's preconditions */
#include <string.h>

#include "card/predicate.h"
#include "review/card_diff_parts.h"

static void diff_test(struct kl_card_pair *pair, const struct kl_card_pre *before,
		      const struct kl_card_pre *after)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *old = NULL, *now = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec lost = KL_STRVEC_INIT;

	if (same_text(before->test, after->test))
		return;
	if (!after->test) {
		ANSWER(pair, "pre-unknown",
		       "the precondition %s is no longer checked: its test %s was removed",
		       before->id, before->test);
		return;
	}
	if (!before->test) {
		NOTE(pair, "pre-checked", "the precondition %s is now checked by the test %s",
		     after->id, after->test);
		return;
	}
	/* this cannot fail: both predicates were parsed when the cards were read */
	if (kl_predicate_parse(&old, before->test, NULL) < 0 ||
	    kl_predicate_parse(&now, after->test, NULL) < 0)
		return;
	switch (kl_predicate_relation(old, now, &lost)) {
	case KL_RELATION_SAME:
		NOTE(pair, "pre-rewritten",
		     "the precondition %s was rewritten with the same meaning", before->id);
		return;
	case KL_RELATION_STRONGER:
		NOTE(pair, "pre-stronger", "the precondition %s is stricter: %s (was %s)",
		     before->id, after->test, before->test);
		return;
	case KL_RELATION_WEAKER:
		ANSWER(pair, "pre-weakened", "the precondition %s is weaker: %s (was %s)",
		       before->id, after->test, before->test);
		break;
	case KL_RELATION_OTHER:
		ANSWER(pair, "pre-changed",
		       "the precondition %s was changed and may hold where it did not: %s (was "
		       "%s)",
		       before->id, after->test, before->test);
		break;
	}
	for (size_t i = 0; i < lost.n && lost.n > 1; i++)
		NOTE(pair, "pre-part", "the precondition %s no longer implies this part: %s",
		     before->id, lost.v[i]);
}

/* Report a new state that is not "witnessed". Only a state that excludes targets needs no answer. */
static void report_state(struct kl_card_pair *pair, const struct kl_card_pre *before,
			 const struct kl_card_pre *after)
{
	const char *old = kl_pre_state_name(before->state), *now = kl_pre_state_name(after->state);

	if (kl_card_pre_counts(before) && !kl_card_pre_counts(after))
		ANSWER(pair, "pre-released",
		       "the precondition %s was %w and is now %w: it excludes no target any more",
		       before->id, old, now);
	else
		NOTE(pair, "pre-state", "the precondition %s was %w and is now %w", before->id, old,
		     now);
}

static void diff_witness(struct kl_card_pair *pair, const struct kl_card_pre *before,
			 const struct kl_card_pre *after)
{
	char before_id[SHORT + 1], after_id[SHORT + 1];

	if (before->state == KL_PRE_WITNESSED && after->state != KL_PRE_WITNESSED)
		ANSWER(pair, "pre-witness-gone",
		       "the precondition %s was witnessed by event %w and is now only %w",
		       before->id, brief_id(before_id, before->by),
		       kl_pre_state_name(after->state));
	else if (before->state != after->state && after->state != KL_PRE_WITNESSED)
		report_state(pair, before, after);
	else if (before->state != after->state)
		NOTE(pair, "pre-witnessed", "the precondition %s is now witnessed by event %w",
		     after->id, brief_id(after_id, after->by));
	else if (after->state == KL_PRE_WITNESSED &&
		 (!same_text(before->by, after->by) || !same_text(before->class_, after->class_)))
		NOTE(pair, "pre-witness",
		     "the precondition %s has another witness: event %w of class %s (was %w of "
		     "class %s)",
		     before->id, brief_id(after_id, after->by), after->class_,
		     brief_id(before_id, before->by), before->class_);
}

static void diff_pre(struct kl_card_pair *pair, const struct kl_card_pre *before, bool was_sound)
{
	bool sound;
	const struct kl_card_pre *after = kl_card_find_pre(pair->now, before->id, &sound);

	if (!after) {
		ANSWER(pair, "pre-dropped", "the precondition %s was dropped: %s", before->id,
		       before->test ? before->test : before->text);
		return;
	}
	if (was_sound && !sound)
		ANSWER(pair, "pre-demoted",
		       "the precondition %s was needed for correctness, but is now said to be "
		       "needed only for speed",
		       before->id);
	else if (!was_sound && sound)
		NOTE(pair, "pre-promoted",
		     "the precondition %s is now needed for correctness, not only for speed",
		     before->id);
	diff_test(pair, before, after);
	diff_witness(pair, before, after);
	if (same_text(before->text, after->text))
		return;
	/* if there is no test, the text itself is the precondition */
	if (before->test || after->test)
		NOTE(pair, "pre-reworded", "the precondition %s was reworded: %s (was %s)",
		     before->id, after->text, before->text);
	else
		ANSWER(pair, "pre-changed",
		       "the precondition %s, which nothing checks, is %s (was %s)", before->id,
		       after->text, before->text);
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
			NOTE(pair, "pre-added", "a new precondition for correctness: %s, %s",
			     pair->now->sound.v[i].id,
			     pair->now->sound.v[i].test ? pair->now->sound.v[i].test :
							  pair->now->sound.v[i].text);
	for (size_t i = 0; i < pair->now->useful.n; i++)
		if (!kl_card_find_pre(pair->old, pair->now->useful.v[i].id, &sound))
			NOTE(pair, "pre-added", "a new precondition for speed: %s, %s",
			     pair->now->useful.v[i].id,
			     pair->now->useful.v[i].test ? pair->now->useful.v[i].test :
							   pair->now->useful.v[i].text);
}
