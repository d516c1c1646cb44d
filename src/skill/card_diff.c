/* SPDX-License-Identifier: Apache-2.0 */
#include "skill/card_diff.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "skill/shape.h"
#include "skill/status.h"
#include "skill/predicate.h"

/* Two versions, and whether the old one has trials to its name. */
struct pair {
	struct kl_findings *out;
	const struct kl_card *old, *now;
	bool trusted; /* provisional or admitted: people and tools rely on these words */
};

#define ANSWER(p, ...) kl_findings_add((p)->out, KL_ANSWER, __VA_ARGS__)
#define NOTE(p, ...) kl_findings_add((p)->out, KL_NOTE, __VA_ARGS__)
#define SHORT 12 /* digits of an event or commit */

static const char *brief(char out[SHORT + 1], const char *hex)
{
	snprintf(out, SHORT + 1, "%s", hex ? hex : "none");
	return out;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* --- preconditions ---------------------------------------------------------------- */

static const struct kl_card_pre *find_pre(const struct kl_card *c, const char *id, bool *sound)
{
	for (size_t i = 0; i < c->sound.n; i++)
		if (!strcmp(c->sound.v[i].id, id)) {
			*sound = true;
			return &c->sound.v[i];
		}
	for (size_t i = 0; i < c->useful.n; i++)
		if (!strcmp(c->useful.v[i].id, id)) {
			*sound = false;
			return &c->useful.v[i];
		}
	return NULL;
}

static void diff_test(struct pair *p, const struct kl_card_pre *a, const struct kl_card_pre *b)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *old = NULL, *now = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec lost = KL_STRVEC_INIT;

	if (same_text(a->test, b->test))
		return;
	if (!b->test) {
		ANSWER(p, "pre-unknown",
		       "the precondition %s is no longer checked: its test %s is gone", a->id, a->test);
		return;
	}
	if (!a->test) {
		NOTE(p, "pre-checked", "the precondition %s is checked now: %s", b->id, b->test);
		return;
	}
	/* the reader of cards has parsed both */
	if (kl_predicate_parse(&old, a->test, NULL) < 0 || kl_predicate_parse(&now, b->test, NULL) < 0)
		return;
	switch (kl_predicate_relation(old, now, &lost)) {
	case KL_RELATION_SAME:
		NOTE(p, "pre-rewritten", "the precondition %s is written otherwise and means the same",
		     a->id);
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
		NOTE(p, "pre-part", "of the precondition %s this no longer follows: %s", a->id, lost.v[i]);
}

static void diff_witness(struct pair *p, const struct kl_card_pre *a, const struct kl_card_pre *b)
{
	char x[SHORT + 1], y[SHORT + 1];

	if (a->state == KL_PRE_WITNESSED && b->state != KL_PRE_WITNESSED)
		ANSWER(p, "pre-witness-gone",
		       "the precondition %s was witnessed by event %w, now it is assumed", a->id,
		       brief(x, a->by));
	else if (a->state != b->state)
		NOTE(p, "pre-witnessed", "the precondition %s is witnessed now, by event %w", b->id,
		     brief(y, b->by));
	else if (!same_text(a->by, b->by) || !same_text(a->class_, b->class_))
		NOTE(p, "pre-witness",
		     "the precondition %s has another witness: event %w (%s), before %w (%s)", a->id,
		     brief(y, b->by), b->class_, brief(x, a->by), a->class_);
}

static void diff_pre(struct pair *p, const struct kl_card_pre *a, bool was_sound)
{
	bool sound;
	const struct kl_card_pre *b = find_pre(p->now, a->id, &sound);

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
		NOTE(p, "pre-reworded", "the precondition %s is put otherwise: %s, before %s", a->id,
		     b->text, a->text);
	else
		ANSWER(p, "pre-changed",
		       "the precondition %s, which nothing checks, says %s, before %s", a->id, b->text,
		       a->text);
}

static void diff_pres(struct pair *p)
{
	bool sound;

	for (size_t i = 0; i < p->old->sound.n; i++)
		diff_pre(p, &p->old->sound.v[i], true);
	for (size_t i = 0; i < p->old->useful.n; i++)
		diff_pre(p, &p->old->useful.v[i], false);
	for (size_t i = 0; i < p->now->sound.n; i++)
		if (!find_pre(p->old, p->now->sound.v[i].id, &sound))
			NOTE(p, "pre-added", "a precondition to be right is new: %s, %s",
			     p->now->sound.v[i].id,
			     p->now->sound.v[i].test ? p->now->sound.v[i].test
						     : p->now->sound.v[i].text);
	for (size_t i = 0; i < p->now->useful.n; i++)
		if (!find_pre(p->old, p->now->useful.v[i].id, &sound))
			NOTE(p, "pre-added", "a precondition to be faster is new: %s, %s",
			     p->now->useful.v[i].id,
			     p->now->useful.v[i].test ? p->now->useful.v[i].test
						      : p->now->useful.v[i].text);
}

/* --- scope -------------------------------------------------------------------------- */

typedef bool covers(const struct kl_card *c, const char *what);

static bool case_is_verified(const struct kl_card *c, const char *what)
{
	for (size_t i = 0; i < c->rows.n; i++)
		if (kl_card_row_is_verified(c, &c->rows.v[i]) && !strcmp(c->rows.v[i].case_, what))
			return true;
	return false;
}

static bool language_is_verified(const struct kl_card *c, const char *what)
{
	for (size_t i = 0; i < c->rows.n; i++)
		if (kl_card_row_is_verified(c, &c->rows.v[i]) && !strcmp(c->rows.v[i].language, what))
			return true;
	return false;
}

static void diff_declared(struct pair *p, const struct kl_strvec *a, const struct kl_strvec *b,
			  const char *what, covers *verified)
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
			NOTE(p, "scope-narrowed", "the scope no longer has the %w %s", what, a->v[i]);
}

/* What is asked of a target: less of it widens. */
static void diff_asked(struct pair *p, const struct kl_strvec *a, const struct kl_strvec *b,
		       const char *fewer, const char *more)
{
	for (size_t i = 0; i < a->n; i++)
		if (!kl_strvec_has(b, a->v[i]))
			ANSWER(p, "scope-widened", fewer, a->v[i]);
	for (size_t i = 0; i < b->n; i++)
		if (!kl_strvec_has(a, b->v[i]))
			NOTE(p, "scope-narrowed", more, b->v[i]);
}

static void diff_promised(struct pair *p, const struct kl_strvec *a, const struct kl_strvec *b,
			  const char *where)
{
	for (size_t i = 0; i < b->n; i++)
		if (!kl_strvec_has(a, b->v[i]))
			ANSWER(p, "provides-added", "it promises the fact %s in '%w'", b->v[i], where);
	for (size_t i = 0; i < a->n; i++)
		if (!kl_strvec_has(b, a->v[i]))
			NOTE(p, "provides-removed", "it no longer promises the fact %s in '%w'",
			     a->v[i], where);
}

static void diff_scope(struct pair *p)
{
	const struct kl_card_scope *a = &p->old->scope, *b = &p->now->scope;

	diff_declared(p, &a->cases, &b->cases, "case", case_is_verified);
	diff_declared(p, &a->languages, &b->languages, "language", language_is_verified);
	diff_asked(p, &a->needs, &b->needs, "the scope is widened: platforms need not have %s any more",
		   "platforms must have %s");
	diff_asked(p, &a->requires, &b->requires, "the scope is widened: %s need not be there any more",
		   "%s must be there before");
	diff_asked(p, &a->conflicts, &b->conflicts, "the scope is widened: %s is no conflict any more",
		   "%s is a conflict now");
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

static bool cites(const struct kl_strvec *events, const char *id)
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

static void diff_row(struct pair *p, const struct kl_card_row *a, const struct kl_card_row *b)
{
	char e[SHORT + 1];

	brief(e, a->event);
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
		       "the event %w is said to be of %s %s %s %s, before of %s %s %s %s", e, b->case_,
		       b->dtype, b->language, b->platform, a->case_, a->dtype, a->language,
		       a->platform);
}

static void diff_effect(struct pair *p, const struct kl_strvec *old_events)
{
	char e[SHORT + 1];

	for (size_t i = 0; i < p->old->rows.n; i++) {
		const struct kl_card_row *a = &p->old->rows.v[i], *b = find_row(p->now, a);

		if (b)
			diff_row(p, a, b);
		else
			ANSWER(p, "effect-removed",
			       "a measured effect is gone: %rx for %s on %s (event %w)", a->ratio.ppm,
			       a->case_, a->platform, brief(e, a->event));
	}
	for (size_t i = 0; i < p->now->rows.n; i++) {
		const struct kl_card_row *b = &p->now->rows.v[i];

		if (find_row(p->old, b))
			continue;
		if (cites(old_events, b->event))
			ANSWER(p, "effect-raised",
			       "a new effect of %rx for %s on %s rests on no new event (%w)",
			       b->ratio.ppm, b->case_, b->platform, brief(e, b->event));
		else
			NOTE(p, "effect-added", "a new effect: %rx for %s on %s, by %w (event %w)",
			     b->ratio.ppm, b->case_, b->platform, by_words[b->by], brief(e, b->event));
	}
	diff_promised(p, &p->old->provides, &p->now->provides, "effect");
	if (!p->old->enables.n != !p->now->enables.n)
		ANSWER(p, "effect-kind",
		       p->now->enables.n ? "a win by itself is said to be an enabler"
					 : "an enabler is said to be a win by itself");
	for (size_t i = 0; i < p->now->enables.n && p->old->enables.n; i++)
		if (!kl_strvec_has(&p->old->enables, p->now->enables.v[i]))
			ANSWER(p, "enables-added", "it is said to make room for the card %s, too",
			       p->now->enables.v[i]);
	for (size_t i = 0; i < p->old->enables.n && p->now->enables.n; i++)
		if (!kl_strvec_has(&p->now->enables, p->old->enables.v[i]))
			NOTE(p, "enables-removed", "it no longer makes room for the card %s",
			     p->old->enables.v[i]);
}

/* --- evidence, risk, ver --------------------------------------------------------------- */

static const struct kl_card_evidence *find_evidence(const struct kl_card *c, const char *event)
{
	for (size_t i = 0; i < c->evidence.n; i++)
		if (!strcmp(c->evidence.v[i].event, event))
			return &c->evidence.v[i];
	return NULL;
}

static void diff_evidence(struct pair *p)
{
	char e[SHORT + 1];

	for (size_t i = 0; i < p->old->evidence.n; i++) {
		const struct kl_card_evidence *a = &p->old->evidence.v[i];
		const struct kl_card_evidence *b = find_evidence(p->now, a->event);

		if (!b)
			ANSWER(p, "evidence-removed", "evidence is gone: %s step %d (event %w)",
			       a->lineage, a->step, brief(e, a->event));
		else if (!kl_shape_equal(a, b, &kl_shape_evidence))
			ANSWER(p, "evidence-rewritten",
			       "evidence is rewritten under the same event: %s step %d "
			       "(%w)",
			       a->lineage, a->step, brief(e, a->event));
	}
	for (size_t i = 0; i < p->now->evidence.n; i++) {
		const struct kl_card_evidence *b = &p->now->evidence.v[i];

		if (!find_evidence(p->old, b->event))
			NOTE(p, "evidence-added", "new evidence: %s step %d, %w, %s (event %w)",
			     b->lineage, b->step,
			     b->derivation == KL_DERIVED_ANEW	   ? "derived anew"
			     : b->derivation == KL_DERIVED_INVERSE ? "a backward step turned round"
								   : "not isolated",
			     b->origin, brief(e, b->event));
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

static void diff_risks(struct pair *p)
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
				ANSWER(p, "risk-event-removed", "the risk %s no longer cites event %w",
				       a->class_, brief(e, a->events.v[n]));
	}
	for (size_t i = 0; i < p->now->risk.n; i++)
		if (!find_risk(p->old, &p->now->risk.v[i], false))
			NOTE(p, "risk-added", "a new risk %s: %s", p->now->risk.v[i].class_,
			     p->now->risk.v[i].text);
}

static const struct kl_card_trial *find_trial(const struct kl_card *c, const struct kl_card_trial *t)
{
	for (size_t i = 0; i < c->ver.n; i++)
		if (kl_shape_same_key(&c->ver.v[i], t, &kl_shape_trial))
			return &c->ver.v[i];
	return NULL;
}

static void say_new_trial(struct pair *p, const struct kl_card_trial *t)
{
	char e[SHORT + 1];

	if (t->retracted)
		NOTE(p, "retracted", "it is retracted by %s: %s", t->by, t->retracted);
	else if (t->result == KL_RESULT_PASS)
		NOTE(p, "trial-passed", "a new trial passed on %s (%s), %w%w%w, %rx (event %w)",
		     t->workload, t->platform, kl_level_name(t->level),
		     t->isolated ? "" : ", not isolated", t->foreign ? ", told by another library" : "",
		     t->ratio.ppm, brief(e, t->event));
	else
		NOTE(p, "trial-failed", "a new trial failed on %s (%s), %w: %s (event %w)", t->workload,
		     t->platform, kl_level_name(t->level), t->class_, brief(e, t->event));
}

static void diff_trials(struct pair *p)
{
	char e[SHORT + 1];

	for (size_t i = 0; i < p->old->ver.n; i++) {
		const struct kl_card_trial *a = &p->old->ver.v[i], *b = find_trial(p->now, a);

		if (b && kl_shape_equal(a, b, &kl_shape_trial))
			continue;
		if (b)
			ANSWER(p, "trial-rewritten", "a trial is rewritten: that on %s (event %w)",
			       a->retracted ? "a retraction" : a->workload, brief(e, a->event));
		else if (a->retracted)
			ANSWER(p, "retraction-removed", "a retraction is taken back: %s", a->retracted);
		else
			ANSWER(p, "trial-removed", "a trial that %w is gone: on %s (event %w)",
			       a->result == KL_RESULT_PASS ? "passed" : "failed", a->workload,
			       brief(e, a->event));
	}
	for (size_t i = 0; i < p->now->ver.n; i++)
		if (!find_trial(p->old, &p->now->ver.v[i]))
			say_new_trial(p, &p->now->ver.v[i]);
}

/* --- words -------------------------------------------------------------------------------- */

static void diff_line(struct pair *p, const char *what, const char *a, const char *b)
{
	if (same_text(a, b))
		return;
	if (p->trusted)
		ANSWER(p, "edited-after-trials",
		       "'%w' was edited after trials passed with other words: %s, before "
		       "%s",
		       what, b ? b : "nothing", a ? a : "nothing");
	else
		NOTE(p, "edited", "'%w' is %s, before %s", what, b ? b : "nothing", a ? a : "nothing");
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

static void diff_find(struct pair *p)
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
		if (!strcmp(c->carriers.v[i].language, k->language) && c->carriers.v[i].form == k->form)
			return &c->carriers.v[i];
	return NULL;
}

static void diff_carriers(struct pair *p)
{
	for (size_t i = 0; i < p->old->carriers.n; i++) {
		const struct kl_card_carrier *a = &p->old->carriers.v[i], *b = find_carrier(p->now, a);
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
			     "the carrier for %s (%w) is said to come from another event", a->language,
			     form);
	}
	for (size_t i = 0; i < p->now->carriers.n; i++)
		if (!find_carrier(p->old, &p->now->carriers.v[i]))
			NOTE(p, "carrier-added", "a carrier for %s (%w) is new",
			     p->now->carriers.v[i].language,
			     kl_carrier_form_name(p->now->carriers.v[i].form));
}

/* --- the card ------------------------------------------------------------------------------ */

/* Status is computed, so that a rise has trials behind it; they are named, and followed elsewhere. */
static void diff_status(struct pair *p)
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
static void new_card(struct pair *p)
{
	const struct kl_card *c = p->now;

	NOTE(p, "card-added", "a new card, %w: %s", kl_card_status_name(c->status), c->intent);
	for (size_t i = 0; i < c->ver.n; i++)
		say_new_trial(p, &c->ver.v[i]);
	if (c->status != KL_CARD_ADMITTED && c->status != KL_CARD_PROVISIONAL)
		return;
	for (size_t i = 0; i < c->scope.cases.n; i++)
		if (!case_is_verified(c, c->scope.cases.v[i]))
			ANSWER(p, "scope-unverified",
			       "the scope has the case %s, which nothing in 'ver' or 'effect' "
			       "verifies",
			       c->scope.cases.v[i]);
	for (size_t i = 0; i < c->scope.languages.n; i++)
		if (!language_is_verified(c, c->scope.languages.v[i]))
			ANSWER(p, "scope-unverified",
			       "the scope has the language %s, which nothing in 'ver' or "
			       "'effect' verifies",
			       c->scope.languages.v[i]);
}

void kl_card_diff(struct kl_findings *out, const struct kl_card *old, const struct kl_card *now)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec events = KL_STRVEC_INIT;
	struct pair p = { .out = out, .old = old, .now = now };

	if (!old) {
		new_card(&p);
		return;
	}
	p.trusted = old->status == KL_CARD_ADMITTED || old->status == KL_CARD_PROVISIONAL;
	kl_card_events(&events, old);
	diff_status(&p);
	diff_pres(&p);
	diff_scope(&p);
	diff_effect(&p, &events);
	diff_evidence(&p);
	diff_risks(&p);
	diff_trials(&p);
	diff_line(&p, "intent", old->intent, now->intent);
	diff_line(&p, "anchor.construct", old->anchor.construct, now->anchor.construct);
	diff_line(&p, "anchor.acts_on", old->anchor.acts_on, now->anchor.acts_on);
	diff_find(&p);
	diff_carriers(&p);
	if (!same_text(old->mechanism, now->mechanism) || !same_text(old->action, now->action))
		NOTE(&p, "mechanism", "it is of mechanism %s, action %s; before %s, %s", now->mechanism,
		     now->action, old->mechanism, old->action);
}
