/* SPDX-License-Identifier: Apache-2.0 */
/* admit_states - the states that are held out from a card, and which of them a trial can use */
#include <stdlib.h>
#include <string.h>

#include "apply/carrier.h"
#include "base/error.h"
#include "card/status.h"
#include "learn/admit_parts.h"
#include "retrieve/target.h"

/* --- what is held out --------------------------------------------------------------------- */

static void see_event(struct kl_strvec *seen, const struct kl_event *event)
{
	const struct kl_comparisons *vs = &event->profile.vs;

	kl_strvec_push(seen, event->surface);
	for (size_t i = 0; i < vs->n; i++)
		if (*vs->v[i].surface)
			kl_strvec_push(seen, vs->v[i].surface);
}

/* the files it was learned from, whatever commit has them */
static int see_evidence(struct kl_admit *w)
{
	for (size_t i = 0; i < w->old->evidence.n; i++) {
		const struct kl_card_evidence *e = &w->old->evidence.v[i];
		const char *id[] = { e->event, e->confirmed };

		for (size_t k = 0; k < 2 && id[k]; k++) {
			KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
			int err = kl_library_event(&event, w->o->library, id[k]);

			if (err < 0)
				return kl_error_in(err, "card '%s'", w->old->id);
			see_event(&w->seen, event);
		}
	}
	kl_strvec_uniq(&w->seen);
	return 0;
}

static int64_t trials_on(const struct kl_card *c, const char *hex, bool *passed)
{
	int64_t n = 0;

	*passed = false;
	for (size_t i = 0; i < c->ver.n; i++) {
		const struct kl_card_trial *t = &c->ver.v[i];

		if (t->retracted || t->foreign || strcmp(t->state, hex))
			continue;
		n++;
		*passed |= kl_status_counts(t);
	}
	return n;
}

static char *why_not(const struct kl_admit *w, struct kl_admit_state *s)
{
	char hex[KL_OID_HEX];
	bool passed;

	kl_oid_hex(hex, &s->commit);
	s->trials = trials_on(w->old, hex, &passed);
	if (!w->o->rewriter && !kl_carrier_mechanical(w->old, s->state->contract->language->name))
		return kl_asprintf("no carrier for %s", s->state->contract->language->name);
	if (kl_card_has_state(w->old, hex))
		return kl_strdup("the card was learned from it");
	if (kl_strvec_has(&w->seen, s->state->digest))
		return kl_strdup("the card was learned from the same files");
	if (passed)
		return kl_strdup("a trial on it passed");
	if (s->trials >= KL_ADMIT_TRIALS)
		return kl_strdup("it had its three trials");
	return NULL;
}

/* how much of what the card is found by is in a state that has these features */
static int64_t found_in(const struct kl_card *c, const char *language,
			const struct kl_strvec *features)
{
	for (size_t i = 0; i < c->anchor.find.n; i++) {
		const struct kl_card_find *f = &c->anchor.find.v[i];
		int64_t there = 0;

		if (strcmp(f->language, language) || !f->facts.n)
			continue;
		for (size_t k = 0; k < f->facts.n; k++) {
			bool absent = *f->facts.v[k] == '!';

			there += kl_strvec_has(features, f->facts.v[k] + absent) != absent;
		}
		return KL_ONE * there / (int64_t)f->facts.n;
	}
	return KL_ONE / 2;
}

/* of K_{i-1}, or of K* */
static void features_of(struct kl_strvec *out, const struct kl_transition *t, bool last)
{
	for (size_t i = 0; i < t->had.n; i++)
		if (!last || !kl_strvec_has(&t->lost, t->had.v[i]))
			kl_strvec_push(out, t->had.v[i]);
	for (size_t i = 0; last && i < t->gained.n; i++)
		kl_strvec_push(out, t->gained.v[i]);
	kl_strvec_uniq(out);
}

/* is it one of those asked for? */
static bool is_on(const struct kl_admit *w, const struct kl_transition *t, const git_oid *commit)
{
	const char *on = w->o->on;
	size_t n = on ? strlen(on) : 0;

	if (!on)
		return true;
	return (!strncmp(t->lineage, on, n) && (!t->lineage[n] || t->lineage[n] == '/')) ||
	       (w->has_on && git_oid_equal(&w->on, commit));
}

static int add_state(struct kl_admit *w, const struct kl_transition *t, bool last)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec features = KL_STRVEC_INIT;
	struct kl_admission *a = w->a;
	struct kl_admit_state s = {
		.lineage = t->lineage,
		.step = last ? t->step.number : t->step.number - 1,
		.commit = last ? t->after : t->before,
		.state = t->from,
		.next = last ? NULL : t,
	};
	struct kl_platform p;
	git_oid tree;
	int err = 0;

	if (!is_on(w, t, &s.commit))
		return 0;
	/* `to` may be what was derived anew, K* is what the commit has */
	if (last && (err = kl_repo_tree_of(&tree, w->o->repo, &t->after)) == 0)
		err = kl_surface_from_tree(&s.own, w->o->repo, &tree, "");
	if (err)
		return err;
	if (s.own)
		s.state = s.own;
	s.like = s.next && w->old->mechanism && t->step.mechanism &&
		 !strcmp(t->step.mechanism, w->old->mechanism);
	s.why = why_not(w, &s);
	if (!s.why && kl_gate_platform(&p, w->o->gate, s.state) < 0) {
		s.why = kl_strdup(kl_error_last());
		kl_error_clear();
	}
	if (!s.why && kl_gate_reaches(w->o->gate, s.state) < 0) {
		s.why = kl_asprintf("it is not judged here: %s", kl_error_last());
		kl_error_clear();
	}
	if (!s.why)
		s.level = kl_status_level(w->old, s.state->contract->workload, s.lineage,
					  s.state->contract->language->name, p.id);
	features_of(&features, t, last);
	s.found = found_in(w->old, s.state->contract->language->name, &features);
	KL_GROW(a->v, a->n + 1, a->alloc);
	a->v[a->n++] = s;
	return 0;
}

/* would a pass admit the card? */
static bool state_admits(const struct kl_admit_state *s)
{
	return kl_level_rank(s->level) >= kl_level_rank(KL_LEVEL_OTHER_LINEAGE);
}

/*
 * Those that can be tried first. Of these the farthest, but a state that lacks what the card is
 * about shows nothing of its worth: the anchor counts before the distance, as long as a pass
 * admits.
 */
static int by_order(const void *x, const void *y)
{
	const struct kl_admit_state *a = x, *b = y;
	int c = (a->why != NULL) - (b->why != NULL);

	if (!c && !a->why)
		c = (int)state_admits(b) - (int)state_admits(a);
	if (!c && !a->why)
		c = (a->found < b->found) - (a->found > b->found);
	if (!c && !a->why)
		c = kl_level_rank(b->level) - kl_level_rank(a->level);
	if (!c && !a->why)
		c = (int)b->like - (int)a->like;
	if (!c)
		c = strcmp(a->lineage, b->lineage);
	return c ? c : a->step - b->step;
}

int kl_admit_states(struct kl_admit *w)
{
	const struct kl_transitions *t = &w->a->t;
	int err = see_evidence(w);

	if (!err && w->o->on) {
		w->has_on = kl_repo_resolve(&w->on, w->o->repo, w->o->on) == 0;
		kl_error_clear();
	}
	for (size_t i = 0; !err && i < t->n; i++) {
		err = add_state(w, &t->v[i], false);
		if (!err && (i + 1 == t->n || strcmp(t->v[i + 1].lineage, t->v[i].lineage)))
			err = add_state(w, &t->v[i], true);
	}
	if (!err && w->o->on && !w->a->n)
		return kl_error(KL_ENOTFOUND, "no state of a lineage here is '%s'", w->o->on);
	if (w->a->n)
		qsort(w->a->v, w->a->n, sizeof(*w->a->v), by_order);
	return err;
}

/* --- which of them -------------------------------------------------------------------------- */

static char *why_unfit(struct kl_target *t, const struct kl_card *c)
{
	for (size_t i = 0; i < c->provides.n; i++)
		if (kl_target_has(t, c->provides.v[i]))
			return kl_asprintf("'%s' is there already", c->provides.v[i]);
	for (size_t i = 0; i < c->scope.conflicts.n; i++)
		if (kl_target_has(t, c->scope.conflicts.v[i]))
			return kl_asprintf("it conflicts with '%s'", c->scope.conflicts.v[i]);
	for (size_t i = 0; i < c->sound.n; i++)
		if (c->sound.v[i].test &&
		    kl_target_test(t, c->sound.v[i].test, true, NULL) == KL_FALSE)
			return kl_asprintf("sound '%s' is false", c->sound.v[i].id);
	return NULL;
}

/* what cannot be judged here is no reason to give up: another state may be */
static bool is_answer(int err)
{
	return err == KL_ENO || err == KL_ECANNOT;
}

int kl_admit_facts(char **why, struct kl_event **facts, const struct kl_admit *w,
		   const struct kl_admit_state *s)
{
	KL_AUTO(kl_facts_release) struct kl_facts f = { 0 };
	struct kl_target t = { .known = KL_KNOWN_INIT };
	struct kl_platform p;
	int err = kl_gate_platform(&p, w->o->gate, s->state);

	if (!err)
		err = kl_gate_facts(&f, w->o->gate, s->state);
	if (is_answer(err)) {
		*why = kl_asprintf("it is not judged here: %s", kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err || (err = kl_target_init(&t, w->o->tax, s->state, p.id)) < 0)
		return err;
	kl_target_add_features(&t, &f.features);
	*why = why_unfit(&t, w->old);
	kl_target_release(&t);
	if (!*why) {
		*facts = kl_event_new();
		(*facts)->compiled = true;
		kl_strvec_copy(&(*facts)->facts.features, &f.features);
	}
	return 0;
}
