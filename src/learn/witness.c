/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/prefix.h"
#include "card/predicate.h"
#include "learn/witness_parts.h"

static void clause_release(struct kl_witness_clause *clause)
{
	free(clause->text);
	free(clause->event);
	free(clause->at);
	free(clause->why);
	kl_strvec_release(&clause->plan);
}

void kl_witness_release(struct kl_witness *witness)
{
	for (size_t i = 0; i < witness->n; i++) {
		for (size_t k = 0; k < witness->v[i].n; k++)
			clause_release(&witness->v[i].clause[k]);
		free(witness->v[i].clause);
		free(witness->v[i].card);
		free(witness->v[i].pre);
	}
	free(witness->v);
	kl_strvec_release(&witness->notes);
	free(witness->cannot);
}

/* Release everything that belongs to one condition. */
static void forget_results(struct kl_witness_search *search)
{
	kl_clauses_release(&search->clauses);
	kl_keep_release(&search->keep);
	search->keep = (struct kl_keep){ 0 };
	kl_map_release(&search->events);
	search->events = (struct kl_map){ .free_value = kl_event_free_value };
}

static void seeker_release(struct kl_witness_search *search)
{
	forget_results(search);
	for (size_t i = 0; i < search->ngate; i++) {
		kl_gate_free(search->gate[i].gate);
		free(search->gate[i].platform);
	}
	free(search->gate);
	free(search->no_device);
	kl_card_free(search->card);
}

/* --- testing one clause ----------------------------------------------------------------------- */

static bool asks_for(const char *test, const char *prefix)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *predicate = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec keys = KL_STRVEC_INIT;

	if (kl_predicate_parse(&predicate, test, NULL) < 0) {
		kl_error_clear();
		return false;
	}
	kl_predicate_keys(&keys, predicate);
	for (size_t i = 0; i < keys.n; i++)
		if (kl_prefix_has(keys.v[i], prefix))
			return true;
	return false;
}

/* Check that the clause applies to the kernel of target `at` and is true there. */
static bool is_about(struct kl_witness_search *search, struct kl_target *at, size_t i)
{
	KL_AUTO(kl_freep) char *test = kl_clauses_one(&search->clauses, i);

	if (*search->clauses.guard &&
	    kl_target_test(at, search->clauses.guard, true, NULL) != KL_FALSE)
		return false;
	return kl_target_test(at, test, true, NULL) == KL_TRUE;
}

static int ask_kernel(struct kl_witness_search *search, struct kl_witness_clause *clause,
		      const struct kl_transition *transition, size_t i)
{
	struct kl_target at = { .known = KL_KNOWN_INIT };
	int err = kl_target_init(&at, search->o->tax, transition->to, transition->platform);

	if (err < 0)
		return kl_witness_unsure(search, clause, err);
	kl_target_add_event(&at, transition->event);
	if (!is_about(search, &at, i))
		;
	else if (asks_for(search->clauses.v.v[i], "cap("))
		err = kl_witness_on_platforms(search, clause, transition, &at, i);
	else
		err = kl_witness_at_points(search, clause, transition, &at, i);
	kl_target_release(&at);
	return err;
}

static bool is_evidence(const struct kl_card *card, const struct kl_transition *transition)
{
	for (size_t i = 0; i < card->evidence.n; i++)
		if (!strcmp(card->evidence.v[i].event, transition->event->id))
			return true;
	return false;
}

/*
 * Check that every kernel that the card was learned from is loaded. A kernel that is not loaded
 * could need the clause.
 */
static bool all_here(const struct kl_witness_search *search)
{
	size_t n = 0;

	for (size_t k = 0; k < search->o->t->n; k++)
		n += is_evidence(search->card, &search->o->t->v[k]);
	return n >= search->card->evidence.n;
}

static int ask_clause(struct kl_witness_search *search, size_t i)
{
	struct kl_witness_clause *clause = &search->r->clause[i];
	int err = 0;

	kl_progress_title(search->o->progress, "%s: %s", search->card->id, clause->text);
	for (size_t k = 0; !err && k < search->o->t->n && clause->end == KL_WITNESS_OPEN; k++)
		if (is_evidence(search->card, &search->o->t->v[k]))
			err = ask_kernel(search, clause, &search->o->t->v[k], i);
	if (!err && clause->end == KL_WITNESS_OPEN && !clause->passes && !clause->waits)
		err = kl_witness_by_carrier(search, i);
	if (!err && clause->end == KL_WITNESS_OPEN && clause->passes && !all_here(search)) {
		clause->unsure = true;
		free(clause->why);
		clause->why = kl_strdup(
			"kernels pass without the clause, but not all kernels that the card was "
			"learned from are here");
	}
	if (clause->waits && clause->end == KL_WITNESS_OPEN) {
		free(clause->why);
		clause->why = kl_strdup("a verdict is to come from elsewhere");
		return err;
	}
	/* if `unsure` is set, a kernel that could not be judged may still need the clause */
	if (!err && clause->end == KL_WITNESS_OPEN && clause->passes && !clause->unsure)
		clause->end = KL_WITNESS_PASSES;
	if (!clause->why && clause->end == KL_WITNESS_OPEN && !search->o->dry)
		clause->why = kl_strdup(
			"no kernel that the card was learned from is here and can be tested");
	return err;
}

/* --- seeking witnesses for a condition or a card ---------------------------------------------- */

static struct kl_witness_result *add_result(struct kl_witness_search *search,
					    const struct kl_card_pre *pre)
{
	struct kl_witness *witness = search->out;
	struct kl_witness_result *result;

	KL_GROW(witness->v, witness->n + 1, witness->alloc);
	result = &witness->v[witness->n++];
	*result = (struct kl_witness_result){
		.card = kl_strdup(search->card->id),
		.pre = kl_strdup(pre->id),
		.n = search->clauses.v.n,
		.clause = kl_calloc(search->clauses.v.n, sizeof(*result->clause)),
	};
	for (size_t i = 0; i < result->n; i++)
		result->clause[i].text = kl_strdup(search->clauses.v.v[i]);
	return result;
}

/*
 * Return true if the condition can be written, that is, if a clause is decided and none waits for a
 * verdict. Once a condition is written, no more witnesses are sought for it.
 */
static bool is_decided(const struct kl_witness_result *result)
{
	for (size_t i = 0; i < result->n; i++)
		if (result->clause[i].waits && result->clause[i].end == KL_WITNESS_OPEN)
			return false;
	for (size_t i = 0; i < result->n; i++)
		if (result->clause[i].end != KL_WITNESS_OPEN)
			return true;
	return false;
}

static int seek_pre(struct kl_witness_search *search, size_t pre)
{
	const struct kl_card_pre *condition = &search->card->sound.v[pre];
	KL_AUTO(kl_freep) char *chain = kl_asprintf("refs/klineage/trials/%s", search->card->id);
	int err;

	forget_results(search);
	if ((err = kl_clauses_split(&search->clauses, condition->test)) < 0)
		return err;
	search->keep = (struct kl_keep){ .repo = search->o->repo, .chain = chain };
	search->r = add_result(search, condition);
	err = kl_witness_at_hand(search);
	for (size_t i = 0; !err && i < search->r->n; i++)
		if (search->r->clause[i].end == KL_WITNESS_OPEN)
			err = ask_clause(search, i);
	if (!err && !search->o->dry && is_decided(search->r))
		err = kl_witness_put(search, pre);
	forget_results(search);
	return err;
}

static const struct kl_card_pre *find_open(size_t *at, const struct kl_card *card, const char *id)
{
	for (*at = 0; *at < card->sound.n; ++*at) {
		const struct kl_card_pre *pre = &card->sound.v[*at];

		if (!strcmp(pre->id, id) && pre->test &&
		    (pre->state == KL_PRE_ASSUMED || pre->state == KL_PRE_NOT_TESTED))
			return pre;
	}
	return NULL;
}

static int read_card(struct kl_witness_search *search, const char *id)
{
	kl_card_free(search->card);
	search->card = NULL;
	return kl_library_card(&search->card, search->o->library, id);
}

static int seek_card(struct kl_witness_search *search, const char *id)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec pres = KL_STRVEC_INIT;
	int err = read_card(search, id);

	if (err == KL_EINVALID || err == KL_ECANNOT) {
		kl_strvec_push(&search->out->notes, kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0 || search->card->status == KL_CARD_RETRACTED)
		return err;
	for (size_t i = 0; i < search->card->sound.n; i++)
		kl_strvec_push(&pres, search->card->sound.v[i].id);
	for (size_t i = 0; !err && i < pres.n; i++) {
		size_t at;

		if (find_open(&at, search->card, pres.v[i]))
			err = seek_pre(search, at);
		if (!err) /* seek_pre() may have put a new version of the card into the library */
			err = read_card(search, id);
	}
	return err;
}

/* Move the jobs of all sessions to the first session, because a wave is sent as one bundle. */
static int gather_jobs(struct kl_witness_search *search)
{
	int err = 0;

	for (size_t i = 0; !err && i < search->ngate; i++)
		err = kl_gate_take_jobs(search->o->gate, search->gate[i].gate);
	return err;
}

static int pick_cards(struct kl_strvec *out, const struct kl_witness_opts *opts)
{
	for (size_t i = 0; i < kl_library_count(opts->library) && !opts->cards->n; i++)
		kl_strvec_push(out, kl_library_id(opts->library, i));
	for (size_t i = 0; i < opts->cards->n; i++) {
		size_t at;
		int err = kl_library_find(&at, opts->library, opts->cards->v[i]);

		if (err < 0)
			return err;
		kl_strvec_push(out, kl_library_id(opts->library, at));
	}
	kl_strvec_uniq(out);
	return 0;
}

int kl_witness_seek(struct kl_witness *out, const struct kl_witness_opts *opts)
{
	KL_AUTO(seeker_release) struct kl_witness_search search = { .o = opts, .out = out };
	KL_AUTO(kl_strvec_release) struct kl_strvec cards = KL_STRVEC_INIT;
	int err;

	*out = (struct kl_witness){ 0 };
	search.events.free_value = kl_event_free_value;
	err = pick_cards(&cards, opts);
	for (size_t i = 0; !err && i < cards.n; i++)
		err = seek_card(&search, cards.v[i]);
	return err < 0 ? err : gather_jobs(&search);
}
