/* SPDX-License-Identifier: Apache-2.0 */
/* witness_carry - tries a card's carrier on states where a clause is false */
#include <stdlib.h>
#include <string.h>

#include "apply/carrier.h"
#include "base/error.h"
#include "learn/witness_parts.h"

#define MAX_STATES 3 /* that are tried for one clause */

/* is it the clause that is false of the state before the step, and nothing else? */
static int is_false(bool *yes, struct kl_seeker *s, const struct kl_transition *t, size_t i)
{
	struct kl_target at = { .known = KL_KNOWN_INIT };
	int err = kl_target_init(&at, s->o->tax, t->from, t->platform);

	*yes = false;
	if (err < 0)
		return err;
	kl_target_add_features(&at, &t->had);
	*yes = kl_witness_false_one(s, &at) == i;
	kl_target_release(&at);
	return 0;
}

static int apply_carrier(struct kl_surface **out, struct kl_seeker *s, const struct kl_gate *g,
			 const struct kl_transition *t)
{
	const char *how;

	return kl_carrier_apply(out, &how,
				&(struct kl_carrier_try){
					.repo = s->o->repo,
					.library = s->o->repo,
					.jail = kl_gate_jail(g),
					.card = s->card,
					.state = t->from,
				});
}

/* what came of all states: of those that are right and of those that are wrong the first */
struct carried {
	struct kl_judgement *right, *wrong;
	char *right_at, *wrong_at;
};

static void carried_release(struct carried *k)
{
	kl_judgement_free(k->right);
	kl_judgement_free(k->wrong);
	free(k->right_at);
	free(k->wrong_at);
}

/* takes the verdict */
static int take_verdict(struct carried *k, struct kl_seeker *s, struct kl_witness_clause *c,
			const struct kl_transition *t, const struct kl_surface *made,
			struct kl_judgement **v)
{
	bool pass = kl_witness_passed(*v);
	struct kl_judgement **first = pass ? &k->right : &k->wrong;
	int err;

	if (!kl_witness_is_there(s->card, &(*v)->event->facts.features)) {
		kl_witness_leave_open(c, "the carrier did not bring there what the card provides");
		return 0;
	}
	if (!pass && !kl_witness_ran((*v)->event->failure)) {
		kl_witness_leave_open(c, (*v)->event->message);
		return 0;
	}
	err = kl_witness_keep(s, t, &t->before, made, *v,
			      "the card's carrier on a state where it is false");
	if (err < 0 || *first)
		return err;
	*first = kl_steal(v);
	*(pass ? &k->right_at : &k->wrong_at) = kl_asprintf("%s K_%d, by the carrier", t->lineage,
							    t->step.number - 1);
	return 0;
}

static int try_on(struct carried *k, struct kl_seeker *s, struct kl_witness_clause *c,
		  const struct kl_transition *t)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *made = NULL;
	KL_AUTO(kl_judgement_freep) struct kl_judgement *v = NULL;
	struct kl_gate *g;
	int err;

	kl_strvec_pushf(&c->plan, "%s K_%d, by the carrier", t->lineage, t->step.number - 1);
	if (s->o->dry)
		return 0;
	if ((err = kl_witness_gate(&g, s, "")) < 0 || (err = apply_carrier(&made, s, g, t)) < 0)
		return kl_witness_unsure(s, c, err);
	if ((err = kl_witness_judge(&v, s, c, g, made, true)) < 0 || !v)
		return err;
	return take_verdict(k, s, c, t, made, &v);
}

/*
 * states differ in other things, too: only what is so of all of them says something of the clause
 */
static void conclude_clause(struct carried *k, struct kl_seeker *s, struct kl_witness_clause *c)
{
	if (k->right && k->wrong) { /* says more than what was said of points */
		free(c->why);
		c->why = kl_strdup("the carrier is right on one such state, and wrong on another");
	} else if (k->wrong) {
		kl_witness_fails(s, c, k->wrong, kl_steal(&k->wrong_at));
	} else if (k->right) {
		kl_witness_passes(s, c, k->right, kl_steal(&k->right_at));
	}
}

int kl_witness_by_carrier(struct kl_seeker *s, size_t i)
{
	struct kl_witness_clause *c = &s->r->clause[i];
	KL_AUTO(carried_release) struct carried got = { 0 };
	size_t tried = 0;
	int err = 0;

	for (size_t k = 0; !err && k < s->o->t->n && tried < MAX_STATES; k++) {
		const struct kl_transition *t = &s->o->t->v[k];
		bool yes;

		if (!kl_carrier_mechanical(s->card, t->from->contract->language->name))
			continue;
		if ((err = is_false(&yes, s, t, i)) < 0)
			return kl_witness_unsure(s, c, err);
		if (!yes)
			continue;
		tried++;
		err = try_on(&got, s, c, t);
	}
	if (!err)
		conclude_clause(&got, s, c);
	return err;
}
