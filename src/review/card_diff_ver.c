/* SPDX-License-Identifier: Apache-2.0 */
/* card_diff_ver - changes of a card's evidence, risks and trials */
#include <string.h>

#include "card/shape.h"
#include "review/card_diff_parts.h"

static const struct kl_card_evidence *find_evidence(const struct kl_card *c, const char *event)
{
	for (size_t i = 0; i < c->evidence.n; i++)
		if (!strcmp(c->evidence.v[i].event, event))
			return &c->evidence.v[i];
	return NULL;
}

void kl_card_diff_evidence(struct kl_card_pair *p)
{
	char e[SHORT + 1];

	for (size_t i = 0; i < p->old->evidence.n; i++) {
		const struct kl_card_evidence *a = &p->old->evidence.v[i];
		const struct kl_card_evidence *b = find_evidence(p->now, a->event);

		if (!b)
			ANSWER(p, "evidence-removed", "evidence is gone: %s step %d (event %w)",
			       a->lineage, a->step, brief_id(e, a->event));
		else if (!kl_shape_equal(a, b, &kl_shape_evidence))
			ANSWER(p, "evidence-rewritten",
			       "evidence is rewritten under the same event: %s step %d "
			       "(%w)",
			       a->lineage, a->step, brief_id(e, a->event));
	}
	for (size_t i = 0; i < p->now->evidence.n; i++) {
		const struct kl_card_evidence *b = &p->now->evidence.v[i];

		if (!find_evidence(p->old, b->event))
			NOTE(p, "evidence-added", "new evidence: %s step %d, %w, %s (event %w)",
			     b->lineage, b->step,
			     b->derivation == KL_DERIVED_ANEW    ? "derived anew" :
			     b->derivation == KL_DERIVED_INVERSE ? "a backward step turned round" :
								   "not isolated",
			     b->origin, brief_id(e, b->event));
	}
}

static const struct kl_card_risk *find_risk(const struct kl_card *c, const struct kl_card_risk *r,
					    bool whole)
{
	for (size_t i = 0; i < c->risk.n; i++) {
		const struct kl_card_risk *k = &c->risk.v[i];

		if (!strcmp(k->class_, r->class_) && same_text(k->violates, r->violates) &&
		    (!whole || !strcmp(k->text, r->text)))
			return k;
	}
	return NULL;
}

void kl_card_diff_risks(struct kl_card_pair *p)
{
	char e[SHORT + 1];

	for (size_t i = 0; i < p->old->risk.n; i++) {
		const struct kl_card_risk *a = &p->old->risk.v[i], *b = find_risk(p->now, a, true);

		if (!b && (b = find_risk(p->now, a, false)))
			NOTE(p, "risk-reworded", "the risk %s is put otherwise: %s, before %s",
			     a->class_, b->text, a->text);
		if (!b)
			ANSWER(p, "risk-removed", "the risk %s is gone: %s", a->class_, a->text);
		for (size_t n = 0; b && n < a->events.n; n++)
			if (!kl_strvec_has(&b->events, a->events.v[n]))
				ANSWER(p, "risk-event-removed",
				       "the risk %s no longer cites event %w", a->class_,
				       brief_id(e, a->events.v[n]));
	}
	for (size_t i = 0; i < p->now->risk.n; i++)
		if (!find_risk(p->old, &p->now->risk.v[i], false))
			NOTE(p, "risk-added", "a new risk %s: %s", p->now->risk.v[i].class_,
			     p->now->risk.v[i].text);
}

static const struct kl_card_trial *find_trial(const struct kl_card *c,
					      const struct kl_card_trial *t)
{
	for (size_t i = 0; i < c->ver.n; i++)
		if (kl_shape_same_key(&c->ver.v[i], t, &kl_shape_trial))
			return &c->ver.v[i];
	return NULL;
}

void kl_card_diff_say_trial(struct kl_card_pair *p, const struct kl_card_trial *t)
{
	char e[SHORT + 1];

	if (t->retracted)
		NOTE(p, "retracted", "it is retracted by %s: %s", t->by, t->retracted);
	else if (t->result == KL_RESULT_PASS)
		NOTE(p, "trial-passed", "a new trial passed on %s (%s), %w%w%w, %rx (event %w)",
		     t->workload, t->platform, kl_level_name(t->level),
		     t->isolated ? "" : ", not isolated",
		     t->foreign ? ", told by another library" : "", t->ratio.ppm,
		     brief_id(e, t->event));
	else
		NOTE(p, "trial-failed", "a new trial failed on %s (%s), %w: %s (event %w)",
		     t->workload, t->platform, kl_level_name(t->level), t->class_,
		     brief_id(e, t->event));
}

void kl_card_diff_trials(struct kl_card_pair *p)
{
	char e[SHORT + 1];

	for (size_t i = 0; i < p->old->ver.n; i++) {
		const struct kl_card_trial *a = &p->old->ver.v[i], *b = find_trial(p->now, a);

		if (b && kl_shape_equal(a, b, &kl_shape_trial))
			continue;
		if (b)
			ANSWER(p, "trial-rewritten", "a trial is rewritten: that on %s (event %w)",
			       a->retracted ? "a retraction" : a->workload, brief_id(e, a->event));
		else if (a->retracted)
			ANSWER(p, "retraction-removed", "a retraction is taken back: %s",
			       a->retracted);
		else
			ANSWER(p, "trial-removed", "a trial that %w is gone: on %s (event %w)",
			       a->result == KL_RESULT_PASS ? "passed" : "failed", a->workload,
			       brief_id(e, a->event));
	}
	for (size_t i = 0; i < p->now->ver.n; i++)
		if (!find_trial(p->old, &p->now->ver.v[i]))
			kl_card_diff_say_trial(p, &p->now->ver.v[i]);
}
