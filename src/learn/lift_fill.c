/* SPDX-License-Identifier: Apache-2.0 */
/* lift_fill - fills a card's carriers, conditions and order from its group of steps */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "event/speed.h"
#include "learn/lift_parts.h"
#include "rewrite/proposal.h"
#include "text/line_ends.h"

#define MAX_DIFF (128u << 10)
#define MAX_DIFFS (512u << 10) /* maximum number of bytes of all carriers of a card */
/* maximum number of carriers, so that there is room for transformations */
#define MAX_CARRIERS 56
/* maximum number of bytes of a refusal's reason that a card quotes */
#define MAX_SAID 400

bool kl_lift_is_in(const struct kl_transition *transition, const char *language)
{
	return !strcmp(transition->from->contract->language->name, language);
}

/* List the languages of the group, sorted. */
static void languages_of(struct kl_strvec *out, const struct kl_lift_group *group)
{
	for (size_t i = 0; i < group->n; i++)
		kl_strvec_push(out, group->t[i]->from->contract->language->name);
	kl_strvec_uniq(out);
}

void kl_lift_keep(struct kl_strvec *list, const struct kl_strvec *other)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (kl_strvec_has(other, list->v[i]))
			list->v[n++] = list->v[i];
		else
			free(list->v[i]);
	}
	list->n = n;
	if (list->v)
		list->v[n] = NULL;
}

void kl_lift_common(struct kl_strvec *out, const struct kl_lift_group *group, const char *language,
		    kl_lift_facts_fn *of)
{
	bool first = true;

	for (size_t i = 0; i < group->n; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec one = KL_STRVEC_INIT;

		if (language && !kl_lift_is_in(group->t[i], language))
			continue;
		of(&one, group->t[i], group->m);
		if (first)
			kl_strvec_copy(out, &one);
		else
			kl_lift_keep(out, &one);
		first = false;
	}
	kl_strvec_uniq(out);
}

/* Check that a card can hold the text: UTF-8 without control characters but tabs and LF. */
static bool is_card_text(const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if (((unsigned char)text[i] < 0x20 && text[i] != '\t' && text[i] != '\n') ||
		    text[i] == 0x7f)
			return false;
	return kl_utf8_span(text, n) == n;
}

static bool has_carrier(const struct kl_card *card, const struct kl_transition *transition)
{
	for (size_t i = 0; i < card->carriers.n; i++)
		if (card->carriers.v[i].form == KL_CARRIER_DIFF && card->carriers.v[i].of &&
		    !strcmp(card->carriers.v[i].of, transition->event->id))
			return true;
	return false;
}

/*
 * Add the diff of each transition in the language as a carrier, the best first, while the card has
 * room for it. A note names a step whose diff does not go into the card.
 */
static void add_carriers(struct kl_card *card, const struct kl_lifter *lifter,
			 const struct kl_lift_group *group, const char *language)
{
	size_t bytes = 0, n = 0;

	for (size_t i = 0; i < card->carriers.n; i++) {
		bytes += strlen(card->carriers.v[i].text);
		n++;
	}
	for (size_t i = 0; i < group->n; i++) { /* transitions are sorted, best first */
		const struct kl_transition *transition = group->t[i];
		KL_AUTO(kl_freep) char *diff = kl_line_ends_to_lf(transition->diff,
								  strlen(transition->diff));
		size_t len = strlen(diff);

		if (!kl_lift_is_in(transition, language) || !len || has_carrier(card, transition))
			continue;
		if (len > MAX_DIFF || bytes + len > MAX_DIFFS || n >= MAX_CARRIERS ||
		    !is_card_text(diff)) {
			kl_strvec_pushf(lifter->notes,
					"%s step %d (%s): the card cannot hold its diff of %zu "
					"bytes, so no tool can apply it",
					transition->lineage, transition->step.number,
					transition->step.action, len);
			continue;
		}
		bytes += len;
		n++;
		KL_GROW(card->carriers.v, card->carriers.n + 1, card->carriers.alloc);
		card->carriers.v[card->carriers.n++] = (struct kl_card_carrier){
			.language = kl_strdup(language),
			.form = KL_CARRIER_DIFF,
			.of = kl_strdup(transition->event->id),
			.text = kl_steal(&diff),
		};
	}
}

/* Add a carrier with the program's transformation for the mechanism, if there is one. */
static void add_transform(struct kl_card *card, const struct kl_lift_group *group,
			  const char *language)
{
	const char *use = NULL;

	for (size_t i = 0; i < group->m->transform.n; i++)
		if (!strcmp(group->m->transform.v[i].language, language))
			use = group->m->transform.v[i].use;
	for (size_t i = 0; i < card->carriers.n; i++)
		if (card->carriers.v[i].form == KL_CARRIER_TRANSFORM &&
		    !strcmp(card->carriers.v[i].language, language))
			return;
	if (!use)
		return;
	KL_GROW(card->carriers.v, card->carriers.n + 1, card->carriers.alloc);
	card->carriers.v[card->carriers.n++] = (struct kl_card_carrier){
		.language = kl_strdup(language),
		.form = KL_CARRIER_TRANSFORM,
		.text = kl_asprintf("%s\n", use),
	};
}

/*
 * --- facts that a step requires or conflicts with ---------------------------------------------
 */

static void add_traits(struct kl_strvec *out, const struct kl_step *step)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec traits = KL_STRVEC_INIT;

	kl_strvec_split(&traits, step->trait ? step->trait : "", ", ");
	for (size_t i = 0; i < traits.n; i++)
		kl_strvec_pushf(out, "trait:%s", traits.v[i]);
}

/*
 * List the traits that earlier steps of the lineage claim, and the features from these steps that
 * K_{i-1} still has.
 */
static void came_before(struct kl_strvec *out, const struct kl_lifter *lifter,
			const struct kl_transition *transition)
{
	for (const struct kl_transition *earlier = lifter->t->v; earlier < transition; earlier++) {
		const struct kl_mechanism *mechanism =
			earlier->step.mechanism ?
				kl_mechanisms_find(&lifter->mechanisms, earlier->step.mechanism) :
				NULL;
		KL_AUTO(kl_strvec_release) struct kl_strvec signs = KL_STRVEC_INIT;

		if (strcmp(earlier->lineage, transition->lineage) || !mechanism)
			continue;
		kl_lift_signs(&signs, earlier, mechanism);
		kl_lift_keep(&signs, &transition->had);
		for (size_t i = 0; i < signs.n; i++)
			kl_strvec_push(out, signs.v[i]);
		add_traits(out, &earlier->step);
	}
	kl_strvec_uniq(out);
}

/*
 * Set `requires` to the facts that precede every step of the group. If all steps are from one
 * lineage, require none, because the order of its steps can be chance.
 */
static void add_required(struct kl_card *card, const struct kl_lifter *lifter,
			 const struct kl_lift_group *group)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec lineages = KL_STRVEC_INIT;

	for (size_t i = 0; i < group->n; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec before = KL_STRVEC_INIT;

		kl_strvec_push(&lineages, group->t[i]->lineage);
		came_before(&before, lifter, group->t[i]);
		if (i)
			kl_lift_keep(&card->scope.requires, &before);
		else
			kl_strvec_copy(&card->scope.requires, &before);
	}
	kl_strvec_uniq(&lineages);
	if (lineages.n > 1)
		return;
	kl_strvec_release(&card->scope.requires);
	card->scope.requires = (struct kl_strvec)KL_STRVEC_INIT;
}

/* Add the facts of the steps in `commits`, unless the list has them. */
static void add_steps(struct kl_strvec *out, const struct kl_lifter *lifter,
		      const struct kl_transition *transition, const struct kl_strvec *commits)
{
	for (size_t i = 0; i < lifter->t->n; i++) {
		const struct kl_transition *other = &lifter->t->v[i];
		const struct kl_mechanism *mechanism =
			other->step.mechanism ?
				kl_mechanisms_find(&lifter->mechanisms, other->step.mechanism) :
				NULL;
		KL_AUTO(kl_strvec_release) struct kl_strvec facts = KL_STRVEC_INIT;
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, &other->after);
		if (!mechanism || strcmp(other->lineage, transition->lineage) ||
		    !kl_strvec_has(commits, hex))
			continue;
		kl_lift_delta(&facts, other, mechanism);
		for (size_t k = 0; k < facts.n; k++)
			kl_strvec_add_once(out, facts.v[k]);
	}
}

/*
 * Add the facts that transplants show: the facts of the steps without which this step fails, and of
 * those with which it fails. Unlike a fact that merely came before, such a fact does not need
 * several lineages.
 */
static void add_shown(struct kl_card *card, const struct kl_lifter *lifter,
		      const struct kl_transition *transition)
{
	add_steps(&card->scope.requires, lifter, transition, &transition->requires);
	add_steps(&card->scope.conflicts, lifter, transition, &transition->conflicts);
}

/*
 * If a later step of the lineage removed a fact that the card provides, add the signs of that step
 * as conflicts.
 */
static void add_conflicts(struct kl_card *card, const struct kl_lifter *lifter,
			  const struct kl_transition *transition)
{
	const struct kl_transition *end = lifter->t->v + lifter->t->n;

	for (const struct kl_transition *later = transition + 1;
	     later < end && !strcmp(later->lineage, transition->lineage); later++) {
		const struct kl_mechanism *mechanism =
			later->step.mechanism ?
				kl_mechanisms_find(&lifter->mechanisms, later->step.mechanism) :
				NULL;
		KL_AUTO(kl_strvec_release) struct kl_strvec signs = KL_STRVEC_INIT;
		bool took = false;

		for (size_t k = 0; k < later->lost.n; k++)
			took |= kl_strvec_has(&card->provides, later->lost.v[k]);
		if (took && mechanism)
			kl_lift_signs(&signs, later, mechanism);
		for (size_t k = 0; k < signs.n; k++)
			if (!kl_strvec_has(&card->scope.conflicts, signs.v[k]))
				kl_strvec_push(&card->scope.conflicts, signs.v[k]);
	}
}

/* --- filling a new card ----------------------------------------------------------------------- */

static void add_provided(struct kl_card *card, const struct kl_lift_group *group)
{
	kl_lift_common(&card->provides, group, NULL, kl_lift_delta);
	for (size_t i = 0; !card->provides.n && i < group->n; i++)
		/*
		 * no fact is common to all transitions: use those of the first transition that adds
		 * facts
		 */
		kl_lift_delta(&card->provides, group->t[i], group->m);
	kl_strvec_uniq(&card->provides);
	kl_strvec_copy(&card->scope.provides, &card->provides);
}

void kl_lift_word(struct kl_card *card, const struct kl_lifter *lifter,
		  const struct kl_lift_group *group)
{
	card->intent = kl_strdup(group->m->text);
	card->mechanism = kl_strdup(group->m->name);
	card->unlisted = group->unlisted;
	card->action = kl_strdup(group->action);
	kl_lift_anchor(card, group);
	add_provided(card, group);
	add_required(card, lifter, group);
	for (size_t i = 0; i < group->n; i++) {
		add_conflicts(card, lifter, group->t[i]);
		add_shown(card, lifter, group->t[i]);
	}
}

/* --- adding to a new or old card -------------------------------------------------------------- */

static void add_evidence(struct kl_card *card, const struct kl_transition *transition)
{
	bool anew = !git_oid_is_zero(&transition->rederived);
	const char *how = transition->step.derivation ? transition->step.derivation : "inverse";
	struct kl_card_evidence evidence = {
		.lineage = kl_strdup(transition->lineage),
		.step = transition->step.number,
		.before = kl_oid_text(&transition->before),
		.after = kl_oid_text(&transition->after),
		.rederived = anew ? kl_oid_text(&transition->rederived) : NULL,
		.derivation = !anew                    ? KL_DERIVED_INVERSE :
			      strcmp(how, "rederived") ? KL_DERIVED_UNISOLATED :
							 KL_DERIVED_ANEW,
		.origin = kl_strdup(transition->step.origin ? transition->step.origin : "induced"),
		.language = kl_strdup(transition->from->contract->language->name),
		.platform = kl_strdup(transition->platform),
		.event = kl_strdup(transition->event->id),
		.confirmed = anew && transition->confirmed ? kl_strdup(transition->confirmed->id) :
							     NULL,
	};

	kl_lift_also(&evidence.also, transition);
	kl_card_add_evidence(card, &evidence);
}

/* Return true and add a note if the interval is too wide for the card to state the ratio. */
static bool is_useless(const struct kl_ratio *ratio, const struct kl_lifter *lifter,
		       const struct kl_transition *transition)
{
	if (!kl_speed_is_useless(ratio))
		return false;
	kl_strvec_pushf(
		lifter->notes,
		"%s step %d (%s): the machine was too busy to compare it ([%.2f, %.2f]), so "
		"the card has no figure; measure again: git klineage measure %s",
		transition->lineage, transition->step.number, transition->step.action,
		(double)ratio->lo / 1e6, (double)ratio->hi / 1e6, transition->lineage);
	return true;
}

static void add_rows(struct kl_card *card, const struct kl_lifter *lifter,
		     const struct kl_transition *transition)
{
	const struct kl_contract *contract = transition->from->contract;

	for (size_t i = 0; i < kl_transition_points(transition); i++) {
		struct kl_card_row row = { 0 };
		const struct kl_dims *dims;

		if (!kl_transition_point(&row.ratio, &dims, transition, &lifter->t->events, i) ||
		    is_useless(&row.ratio, lifter, transition))
			continue;
		for (size_t dim = 0; dim < dims->n; dim++)
			kl_card_dims_add(&row.dims, contract->dim_name[dim], dims->v[dim]);
		row.by = kl_lift_is_verified(transition) ? KL_ROW_REDERIVED : KL_ROW_UNVERIFIED;
		row.case_ = kl_strdup(contract->op);
		row.dtype = kl_strdup(transition->dtype);
		row.language = kl_strdup(contract->language->name);
		row.platform = kl_strdup(transition->platform);
		row.event = kl_strdup(transition->event->id);
		kl_card_add_row(card, &row);
	}
}

static void add_slower(struct kl_card *card, const struct kl_transition *transition)
{
	KL_AUTO(kl_buf_release) struct kl_buf ratio = KL_BUF_INIT;
	const struct kl_contract *contract = transition->from->contract;
	struct kl_card_risk risk = { .class_ = kl_strdup("slower") };

	kl_buf_add_decimal(&ratio, kl_lift_ratio_of(transition));
	risk.text = kl_asprintf("%s in %s ran at %s of its speed on %s", transition->dtype,
				contract->op, ratio.ptr, transition->platform);
	kl_strvec_push(&risk.events, transition->event->id);
	kl_card_add_risk(card, &risk);
}

/* Copy at most MAX_SAID bytes of a reason. Replace control bytes, which a card must not contain. */
static char *quote_reason(const char *text)
{
	char *out = kl_strndup(text, kl_utf8_cut(text, strlen(text), MAX_SAID));

	for (unsigned char *at = (unsigned char *)out; *at; at++)
		if (*at < 0x20 || *at == 0x7f)
			*at = ' ';
	return out;
}

/* Add a risk and a witnessed precondition for a refused step of the mechanism. */
static void add_refusal(struct kl_card *card, const struct kl_refusal *refusal)
{
	const char *words = *refusal->said     ? refusal->said :
			    refusal->step.text ? refusal->step.text :
						 refusal->step.action;
	KL_AUTO(kl_freep) char *said = quote_reason(words);
	KL_AUTO(kl_freep) char *id = kl_proposal_slug(refusal->step.action);
	const char *class_ = kl_event_class(refusal->event);
	struct kl_card_risk risk = { .class_ = kl_strdup(class_), .text = kl_strdup(said) };

	kl_strvec_push(&risk.events, refusal->event->id);
	if (!kl_card_has_pre(card, id))
		kl_lift_add_sound(card, (struct kl_card_pre){
						.id = kl_strdup(id),
						.text = kl_asprintf("not so: %s", said),
						.state = KL_PRE_WITNESSED,
						.by = kl_strdup(refusal->event->id),
						.class_ = kl_strdup(class_),
					});
	risk.violates = kl_strdup(id);
	kl_card_add_risk(card, &risk);
}

static void learn_language(struct kl_card *card, const struct kl_lifter *lifter,
			   const struct kl_lift_group *group, const char *language)
{
	add_carriers(card, lifter, group, language);
	if (!group->plan_only)
		add_transform(card, group, language);
	if (!kl_strvec_has(&card->scope.languages, language)) {
		kl_lift_find(card, group, language);
		kl_lift_need_platform(card, lifter, group, language);
		kl_strvec_push(&card->scope.languages, language);
	}
	kl_lift_constants(card, group, language);
	kl_lift_need_plan(card, lifter, group, language);
}

void kl_lift_learn(struct kl_card *card, const struct kl_lifter *lifter,
		   const struct kl_lift_group *group)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec languages = KL_STRVEC_INIT;

	kl_lift_release_domains(card);
	for (size_t i = 0; i < group->n; i++)
		kl_lift_untested(card, group, group->t[i]);
	for (size_t i = 0; i < group->n; i++) {
		const char *op = group->t[i]->from->contract->op;

		add_evidence(card, group->t[i]);
		add_rows(card, lifter, group->t[i]);
		if (group->wins && kl_lift_speed_of(group->t[i]) == KL_SPEED_SLOW)
			add_slower(card, group->t[i]);
		if (!kl_strvec_has(&card->scope.cases, op))
			kl_strvec_push(&card->scope.cases, op);
	}
	languages_of(&languages, group);
	for (size_t i = 0; i < languages.n; i++)
		learn_language(card, lifter, group, languages.v[i]);
	for (size_t i = 0; i < lifter->t->nr; i++) {
		const struct kl_refusal *refusal = &lifter->t->r[i];

		if (refusal->event && refusal->step.mechanism &&
		    !strcmp(refusal->step.mechanism, group->m->name))
			add_refusal(card, refusal);
	}
	kl_lift_useful(card, lifter);
}
