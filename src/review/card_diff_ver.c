/* SPDX-License-Identifier: Apache-2.0 */
/* card_diff_ver - changes of a card's evidence, risks and trials */
#include <string.h>

#include "card/card_types.h"
#include "review/card_diff_parts.h"

static const struct kl_card_evidence *find_evidence(const struct kl_card *card, const char *event)
{
	for (size_t i = 0; i < card->evidence.n; i++)
		if (!strcmp(card->evidence.v[i].event, event))
			return &card->evidence.v[i];
	return NULL;
}

void kl_card_diff_evidence(struct kl_card_pair *pair)
{
	char id[SHORT + 1];

	for (size_t i = 0; i < pair->old->evidence.n; i++) {
		const struct kl_card_evidence *before = &pair->old->evidence.v[i];
		const struct kl_card_evidence *after = find_evidence(pair->now, before->event);

		if (!after)
			ANSWER(pair, "evidence-removed",
			       "evidence was removed: %s step %d (event %w)", before->lineage,
			       before->step, brief_id(id, before->event));
		else if (!kl_schema_equal(before, after, &kl_card_evidence_schema))
			ANSWER(pair, "evidence-rewritten",
			       "evidence was rewritten, but cites the same event: %s step %d "
			       "(%w)",
			       before->lineage, before->step, brief_id(id, before->event));
	}
	for (size_t i = 0; i < pair->now->evidence.n; i++) {
		const struct kl_card_evidence *after = &pair->now->evidence.v[i];

		if (!find_evidence(pair->old, after->event))
			NOTE(pair, "evidence-added", "new evidence: %s step %d, %w, %s (event %w)",
			     after->lineage, after->step,
			     after->derivation == KL_DERIVED_ANEW    ? "re-derived" :
			     after->derivation == KL_DERIVED_INVERSE ? "an inverted backward step" :
								       "not isolated",
			     after->origin, brief_id(id, after->event));
	}
}

static const struct kl_card_risk *find_risk(const struct kl_card *card,
					    const struct kl_card_risk *risk, bool whole)
{
	for (size_t i = 0; i < card->risk.n; i++) {
		const struct kl_card_risk *other = &card->risk.v[i];

		if (!strcmp(other->class_, risk->class_) &&
		    same_text(other->violates, risk->violates) &&
		    (!whole || !strcmp(other->text, risk->text)))
			return other;
	}
	return NULL;
}

void kl_card_diff_risks(struct kl_card_pair *pair)
{
	char id[SHORT + 1];

	for (size_t i = 0; i < pair->old->risk.n; i++) {
		const struct kl_card_risk *before = &pair->old->risk.v[i],
					  *after = find_risk(pair->now, before, true);

		if (!after && (after = find_risk(pair->now, before, false)))
			NOTE(pair, "risk-reworded", "the risk %s was reworded: %s (was %s)",
			     before->class_, after->text, before->text);
		if (!after)
			ANSWER(pair, "risk-removed", "the risk %s was removed: %s", before->class_,
			       before->text);
		for (size_t n = 0; after && n < before->events.n; n++)
			if (!kl_strvec_has(&after->events, before->events.v[n]))
				ANSWER(pair, "risk-event-removed",
				       "the risk %s no longer cites event %w", before->class_,
				       brief_id(id, before->events.v[n]));
	}
	for (size_t i = 0; i < pair->now->risk.n; i++)
		if (!find_risk(pair->old, &pair->now->risk.v[i], false))
			NOTE(pair, "risk-added", "a new risk %s: %s", pair->now->risk.v[i].class_,
			     pair->now->risk.v[i].text);
}

static const struct kl_card_trial *find_trial(const struct kl_card *card,
					      const struct kl_card_trial *trial)
{
	for (size_t i = 0; i < card->ver.n; i++)
		if (kl_schema_same_key(&card->ver.v[i], trial, &kl_card_trial_schema))
			return &card->ver.v[i];
	return NULL;
}

void kl_card_diff_print_trial(struct kl_card_pair *pair, const struct kl_card_trial *trial)
{
	char id[SHORT + 1];

	if (trial->retracted)
		NOTE(pair, "retracted", "the card is retracted by %s: %s", trial->by,
		     trial->retracted);
	else if (trial->result == KL_RESULT_PASS)
		NOTE(pair, "trial-passed", "a new trial passed on %s (%s), %w%w%w, %rx (event %w)",
		     trial->workload, trial->platform, kl_level_name(trial->level),
		     trial->isolated ? "" : ", not isolated",
		     trial->foreign ? ", reported by another library" : "", trial->ratio.ppm,
		     brief_id(id, trial->event));
	else
		NOTE(pair, "trial-failed", "a new trial failed on %s (%s), %w: %s (event %w)",
		     trial->workload, trial->platform, kl_level_name(trial->level), trial->class_,
		     brief_id(id, trial->event));
}

void kl_card_diff_trials(struct kl_card_pair *pair)
{
	char id[SHORT + 1];

	for (size_t i = 0; i < pair->old->ver.n; i++) {
		const struct kl_card_trial *before = &pair->old->ver.v[i],
					   *after = find_trial(pair->now, before);

		if (after && kl_schema_equal(before, after, &kl_card_trial_schema))
			continue;
		if (after)
			ANSWER(pair, "trial-rewritten",
			       "a row of 'ver' was rewritten: %s (event %w)",
			       before->retracted ? "a retraction" : before->workload,
			       brief_id(id, before->event));
		else if (before->retracted)
			ANSWER(pair, "retraction-removed", "a retraction was removed: %s",
			       before->retracted);
		else
			ANSWER(pair, "trial-removed",
			       "a trial that %w was removed: on %s (event %w)",
			       before->result == KL_RESULT_PASS ? "passed" : "failed",
			       before->workload, brief_id(id, before->event));
	}
	for (size_t i = 0; i < pair->now->ver.n; i++)
		if (!find_trial(pair->old, &pair->now->ver.v[i]))
			kl_card_diff_print_trial(pair, &pair->now->ver.v[i]);
}
