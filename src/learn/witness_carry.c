/* SPDX-License-Identifier: Apache-2.0 */
/* witness_carry - applies a card's carrier where a clause is false, and judges the result */
#include <stdlib.h>
#include <string.h>

#include "apply/carrier.h"
#include "base/error.h"
#include "learn/witness_parts.h"

#define MAX_STATES 3 /* maximum number of states to try for one clause */

/* Check that clause i, and no other clause, is false for the state before the step. */
static int is_false(bool *yes, struct kl_witness_search *search,
		    const struct kl_transition *transition, size_t i)
{
	struct kl_target at = { .known = KL_KNOWN_INIT };
	int err = kl_target_init(&at, search->o->tax, transition->from, transition->platform);

	*yes = false;
	if (err < 0)
		return err;
	kl_target_add_features(&at, &transition->had);
	*yes = kl_witness_false_one(search, &at) == i;
	kl_target_release(&at);
	return 0;
}

/* Apply the card in the first way that applies, from *variant on; set *variant to that way. */
static int apply_carrier(struct kl_surface **out, size_t *variant, struct kl_witness_search *search,
			 const struct kl_gate *gate, const struct kl_transition *transition)
{
	const char *language = transition->from->contract->language->name;
	size_t n = kl_carrier_variants(search->card, language);
	struct kl_carrier_try try = {
		.repo = search->o->repo,
		.library = search->o->repo,
		.jail = kl_gate_jail(gate),
		.card = search->card,
		.state = transition->from,
	};
	char how[KL_CARRIER_HOW];
	int err;

	do {
		try.variant = *variant;
		err = kl_carrier_apply(out, how, &try);
	} while (err == KL_ENO && ++*variant < n);
	return err;
}

/* The first edited state that passed, and the first that failed. */
struct carried {
	struct kl_judgement *right, *wrong;
	char *right_at, *wrong_at;
};

static void carried_release(struct carried *carried)
{
	kl_judgement_free(carried->right);
	kl_judgement_free(carried->wrong);
	free(carried->right_at);
	free(carried->wrong_at);
}

/* Record a verdict. If it is the first pass or the first failure, take ownership of *judgements. */
static int take_verdict(struct carried *carried, struct kl_witness_search *search,
			struct kl_witness_clause *clause, const struct kl_transition *transition,
			const struct kl_surface *made, struct kl_judgement **judgements)
{
	bool pass = kl_witness_passed(*judgements);
	struct kl_judgement **first = pass ? &carried->right : &carried->wrong;
	int err;

	if (!kl_witness_is_there(search->card, &(*judgements)->event->facts.features)) {
		kl_witness_leave_open(clause,
				      "the carrier's edit does not add what the card provides");
		return 0;
	}
	if (!pass && !kl_witness_ran((*judgements)->event->failure)) {
		kl_witness_leave_open(clause, (*judgements)->event->message);
		return 0;
	}
	err = kl_witness_keep(
		search, transition, &transition->before, made, *judgements,
		"the card's carrier, applied to a state where the condition is false");
	if (err < 0 || *first)
		return err;
	*first = kl_steal(judgements);
	*(pass ? &carried->right_at : &carried->wrong_at) = kl_asprintf(
		"%s K_%d, by the carrier", transition->lineage, transition->step.number - 1);
	return 0;
}

/* An edited state and its verdict. */
struct edited {
	struct kl_surface *made;
	struct kl_judgement *judgement;
};

static void edited_release(struct edited *edited)
{
	kl_surface_free(edited->made);
	kl_judgement_free(edited->judgement);
}

/*
 * Apply the card to the state and judge the result. The diffs of a card come from different states.
 * If one of them fails, the next may be the one for this state, so only if all fail is the failure
 * of the first one returned.
 */
static int judge_edits(struct edited *out, struct kl_witness_search *search,
		       struct kl_witness_clause *clause, struct kl_gate *gate,
		       const struct kl_transition *transition)
{
	const char *language = transition->from->contract->language->name;
	size_t variant = 0;
	int err;

	for (;; variant++) {
		KL_AUTO(edited_release) struct edited next = { 0 };

		if (variant && !kl_carrier_is_diff(search->card, language, variant))
			return 0;
		err = apply_carrier(&next.made, &variant, search, gate, transition);
		if (err == KL_ENO && out->judgement) {
			kl_error_clear();
			return 0;
		}
		if (err < 0)
			return kl_witness_unsure(search, clause, err);
		err = kl_witness_judge(&next.judgement, search, clause, gate, next.made, true);
		if (err < 0 || !next.judgement)
			return err;
		if (out->judgement && !kl_witness_passed(next.judgement))
			continue;
		edited_release(out);
		*out = next;
		next = (struct edited){ 0 };
		if (kl_witness_passed(out->judgement))
			return 0;
	}
}

static int try_on(struct carried *carried, struct kl_witness_search *search,
		  struct kl_witness_clause *clause, const struct kl_transition *transition)
{
	KL_AUTO(edited_release) struct edited edited = { 0 };
	struct kl_gate *gate;
	int err;

	kl_strvec_pushf(&clause->plan, "%s K_%d, by the carrier", transition->lineage,
			transition->step.number - 1);
	if (search->o->dry)
		return 0;
	if ((err = kl_witness_session(&gate, search, "")) < 0)
		return kl_witness_unsure(search, clause, err);
	err = judge_edits(&edited, search, clause, gate, transition);
	if (err < 0 || !edited.judgement || clause->waits)
		return err;
	return take_verdict(carried, search, clause, transition, edited.made, &edited.judgement);
}

/*
 * Decide the clause only if all tried states have the same verdict. The states differ in more than
 * this clause, so different verdicts do not show that the clause is the cause.
 */
static void conclude_clause(struct carried *carried, struct kl_witness_search *search,
			    struct kl_witness_clause *clause)
{
	if (carried->right && carried->wrong) { /* replace the reason that an earlier test gave */
		free(clause->why);
		clause->why = kl_strdup(
			"the carrier's edit passes on one state where the clause is false, and "
			"fails on another");
	} else if (carried->wrong) {
		kl_witness_fails(search, clause, carried->wrong, kl_steal(&carried->wrong_at));
	} else if (carried->right) {
		kl_witness_passes(search, clause, carried->right, kl_steal(&carried->right_at));
	}
}

int kl_witness_by_carrier(struct kl_witness_search *search, size_t i)
{
	struct kl_witness_clause *clause = &search->r->clause[i];
	KL_AUTO(carried_release) struct carried got = { 0 };
	size_t tried = 0;
	int err = 0;

	for (size_t k = 0; !err && k < search->o->t->n && tried < MAX_STATES; k++) {
		const struct kl_transition *transition = &search->o->t->v[k];
		bool yes;

		if (!kl_carrier_mechanical(search->card,
					   transition->from->contract->language->name))
			continue;
		if ((err = is_false(&yes, search, transition, i)) < 0)
			return kl_witness_unsure(search, clause, err);
		if (!yes)
			continue;
		tried++;
		err = try_on(&got, search, clause, transition);
	}
	if (!err && !clause->waits)
		conclude_clause(&got, search, clause);
	return err;
}
