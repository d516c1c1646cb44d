/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "card/predicate.h"
#include "learn/witness_parts.h"

static void clause_release(struct kl_witness_clause *c)
{
	free(c->text);
	free(c->event);
	free(c->at);
	free(c->why);
	kl_strvec_release(&c->plan);
}

void kl_witness_release(struct kl_witness *w)
{
	for (size_t i = 0; i < w->n; i++) {
		for (size_t k = 0; k < w->v[i].n; k++)
			clause_release(&w->v[i].clause[k]);
		free(w->v[i].clause);
		free(w->v[i].card);
		free(w->v[i].pre);
	}
	free(w->v);
	kl_strvec_release(&w->notes);
	free(w->cannot);
}

/* what belongs to one condition */
static void forget_results(struct kl_seeker *s)
{
	kl_clauses_release(&s->clauses);
	kl_keep_release(&s->keep);
	s->keep = (struct kl_keep){ 0 };
	kl_map_release(&s->events);
	s->events = (struct kl_map){ .free_value = kl_event_free_value };
}

static void seeker_release(struct kl_seeker *s)
{
	forget_results(s);
	for (size_t i = 0; i < s->ngate; i++) {
		kl_gate_free(s->gate[i].gate);
		free(s->gate[i].platform);
	}
	free(s->gate);
	free(s->no_device);
	kl_card_free(s->card);
}

/* --- one clause ------------------------------------------------------------------------------- */

static bool asks_for(const char *test, const char *prefix)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *p = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec keys = KL_STRVEC_INIT;

	if (kl_predicate_parse(&p, test, NULL) < 0) {
		kl_error_clear();
		return false;
	}
	kl_predicate_keys(&keys, p);
	for (size_t i = 0; i < keys.n; i++)
		if (!strncmp(keys.v[i], prefix, strlen(prefix)))
			return true;
	return false;
}

/* is the condition about this kernel at all, and true of it? */
static bool is_about(struct kl_seeker *s, struct kl_target *at, size_t i)
{
	KL_AUTO(kl_freep) char *test = kl_clauses_one(&s->clauses, i);

	if (*s->clauses.guard && kl_target_test(at, s->clauses.guard, true, NULL) != KL_FALSE)
		return false;
	return kl_target_test(at, test, true, NULL) == KL_TRUE;
}

static int ask_kernel(struct kl_seeker *s, struct kl_witness_clause *c,
		      const struct kl_transition *t, size_t i)
{
	struct kl_target at = { .known = KL_KNOWN_INIT };
	int err = kl_target_init(&at, s->o->tax, t->to, t->platform);

	if (err < 0)
		return kl_witness_unsure(s, c, err);
	kl_target_add_event(&at, t->event);
	if (!is_about(s, &at, i))
		;
	else if (asks_for(s->clauses.v.v[i], "cap("))
		err = kl_witness_on_platforms(s, c, t, &at, i);
	else
		err = kl_witness_at_points(s, c, t, &at, i);
	kl_target_release(&at);
	return err;
}

static bool is_evidence(const struct kl_card *c, const struct kl_transition *t)
{
	for (size_t i = 0; i < c->evidence.n; i++)
		if (!strcmp(c->evidence.v[i].event, t->event->id))
			return true;
	return false;
}

/* are all kernels of the card here? One that is not may need what those that are do not */
static bool all_here(const struct kl_seeker *s)
{
	size_t n = 0;

	for (size_t k = 0; k < s->o->t->n; k++)
		n += is_evidence(s->card, &s->o->t->v[k]);
	return n >= s->card->evidence.n;
}

static int ask_clause(struct kl_seeker *s, size_t i)
{
	struct kl_witness_clause *c = &s->r->clause[i];
	int err = 0;

	kl_progress_title(s->o->progress, "%s: %s", s->card->id, c->text);
	for (size_t k = 0; !err && k < s->o->t->n && c->end == KL_WITNESS_OPEN; k++)
		if (is_evidence(s->card, &s->o->t->v[k]))
			err = ask_kernel(s, c, &s->o->t->v[k], i);
	if (!err && c->end == KL_WITNESS_OPEN && !c->passes)
		err = kl_witness_by_carrier(s, i);
	if (!err && c->end == KL_WITNESS_OPEN && c->passes && !all_here(s)) {
		c->unsure = true;
		free(c->why);
		c->why = kl_strdup(
			"right without it, but not all kernels that it was learned from are here");
	}
	/* a kernel that nobody could ask may need it */
	if (!err && c->end == KL_WITNESS_OPEN && c->passes && !c->unsure)
		c->end = KL_WITNESS_PASSES;
	if (!c->why && c->end == KL_WITNESS_OPEN && !s->o->dry)
		c->why = kl_strdup(
			"none of the kernels that it was learned from is here, or is one to ask");
	return err;
}

/* --- one condition, one card ------------------------------------------------------------------ */

static struct kl_witness_result *add_result(struct kl_seeker *s, const struct kl_card_pre *p)
{
	struct kl_witness *w = s->out;
	struct kl_witness_result *r;

	KL_GROW(w->v, w->n + 1, w->alloc);
	r = &w->v[w->n++];
	*r = (struct kl_witness_result){
		.card = kl_strdup(s->card->id),
		.pre = kl_strdup(p->id),
		.n = s->clauses.v.n,
		.clause = kl_calloc(s->clauses.v.n, sizeof(*r->clause)),
	};
	for (size_t i = 0; i < r->n; i++)
		r->clause[i].text = kl_strdup(s->clauses.v.v[i]);
	return r;
}

static bool any_decided(const struct kl_witness_result *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->clause[i].end != KL_WITNESS_OPEN)
			return true;
	return false;
}

static int seek_pre(struct kl_seeker *s, size_t pre)
{
	const struct kl_card_pre *p = &s->card->sound.v[pre];
	KL_AUTO(kl_freep) char *chain = kl_asprintf("refs/klineage/trials/%s", s->card->id);
	int err;

	forget_results(s);
	if ((err = kl_clauses_split(&s->clauses, p->test)) < 0)
		return err;
	s->keep = (struct kl_keep){ .repo = s->o->repo, .chain = chain };
	s->r = add_result(s, p);
	err = kl_witness_at_hand(s);
	for (size_t i = 0; !err && i < s->r->n; i++)
		if (s->r->clause[i].end == KL_WITNESS_OPEN)
			err = ask_clause(s, i);
	if (!err && !s->o->dry && any_decided(s->r))
		err = kl_witness_put(s, pre);
	forget_results(s);
	return err;
}

static const struct kl_card_pre *find_open(size_t *at, const struct kl_card *c, const char *id)
{
	for (*at = 0; *at < c->sound.n; ++*at) {
		const struct kl_card_pre *p = &c->sound.v[*at];

		if (!strcmp(p->id, id) && p->test && p->state == KL_PRE_ASSUMED)
			return p;
	}
	return NULL;
}

static int read_card(struct kl_seeker *s, const char *id)
{
	kl_card_free(s->card);
	s->card = NULL;
	return kl_library_card(&s->card, s->o->library, id);
}

static int seek_card(struct kl_seeker *s, const char *id)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec pres = KL_STRVEC_INIT;
	int err = read_card(s, id);

	if (err == KL_EINVALID || err == KL_ECANNOT) {
		kl_strvec_push(&s->out->notes, kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0 || s->card->status == KL_CARD_RETRACTED)
		return err;
	for (size_t i = 0; i < s->card->sound.n; i++)
		kl_strvec_push(&pres, s->card->sound.v[i].id);
	for (size_t i = 0; !err && i < pres.n; i++) {
		size_t at;

		if (find_open(&at, s->card, pres.v[i]))
			err = seek_pre(s, at);
		if (!err) /* it may have changed */
			err = read_card(s, id);
	}
	return err;
}

static int pick_cards(struct kl_strvec *out, const struct kl_witness_opts *o)
{
	for (size_t i = 0; i < kl_library_count(o->library) && !o->cards->n; i++)
		kl_strvec_push(out, kl_library_id(o->library, i));
	for (size_t i = 0; i < o->cards->n; i++) {
		size_t at;
		int err = kl_library_find(&at, o->library, o->cards->v[i]);

		if (err < 0)
			return err;
		kl_strvec_push(out, kl_library_id(o->library, at));
	}
	kl_strvec_uniq(out);
	return 0;
}

int kl_witness_seek(struct kl_witness *out, const struct kl_witness_opts *o)
{
	KL_AUTO(seeker_release) struct kl_seeker s = { .o = o, .out = out };
	KL_AUTO(kl_strvec_release) struct kl_strvec cards = KL_STRVEC_INIT;
	int err;

	*out = (struct kl_witness){ 0 };
	s.events.free_value = kl_event_free_value;
	err = pick_cards(&cards, o);
	for (size_t i = 0; !err && i < cards.n; i++)
		err = seek_card(&s, cards.v[i]);
	return err;
}
