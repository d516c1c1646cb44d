/* SPDX-License-Identifier: Apache-2.0 */
/* admit_states - finds the states that are held out from a card and orders them for a trial */
#include <stdlib.h>
#include <string.h>

#include "apply/carrier.h"
#include "base/error.h"
#include "card/status.h"
#include "learn/admit_parts.h"
#include "retrieve/target.h"

/* --- held-out states ---------------------------------------------------------------------- */

static void see_event(struct kl_strvec *seen, const struct kl_event *event)
{
	const struct kl_comparisons *vs = &event->profile.vs;

	kl_strvec_push(seen, event->surface);
	for (size_t i = 0; i < vs->n; i++)
		if (*vs->v[i].surface)
			kl_strvec_push(seen, vs->v[i].surface);
}

/* Collect the digests of all surfaces that the card was learned from. */
static int see_evidence(struct kl_admit *work)
{
	for (size_t i = 0; i < work->old->evidence.n; i++) {
		const struct kl_card_evidence *evidence = &work->old->evidence.v[i];
		const char *id[] = { evidence->event, evidence->confirmed };

		for (size_t k = 0; k < 2 && id[k]; k++) {
			KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
			int err = kl_library_event(&event, work->o->library, id[k]);

			if (err < 0)
				return kl_error_in(err, "card '%s'", work->old->id);
			see_event(&work->seen, event);
		}
	}
	kl_strvec_uniq(&work->seen);
	return 0;
}

static int64_t trials_on(const struct kl_card *card, const char *hex, bool *passed)
{
	int64_t n = 0;

	*passed = false;
	for (size_t i = 0; i < card->ver.n; i++) {
		const struct kl_card_trial *trial = &card->ver.v[i];

		if (trial->retracted || trial->foreign || strcmp(trial->state, hex))
			continue;
		n++;
		*passed |= kl_status_counts(trial);
	}
	return n;
}

static char *why_not(const struct kl_admit *work, struct kl_admit_state *state)
{
	char hex[KL_OID_HEX];
	bool passed;

	kl_oid_hex(hex, &state->commit);
	state->trials = trials_on(work->old, hex, &passed);
	if (!work->o->rewriter &&
	    !kl_carrier_mechanical(work->old, state->state->contract->language->name))
		return kl_asprintf("the card has no mechanical carrier for %s",
				   state->state->contract->language->name);
	if (kl_card_has_state(work->old, hex))
		return kl_strdup("the card was learned from this state");
	if (kl_strvec_has(&work->seen, state->state->digest))
		return kl_strdup("the card was learned from the same files");
	if (passed)
		return kl_strdup("a trial of the card on this state has passed");
	if (state->trials >= KL_ADMIT_TRIALS)
		return kl_strdup("the card was already tried three times on this state");
	return NULL;
}

/* Return the share of the anchor's facts that `features` have, 0 to KL_ONE. */
static int64_t found_in(const struct kl_card *card, const char *language,
			const struct kl_strvec *features)
{
	for (size_t i = 0; i < card->anchor.find.n; i++) {
		const struct kl_card_find *find = &card->anchor.find.v[i];
		int64_t there = 0;

		if (strcmp(find->language, language) || !find->facts.n)
			continue;
		for (size_t k = 0; k < find->facts.n; k++) {
			bool absent = *find->facts.v[k] == '!';

			there += kl_strvec_has(features, find->facts.v[k] + absent) != absent;
		}
		return KL_ONE * there / (int64_t)find->facts.n;
	}
	return KL_ONE / 2;
}

/*
 * List the features of the state before the transition or, if `last`, of the state after it (K*).
 */
static void features_of(struct kl_strvec *out, const struct kl_transition *transition, bool last)
{
	for (size_t i = 0; i < transition->had.n; i++)
		if (!last || !kl_strvec_has(&transition->lost, transition->had.v[i]))
			kl_strvec_push(out, transition->had.v[i]);
	for (size_t i = 0; last && i < transition->gained.n; i++)
		kl_strvec_push(out, transition->gained.v[i]);
	kl_strvec_uniq(out);
}

/* Check that the state matches the option `on`. */
static bool is_on(const struct kl_admit *work, const struct kl_transition *transition,
		  const git_oid *commit)
{
	const char *on = work->o->on;
	size_t n = on ? strlen(on) : 0;

	if (!on)
		return true;
	return (!strncmp(transition->lineage, on, n) &&
		(!transition->lineage[n] || transition->lineage[n] == '/')) ||
	       (work->has_on && git_oid_equal(&work->on, commit));
}

static int add_state(struct kl_admit *work, const struct kl_transition *transition, bool last)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec features = KL_STRVEC_INIT;
	struct kl_admission *admission = work->a;
	struct kl_admit_state state = {
		.lineage = transition->lineage,
		.step = last ? transition->step.number : transition->step.number - 1,
		.commit = last ? transition->after : transition->before,
		.state = transition->from,
		.next = last ? NULL : transition,
	};
	struct kl_platform platform;
	git_oid tree;
	int err = 0;

	if (!is_on(work, transition, &state.commit))
		return 0;
	/* `to` can be the re-derived K*; the trial must use the surface in the commit of K* */
	if (last && (err = kl_repo_tree_of(&tree, work->o->repo, &transition->after)) == 0)
		err = kl_surface_from_tree(&state.own, work->o->repo, &tree, "");
	if (err)
		return err;
	if (state.own)
		state.state = state.own;
	state.like = state.next && work->old->mechanism && transition->step.mechanism &&
		     !strcmp(transition->step.mechanism, work->old->mechanism);
	state.why = why_not(work, &state);
	if (!state.why && kl_gate_platform(&platform, work->o->gate, state.state) < 0) {
		state.why = kl_strdup(kl_error_last());
		kl_error_clear();
	}
	if (!state.why && kl_gate_reaches(work->o->gate, state.state) < 0) {
		state.why = kl_asprintf("the state cannot be judged here: %s", kl_error_last());
		kl_error_clear();
	}
	if (!state.why)
		state.level = kl_status_level(work->old, state.state->contract->workload,
					      state.lineage, state.state->contract->language->name,
					      platform.id);
	features_of(&features, transition, last);
	state.found = found_in(work->old, state.state->contract->language->name, &features);
	KL_GROW(admission->v, admission->n + 1, admission->alloc);
	admission->v[admission->n++] = state;
	return 0;
}

/* Return true if a trial that passes on the state admits the card. */
static bool state_admits(const struct kl_admit_state *state)
{
	return kl_level_rank(state->level) >= kl_level_rank(KL_LEVEL_OTHER_LINEAGE);
}

/*
 * Order states: states on which the card can be tried come first, and of these, states on which a
 * pass admits the card. The share of the anchor counts more than the distance from the evidence,
 * because a state that lacks the code that the card is about shows nothing about the card.
 */
static int by_order(const void *a, const void *b)
{
	const struct kl_admit_state *left = a, *right = b;
	int order = (left->why != NULL) - (right->why != NULL);

	if (!order && !left->why)
		order = (int)state_admits(right) - (int)state_admits(left);
	if (!order && !left->why)
		order = (left->found < right->found) - (left->found > right->found);
	if (!order && !left->why)
		order = kl_level_rank(right->level) - kl_level_rank(left->level);
	if (!order && !left->why)
		order = (int)right->like - (int)left->like;
	if (!order)
		order = strcmp(left->lineage, right->lineage);
	return order ? order : left->step - right->step;
}

int kl_admit_states(struct kl_admit *work)
{
	const struct kl_transitions *transitions = &work->a->t;
	int err = see_evidence(work);

	if (!err && work->o->on) {
		work->has_on = kl_repo_resolve(&work->on, work->o->repo, work->o->on) == 0;
		kl_error_clear();
	}
	for (size_t i = 0; !err && i < transitions->n; i++) {
		err = add_state(work, &transitions->v[i], false);
		if (!err && (i + 1 == transitions->n ||
			     strcmp(transitions->v[i + 1].lineage, transitions->v[i].lineage)))
			err = add_state(work, &transitions->v[i], true);
	}
	if (!err && work->o->on && !work->a->n)
		return kl_error(KL_ENOTFOUND, "no lineage state matches '%s'", work->o->on);
	if (work->a->n)
		qsort(work->a->v, work->a->n, sizeof(*work->a->v), by_order);
	return err;
}

/* --- states whose facts forbid a trial -------------------------------------------------------- */

static char *why_unfit(struct kl_target *target, const struct kl_card *card)
{
	for (size_t i = 0; i < card->provides.n; i++)
		if (kl_target_has(target, card->provides.v[i]))
			return kl_asprintf("the state already has '%s'", card->provides.v[i]);
	for (size_t i = 0; i < card->scope.conflicts.n; i++)
		if (kl_target_has(target, card->scope.conflicts.v[i]))
			return kl_asprintf("the card conflicts with '%s', which the state has",
					   card->scope.conflicts.v[i]);
	for (size_t i = 0; i < card->sound.n; i++)
		if (card->sound.v[i].test &&
		    kl_target_test(target, card->sound.v[i].test, true, NULL) == KL_FALSE)
			return kl_asprintf("the sound precondition '%s' is false",
					   card->sound.v[i].id);
	return NULL;
}

/* Return true if the error concerns only this state, so that another state can be tried. */
static bool is_answer(int err)
{
	return err == KL_ENO || err == KL_ECANNOT;
}

int kl_admit_facts(char **why, struct kl_event **facts, const struct kl_admit *work,
		   const struct kl_admit_state *state)
{
	KL_AUTO(kl_facts_release) struct kl_facts compiled = { 0 };
	struct kl_target target = { .known = KL_KNOWN_INIT };
	struct kl_platform platform;
	int err = kl_gate_platform(&platform, work->o->gate, state->state);

	if (!err)
		err = kl_gate_facts(&compiled, work->o->gate, state->state);
	if (is_answer(err)) {
		*why = kl_asprintf("the state cannot be judged here: %s", kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err || (err = kl_target_init(&target, work->o->tax, state->state, platform.id)) < 0)
		return err;
	kl_target_add_features(&target, &compiled.features);
	*why = why_unfit(&target, work->old);
	kl_target_release(&target);
	if (!*why) {
		*facts = kl_event_new();
		(*facts)->compiled = true;
		kl_strvec_copy(&(*facts)->facts.features, &compiled.features);
	}
	return 0;
}
