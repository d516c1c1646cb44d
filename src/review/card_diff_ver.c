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
	char end[SHORT + 1];

	for (size_t i = 0; i < pair->old->evidence.n; i++) {
		const struct kl_card_evidence *left = &pair->old->evidence.v[i];
		const struct kl_card_evidence *right = find_evidence(pair->now, left->event);

		if (!right)
			ANSWER(pair, "evidence-removed", "evidence is gone: %s step %d (event %w)",
			       left->lineage, left->step, brief_id(end, left->event));
		else if (!kl_schema_equal(left, right, &kl_card_evidence_schema))
			ANSWER(pair, "evidence-rewritten",
			       "evidence is rewritten under the same event: %s step %d "
			       "(%w)",
			       left->lineage, left->step, brief_id(end, left->event));
	}
	for (size_t i = 0; i < pair->now->evidence.n; i++) {
		const struct kl_card_evidence *right = &pair->now->evidence.v[i];

		if (!find_evidence(pair->old, right->event))
			NOTE(pair, "evidence-added", "new evidence: %s step %d, %w, %s (event %w)",
			     right->lineage, right->step,
			     right->derivation == KL_DERIVED_ANEW ? "derived anew" :
			     right->derivation == KL_DERIVED_INVERSE ?
								    "a backward step turned round" :
								    "not isolated",
			     right->origin, brief_id(end, right->event));
	}
}

static const struct kl_card_risk *find_risk(const struct kl_card *card,
					    const struct kl_card_risk *risk, bool whole)
{
	for (size_t i = 0; i < card->risk.n; i++) {
		const struct kl_card_risk *card_risk = &card->risk.v[i];

		if (!strcmp(card_risk->class_, risk->class_) &&
		    same_text(card_risk->violates, risk->violates) &&
		    (!whole || !strcmp(card_risk->text, risk->text)))
			return card_risk;
	}
	return NULL;
}

void kl_card_diff_risks(struct kl_card_pair *pair)
{
	char end[SHORT + 1];

	for (size_t i = 0; i < pair->old->risk.n; i++) {
		const struct kl_card_risk *left = &pair->old->risk.v[i],
					  *right = find_risk(pair->now, left, true);

		if (!right && (right = find_risk(pair->now, left, false)))
			NOTE(pair, "risk-reworded", "the risk %s is put otherwise: %s, before %s",
			     left->class_, right->text, left->text);
		if (!right)
			ANSWER(pair, "risk-removed", "the risk %s is gone: %s", left->class_,
			       left->text);
		for (size_t n = 0; right && n < left->events.n; n++)
			if (!kl_strvec_has(&right->events, left->events.v[n]))
				ANSWER(pair, "risk-event-removed",
				       "the risk %s no longer cites event %w", left->class_,
				       brief_id(end, left->events.v[n]));
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
	char end[SHORT + 1];

	if (trial->retracted)
		NOTE(pair, "retracted", "it is retracted by %s: %s", trial->by, trial->retracted);
	else if (trial->result == KL_RESULT_PASS)
		NOTE(pair, "trial-passed", "a new trial passed on %s (%s), %w%w%w, %rx (event %w)",
		     trial->workload, trial->platform, kl_level_name(trial->level),
		     trial->isolated ? "" : ", not isolated",
		     trial->foreign ? ", told by another library" : "", trial->ratio.ppm,
		     brief_id(end, trial->event));
	else
		NOTE(pair, "trial-failed", "a new trial failed on %s (%s), %w: %s (event %w)",
		     trial->workload, trial->platform, kl_level_name(trial->level), trial->class_,
		     brief_id(end, trial->event));
}

void kl_card_diff_trials(struct kl_card_pair *pair)
{
	char end[SHORT + 1];

	for (size_t i = 0; i < pair->old->ver.n; i++) {
		const struct kl_card_trial *left = &pair->old->ver.v[i],
					   *right = find_trial(pair->now, left);

		if (right && kl_schema_equal(left, right, &kl_card_trial_schema))
			continue;
		if (right)
			ANSWER(pair, "trial-rewritten",
			       "a trial is rewritten: that on %s (event %w)",
			       left->retracted ? "a retraction" : left->workload,
			       brief_id(end, left->event));
		else if (left->retracted)
			ANSWER(pair, "retraction-removed", "a retraction is taken back: %s",
			       left->retracted);
		else
			ANSWER(pair, "trial-removed", "a trial that %w is gone: on %s (event %w)",
			       left->result == KL_RESULT_PASS ? "passed" : "failed", left->workload,
			       brief_id(end, left->event));
	}
	for (size_t i = 0; i < pair->now->ver.n; i++)
		if (!find_trial(pair->old, &pair->now->ver.v[i]))
			kl_card_diff_print_trial(pair, &pair->now->ver.v[i]);
}
