/* SPDX-License-Identifier: Apache-2.0 */
/* lift_fill - fills a card's carriers, conditions and order from its group of steps */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "card/predicate.h"
#include "learn/lift_parts.h"
#include "rewrite/proposal.h"

#define MAX_DIFF (128u << 10)

bool kl_lift_is_in(const struct kl_transition *t, const char *language)
{
	return !strcmp(t->from->contract->language->name, language);
}

/* languages of the group, sorted */
static void languages_of(struct kl_strvec *out, const struct kl_lift_group *g)
{
	for (size_t i = 0; i < g->n; i++)
		kl_strvec_push(out, g->t[i]->from->contract->language->name);
	kl_strvec_uniq(out);
}

void kl_lift_keep(struct kl_strvec *v, const struct kl_strvec *other)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++) {
		if (kl_strvec_has(other, v->v[i]))
			v->v[n++] = v->v[i];
		else
			free(v->v[i]);
	}
	v->n = n;
	if (v->v)
		v->v[n] = NULL;
}

void kl_lift_common(struct kl_strvec *out, const struct kl_lift_group *g, const char *language,
		    kl_lift_facts_fn *of)
{
	bool first = true;

	for (size_t i = 0; i < g->n; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec one = KL_STRVEC_INIT;

		if (language && !kl_lift_is_in(g->t[i], language))
			continue;
		of(&one, g->t[i], g->m);
		if (first)
			kl_strvec_copy(out, &one);
		else
			kl_lift_keep(out, &one);
		first = false;
	}
	kl_strvec_uniq(out);
}

static void add_carrier(struct kl_card *c, const struct kl_lift_group *g, const char *language)
{
	if (kl_card_carrier(c, language))
		return;
	for (size_t i = 0; i < g->n; i++) { /* the best of the language */
		const struct kl_transition *t = g->t[i];

		if (!kl_lift_is_in(t, language) || !*t->diff || strlen(t->diff) > MAX_DIFF)
			continue;
		KL_GROW(c->carriers.v, c->carriers.n + 1, c->carriers.alloc);
		c->carriers.v[c->carriers.n++] = (struct kl_card_carrier){
			.language = kl_strdup(language),
			.form = KL_CARRIER_DIFF,
			.of = kl_strdup(t->event->id),
			.text = kl_strdup(t->diff),
		};
		return;
	}
}

/* --- conditions ------------------------------------------------------------------------------- */

/* takes the strings */
static void add_sound(struct kl_card *c, struct kl_card_pre p)
{
	KL_GROW(c->sound.v, c->sound.n + 1, c->sound.alloc);
	c->sound.v[c->sound.n++] = p;
}

/* what the mechanism is known by and a platform can lack */
static void needs_of(struct kl_strvec *out, const struct kl_lifter *l,
		     const struct kl_lift_group *g, const char *language)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec delta = KL_STRVEC_INIT;

	kl_lift_common(&delta, g, language, kl_lift_delta);
	for (size_t i = 0; i < delta.n; i++)
		if (kl_taxonomy_cap(l->tax, delta.v[i]) >= 0)
			kl_strvec_push(out, delta.v[i]);
}

/* of its language alone, since another one may do it otherwise */
static void need_platform(struct kl_card *c, const struct kl_lifter *l,
			  const struct kl_lift_group *g, const char *language)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec needs = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf test = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	needs_of(&needs, l, g, language);
	if (c->scope.languages.n)
		kl_lift_keep(&c->scope.needs, &needs);
	else
		kl_strvec_copy(&c->scope.needs, &needs);
	if (!needs.n)
		return;
	kl_buf_addf(&test, "language != '%s' || ", language);
	for (size_t k = 0; k < needs.n; k++) {
		kl_buf_addf(&test, "%scap('%s')", k ? " && " : "", needs.v[k]);
		kl_buf_addf(&text, "%s%s", k ? ", " : "the platform has ", needs.v[k]);
	}
	add_sound(c, (struct kl_card_pre){
			     .id = kl_asprintf("isa-%s", language),
			     .text = kl_buf_detach(&text),
			     .test = kl_buf_detach(&test),
		     });
}

/* how the dims must be made; how large they may be is the kernel's matter, not the step's */
static bool is_structural(const char *domain)
{
	return strchr(domain, '%') || strstr(domain, "==");
}

/* predicates that every contract of an operator promises */
static void domain_of(struct kl_strvec *out, const struct kl_lift_group *g, const char *op)
{
	bool first = true;

	for (size_t i = 0; i < g->n; i++) {
		const struct kl_contract *k = g->t[i]->from->contract;
		KL_AUTO(kl_strvec_release) struct kl_strvec one = KL_STRVEC_INIT;

		if (strcmp(k->op, op))
			continue;
		for (size_t d = 0; d < k->ndomain; d++)
			if (is_structural(k->domain_text[d]))
				kl_strvec_push(&one, k->domain_text[d]);
		if (first)
			kl_strvec_copy(out, &one);
		else
			kl_lift_keep(out, &one);
		first = false;
	}
}

static void need_domain(struct kl_card *c, const struct kl_lift_group *g, const char *op)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec domain = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *id = kl_asprintf("domain-%s", op);
	struct kl_buf test = KL_BUF_INIT;

	domain_of(&domain, g, op);
	if (!domain.n || kl_card_has_pre(c, id))
		return;
	kl_buf_addf(&test, "op != '%s' || ", op);
	for (size_t i = 0; i < domain.n; i++)
		if (test.len + strlen(domain.v[i]) + 6 < KL_PREDICATE_MAX_TEXT)
			kl_buf_addf(&test, "%s(%s)", i ? " && " : "", domain.v[i]);
	add_sound(c, (struct kl_card_pre){
			     .id = kl_steal(&id),
			     .test = kl_buf_detach(&test),
			     .text = kl_asprintf(
				     "all kernels of %s that it was learned from promise it", op),
		     });
}

/* --- order ------------------------------------------------------------------------------------ */

static void add_traits(struct kl_strvec *out, const struct kl_step *s)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec traits = KL_STRVEC_INIT;

	kl_strvec_split(&traits, s->trait ? s->trait : "", ", ");
	for (size_t i = 0; i < traits.n; i++)
		kl_strvec_pushf(out, "trait:%s", traits.v[i]);
}

/* what earlier transitions of its lineage are known by, and is still there */
static void came_before(struct kl_strvec *out, const struct kl_lifter *l,
			const struct kl_transition *t)
{
	for (const struct kl_transition *u = l->t->v; u < t; u++) {
		const struct kl_mechanism *m = u->step.mechanism ?
						       kl_mechanisms_find(&l->mechanisms,
									  u->step.mechanism) :
						       NULL;
		KL_AUTO(kl_strvec_release) struct kl_strvec signs = KL_STRVEC_INIT;

		if (strcmp(u->lineage, t->lineage) || !m)
			continue;
		kl_lift_signs(&signs, u, m);
		kl_lift_keep(&signs, &t->had);
		for (size_t i = 0; i < signs.n; i++)
			kl_strvec_push(out, signs.v[i]);
		add_traits(out, &u->step);
	}
	kl_strvec_uniq(out);
}

/* several lineages agree on what was there first: one alone shows an order, no need */
static void add_required(struct kl_card *c, const struct kl_lifter *l,
			 const struct kl_lift_group *g)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec lineages = KL_STRVEC_INIT;

	for (size_t i = 0; i < g->n; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec before = KL_STRVEC_INIT;

		kl_strvec_push(&lineages, g->t[i]->lineage);
		came_before(&before, l, g->t[i]);
		if (i)
			kl_lift_keep(&c->scope.requires, &before);
		else
			kl_strvec_copy(&c->scope.requires, &before);
	}
	kl_strvec_uniq(&lineages);
	if (lineages.n > 1)
		return;
	kl_strvec_release(&c->scope.requires);
	c->scope.requires = (struct kl_strvec)KL_STRVEC_INIT;
}

/* what came later and took away what this one brings */
static void add_conflicts(struct kl_card *c, const struct kl_lifter *l,
			  const struct kl_transition *t)
{
	const struct kl_transition *end = l->t->v + l->t->n;

	for (const struct kl_transition *u = t + 1; u < end && !strcmp(u->lineage, t->lineage);
	     u++) {
		const struct kl_mechanism *m = u->step.mechanism ?
						       kl_mechanisms_find(&l->mechanisms,
									  u->step.mechanism) :
						       NULL;
		KL_AUTO(kl_strvec_release) struct kl_strvec signs = KL_STRVEC_INIT;
		bool took = false;

		for (size_t k = 0; k < u->lost.n; k++)
			took |= kl_strvec_has(&c->provides, u->lost.v[k]);
		if (took && m)
			kl_lift_signs(&signs, u, m);
		for (size_t k = 0; k < signs.n; k++)
			if (!kl_strvec_has(&c->scope.conflicts, signs.v[k]))
				kl_strvec_push(&c->scope.conflicts, signs.v[k]);
	}
}

/* --- a new card ------------------------------------------------------------------------------- */

static void add_provided(struct kl_card *c, const struct kl_lift_group *g)
{
	kl_lift_common(&c->provides, g, NULL, kl_lift_delta);
	for (size_t i = 0; !c->provides.n && i < g->n; i++)
		/* nothing is in all: what some show */
		kl_lift_delta(&c->provides, g->t[i], g->m);
	kl_strvec_uniq(&c->provides);
	kl_strvec_copy(&c->scope.provides, &c->provides);
}

void kl_lift_word(struct kl_card *c, const struct kl_lifter *l, const struct kl_lift_group *g)
{
	c->intent = kl_strdup(g->m->text);
	c->mechanism = kl_strdup(g->m->name);
	c->action = kl_strdup(g->action);
	kl_lift_anchor(c, g);
	add_provided(c, g);
	add_required(c, l, g);
	for (size_t i = 0; i < g->n; i++)
		add_conflicts(c, l, g->t[i]);
}

/* --- what any card learns --------------------------------------------------------------------- */

static char *hex_id(const git_oid *oid)
{
	char *out = kl_malloc(KL_OID_HEX);

	kl_oid_hex(out, oid);
	return out;
}

static void add_evidence(struct kl_card *c, const struct kl_transition *t)
{
	static const git_oid none;
	bool anew = memcmp(&t->rederived, &none, sizeof(none)) != 0;
	const char *how = t->step.derivation ? t->step.derivation : "inverse";
	struct kl_card_evidence e = {
		.lineage = kl_strdup(t->lineage),
		.step = t->step.number,
		.before = hex_id(&t->before),
		.after = hex_id(&t->after),
		.rederived = anew ? hex_id(&t->rederived) : NULL,
		.derivation = !anew                    ? KL_DERIVED_INVERSE :
			      strcmp(how, "rederived") ? KL_DERIVED_UNISOLATED :
							 KL_DERIVED_ANEW,
		.origin = kl_strdup(t->step.origin ? t->step.origin : "induced"),
		.language = kl_strdup(t->from->contract->language->name),
		.platform = kl_strdup(t->platform),
		.event = kl_strdup(t->event->id),
		.confirmed = anew && t->confirmed ? kl_strdup(t->confirmed->id) : NULL,
	};

	kl_card_add_evidence(c, &e);
}

static void add_rows(struct kl_card *c, const struct kl_lifter *l, const struct kl_transition *t)
{
	const struct kl_contract *k = t->from->contract;

	for (size_t i = 0; i < kl_transition_points(t); i++) {
		struct kl_card_row r = { 0 };
		const struct kl_dims *dims;

		if (!kl_transition_point(&r.ratio, &dims, t, &l->t->events, i))
			continue;
		for (size_t d = 0; d < dims->n; d++)
			kl_card_dims_add(&r.dims, k->dim_name[d], dims->v[d]);
		r.by = kl_lift_is_verified(t) ? KL_ROW_REDERIVED : KL_ROW_UNVERIFIED;
		r.case_ = kl_strdup(k->op);
		r.dtype = kl_strdup(t->dtype);
		r.language = kl_strdup(k->language->name);
		r.platform = kl_strdup(t->platform);
		r.event = kl_strdup(t->event->id);
		kl_card_add_row(c, &r);
	}
}

static void add_slower(struct kl_card *c, const struct kl_transition *t)
{
	KL_AUTO(kl_buf_release) struct kl_buf ratio = KL_BUF_INIT;
	const struct kl_contract *k = t->from->contract;
	struct kl_card_risk r = { .class_ = kl_strdup("slower") };

	kl_card_decimal(&ratio, kl_lift_ratio_of(t));
	r.text = kl_asprintf("%s in %s ran at %s of its speed on %s", t->dtype, k->op, ratio.ptr,
			     t->platform);
	kl_strvec_push(&r.events, t->event->id);
	kl_card_add_risk(c, &r);
}

/* control bytes of a message are no text of a card */
static char *first_line(const char *s)
{
	char *out = kl_strndup(s, 400);

	for (unsigned char *p = (unsigned char *)out; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			*p = ' ';
	/* not half a character */
	for (size_t n = strlen(out); n == 400 && n && (unsigned char)out[n - 1] >= 0x80;)
		out[--n] = '\0';
	return out;
}

/* a refused step of the mechanism shows what it must not do */
static void add_refusal(struct kl_card *c, const struct kl_refusal *r)
{
	const char *words = *r->said ? r->said : r->step.text ? r->step.text : r->step.action;
	KL_AUTO(kl_freep) char *said = first_line(words);
	KL_AUTO(kl_freep) char *id = kl_proposal_slug(r->step.action);
	const char *class_ = kl_event_class(r->event);
	struct kl_card_risk risk = { .class_ = kl_strdup(class_), .text = kl_strdup(said) };

	kl_strvec_push(&risk.events, r->event->id);
	if (!kl_card_has_pre(c, id))
		add_sound(c, (struct kl_card_pre){
				     .id = kl_strdup(id),
				     .text = kl_asprintf("not so: %s", said),
				     .state = KL_PRE_WITNESSED,
				     .by = kl_strdup(r->event->id),
				     .class_ = kl_strdup(class_),
			     });
	risk.violates = kl_strdup(id);
	kl_card_add_risk(c, &risk);
}

static void learn_language(struct kl_card *c, const struct kl_lifter *l,
			   const struct kl_lift_group *g, const char *language)
{
	add_carrier(c, g, language);
	if (!kl_strvec_has(&c->scope.languages, language)) {
		kl_lift_find(c, g, language);
		need_platform(c, l, g, language);
		kl_strvec_push(&c->scope.languages, language);
	}
	kl_lift_constants(c, g, language);
}

void kl_lift_learn(struct kl_card *c, const struct kl_lifter *l, const struct kl_lift_group *g)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec languages = KL_STRVEC_INIT;

	for (size_t i = 0; i < g->n; i++) {
		const char *op = g->t[i]->from->contract->op;

		add_evidence(c, g->t[i]);
		add_rows(c, l, g->t[i]);
		if (g->wins && kl_lift_speed_of(g->t[i]) == KL_SPEED_SLOW)
			add_slower(c, g->t[i]);
		if (!kl_strvec_has(&c->scope.cases, op)) {
			need_domain(c, g, op);
			kl_strvec_push(&c->scope.cases, op);
		}
	}
	languages_of(&languages, g);
	for (size_t i = 0; i < languages.n; i++)
		learn_language(c, l, g, languages.v[i]);
	for (size_t i = 0; i < l->t->nr; i++) {
		const struct kl_refusal *r = &l->t->r[i];

		if (r->event && r->step.mechanism && !strcmp(r->step.mechanism, g->m->name))
			add_refusal(c, r);
	}
	kl_lift_useful(c, l);
}
