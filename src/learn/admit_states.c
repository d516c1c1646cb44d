/* SPDX-License-Identifier: Apache-2.0 */
/* admit_states - finds the states that are held out from a card and orders them for a trial */
#include <stdlib.h>
#include <string.h>

#include "apply/carrier.h"
#include "base/error.h"
#include "base/rng.h"
#include "card/status.h"
#include "learn/admit_parts.h"
#include "learn/locus.h"
#include "retrieve/target.h"

/*
 * --- held-out states ----------------------------------------------------------------------
 */

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
	/* a tool would make the same edit again, but a model may make another */
	if (passed && !work->o->rewriter)
		return kl_strdup("a trial of the card on this state has passed");
	if (state->trials >= KL_ADMIT_TRIALS)
		return kl_strdup("the card was already tried three times on this state");
	return NULL;
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

/* Set the state's level, and state->why if it cannot be judged here. */
static int place_state(struct kl_admit *work, struct kl_admit_state *state)
{
	struct kl_level_found found;
	struct kl_platform platform;
	int err;

	if (kl_gate_platform(&platform, work->o->gate, state->state) < 0) {
		state->why = kl_strdup(kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (!kl_gate_is_remote(work->o->gate) && kl_gate_reaches(work->o->gate, state->state) < 0) {
		state->why = kl_asprintf("the state cannot be judged here: %s", kl_error_last());
		kl_error_clear();
		return 0;
	}
	err = kl_level_find(&found, &work->evidence,
			    &(struct kl_level_state){
				    .surface = state->state,
				    .commit = state->commit,
				    .lineage = state->lineage,
				    .platform = platform.id,
			    });
	if (err < 0)
		return err;
	state->level = found.level;
	state->changed = found.changed;
	state->alike = found.alike;
	return 0;
}

/*
 * Return a number that the seed gives to the state; states are drawn in the order of the numbers.
 */
static uint64_t draw_of(const struct kl_admit *work, const git_oid *commit)
{
	uint64_t word;

	memcpy(&word, commit->id, sizeof(word));
	return kl_rng_split((uint64_t)work->seed, word);
}

/* Add the kernel that the options name as the only state. */
static int add_kernel(struct kl_admit *work)
{
	struct kl_admission *admission = work->a;
	struct kl_admit_state state = {
		.commit = work->o->commit,
		.state = work->o->kernel,
		.changed = -1,
		.alike = -1,
	};
	int err;

	state.why = why_not(work, &state);
	if (!state.why && (err = place_state(work, &state)) < 0)
		return err;
	KL_GROW(admission->v, admission->n + 1, admission->alloc);
	admission->v[admission->n++] = state;
	return 0;
}

static int add_state(struct kl_admit *work, const struct kl_transition *transition, bool last)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *own = NULL;
	struct kl_admission *admission = work->a;
	struct kl_admit_state state = {
		.lineage = transition->lineage,
		.step = last ? transition->step.number : transition->step.number - 1,
		.commit = last ? transition->after : transition->before,
		.state = transition->from,
		.next = last ? NULL : transition,
		.changed = -1,
		.alike = -1,
	};
	git_oid tree;
	int err = 0;

	if (!is_on(work, transition, &state.commit))
		return 0;
	/* `to` can be the re-derived K*; the trial must use the surface in the commit of K* */
	if (last && (err = kl_repo_tree_of(&tree, work->o->repo, &transition->after)) == 0)
		err = kl_surface_from_tree(&own, work->o->repo, &tree, "");
	if (err)
		return err;
	if (own)
		state.state = own;
	state.like = state.next && work->old->mechanism && transition->step.mechanism &&
		     !strcmp(transition->step.mechanism, work->old->mechanism);
	state.draw = draw_of(work, &state.commit);
	state.why = why_not(work, &state);
	if (!state.why && (err = place_state(work, &state)) < 0)
		return err;
	state.own = kl_steal(&own);
	KL_GROW(admission->v, admission->n + 1, admission->alloc);
	admission->v[admission->n++] = state;
	return 0;
}

/*
 * Return the effect that a pass on the state can have: 0 for none, 1 for making the card
 * provisional, 2 or 3 for admitting the card. A state in another language gets 2, a state in the
 * card's own language 3, because the card's conditions may not apply to other languages.
 */
static int worth_of(const struct kl_admit_state *state)
{
	switch (state->level) {
	case KL_LEVEL_SAME_CODE:
		return 0;
	case KL_LEVEL_OTHER_STATE:
		return 1;
	case KL_LEVEL_OTHER_LANGUAGE:
		return 2;
	default:
		return 3;
	}
}

/*
 * Order states: states on which the card can be tried come first, and of these, states on which a
 * pass says most. Among those the order is drawn, so that nobody chooses the state that suits the
 * card. A state that is in several lineages is drawn once.
 */
static int by_order(const void *a, const void *b)
{
	const struct kl_admit_state *left = a, *right = b;
	int order = (left->why != NULL) - (right->why != NULL);

	if (!order && !left->why)
		order = worth_of(right) - worth_of(left);
	if (!order && !left->why)
		order = (left->draw > right->draw) - (left->draw < right->draw);
	if (!order)
		order = strcmp(left->lineage, right->lineage);
	return order ? order : left->step - right->step;
}

int kl_admit_states(struct kl_admit *work)
{
	const struct kl_transitions *transitions = &work->a->t;
	int err = see_evidence(work);

	if (!err)
		err = kl_level_evidence_load(&work->evidence, work->o->repo, transitions,
					     work->old);
	if (!err && work->o->kernel)
		return add_kernel(work);
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

/*
 * --- states whose facts forbid a trial --------------------------------------------------------
 */

/*
 * Return true if the state is known to lack a requirement of the card. A trait of the state is
 * known only if the state's history claims it.
 */
static bool is_missing(const struct kl_target *target, const char *required)
{
	return !kl_target_has(target, required) && strncmp(required, "trait:", 6) != 0;
}

/*
 * Return a feature that the card provides and no kernel of the language can have; NULL if there is
 * none. A trait can be in a kernel of any language.
 */
static const char *never_has(const struct kl_backend *backend, const struct kl_card *card)
{
	for (size_t i = 0; i < card->provides.n; i++)
		if (strncmp(card->provides.v[i], "trait:", 6) &&
		    !backend->has_feature(card->provides.v[i]))
			return card->provides.v[i];
	return NULL;
}

static char *why_unfit(struct kl_target *target, const struct kl_card *card,
		       const struct kl_language *language, const char *never)
{
	if (never)
		return kl_asprintf("the card provides '%s', which no kernel in %s has", never,
				   language->name);
	for (size_t i = 0; i < card->provides.n; i++)
		if (kl_target_has(target, card->provides.v[i]))
			return kl_asprintf("the state already has '%s'", card->provides.v[i]);
	for (size_t i = 0; i < card->scope.requires.n; i++)
		if (is_missing(target, card->scope.requires.v[i]))
			return kl_asprintf("the card requires '%s', which the state does not have",
					   card->scope.requires.v[i]);
	for (size_t i = 0; i < card->scope.conflicts.n; i++)
		if (kl_target_has(target, card->scope.conflicts.v[i]))
			return kl_asprintf("the card conflicts with '%s', which the state has",
					   card->scope.conflicts.v[i]);
	for (size_t i = 0; i < card->sound.n; i++)
		if (card->sound.v[i].test && kl_card_pre_counts(&card->sound.v[i]) &&
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
	if (err || (err = kl_target_of_commit(&target, work->o->tax, work->o->repo, state->state,
					      &state->commit, platform.id)) < 0)
		return err;
	kl_target_add_features(&target, &compiled.features);
	*why = why_unfit(&target, work->old, state->state->contract->language,
			 never_has(kl_backend_of(state->state->contract), work->old));
	/* a state that somebody names is tried whatever it has */
	if (!*why && !work->o->on && !work->o->kernel)
		*why = kl_locus_missing(&target, work->old, state->state);
	kl_target_release(&target);
	if (!*why) {
		*facts = kl_event_new();
		(*facts)->compiled = true;
		kl_strvec_copy(&(*facts)->facts.features, &compiled.features);
	}
	return 0;
}
