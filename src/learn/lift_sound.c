/* SPDX-License-Identifier: Apache-2.0 */
/* lift_sound - the conditions under which a card's code is right: of platforms, plans, domains */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/prefix.h"
#include "card/clause.h"
#include "card/predicate.h"
#include "learn/lift_parts.h"
#include "retrieve/constants.h"

/*
 * A contract's domain is where the author promises that the finished kernel is right; a step of the
 * kernel may need less. The domain becomes a condition that is not tested and excludes nothing,
 * until a kernel is judged where the condition is false (witness.h, probe). A requirement that the
 * step adds to the launch plan is a condition, with the plan as its source.
 */
#define PROMISED "that it was learned from promise it"

void kl_lift_add_sound(struct kl_card *card, struct kl_card_pre pre)
{
	KL_GROW(card->sound.v, card->sound.n + 1, card->sound.alloc);
	card->sound.v[card->sound.n++] = pre;
}

/*
 * --- the platform -----------------------------------------------------------------------------
 */

/*
 * List the facts that every transition of the group in `language` adds and that are platform
 * capabilities.
 */
static void needs_of(struct kl_strvec *out, const struct kl_lifter *lifter,
		     const struct kl_lift_group *group, const char *language)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec delta = KL_STRVEC_INIT;

	kl_lift_common(&delta, group, language, kl_lift_delta);
	for (size_t i = 0; i < delta.n; i++)
		if (kl_taxonomy_cap(lifter->tax, delta.v[i]) >= 0)
			kl_strvec_push(out, delta.v[i]);
}

void kl_lift_need_platform(struct kl_card *card, const struct kl_lifter *lifter,
			   const struct kl_lift_group *group, const char *language)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec needs = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf test = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	needs_of(&needs, lifter, group, language);
	if (card->scope.languages.n)
		kl_lift_keep(&card->scope.needs, &needs);
	else
		kl_strvec_copy(&card->scope.needs, &needs);
	if (!needs.n)
		return;
	kl_buf_addf(&test, "language != '%s' || ", language);
	for (size_t k = 0; k < needs.n; k++) {
		kl_buf_addf(&test, "%scap('%s')", k ? " && " : "", needs.v[k]);
		kl_buf_addf(&text, "%s%s", k ? ", " : "the platform has ", needs.v[k]);
	}
	kl_lift_add_sound(card, (struct kl_card_pre){
					.id = kl_asprintf("isa-%s", language),
					.text = kl_buf_detach(&text),
					.test = kl_buf_detach(&test),
				});
}

/*
 * --- what a domain promises -------------------------------------------------------------------
 */

/*
 * Return true if the condition is a divisibility or an equality. Such a condition limits where the
 * step is valid, but a bound only limits the sizes of one kernel.
 */
static bool is_structural(const char *domain)
{
	return strchr(domain, '%') || strstr(domain, "==");
}

/*
 * List the structural conditions that the contracts of all transitions with the operator and the
 * language of `like` have in common.
 */
static void domain_of(struct kl_strvec *out, const struct kl_lift_group *group,
		      const struct kl_transition *like)
{
	bool first = true;

	for (size_t i = 0; i < group->n; i++) {
		const struct kl_contract *contract = group->t[i]->from->contract;
		KL_AUTO(kl_strvec_release) struct kl_strvec one = KL_STRVEC_INIT;

		if (strcmp(contract->op, like->from->contract->op) ||
		    !kl_lift_is_in(group->t[i], like->from->contract->language->name))
			continue;
		for (size_t dim = 0; dim < contract->ndomain; dim++)
			if (is_structural(contract->domain_text[dim]))
				kl_strvec_push(&one, contract->domain_text[dim]);
		if (first)
			kl_strvec_copy(out, &one);
		else
			kl_lift_keep(out, &one);
		first = false;
	}
}

/* Check that the card had steps of the operator in the language before this lift. */
static bool was_learned(const struct kl_card *card, const char *op, const char *language)
{
	for (size_t i = 0; i < card->rows.n; i++)
		if (card->rows.v[i].by != KL_ROW_TRIAL && !strcmp(card->rows.v[i].case_, op) &&
		    !strcmp(card->rows.v[i].language, language))
			return true;
	/* a step whose figures were too noisy has no row */
	return card->scope.languages.n == 1 && kl_strvec_has(&card->scope.languages, language) &&
	       kl_strvec_has(&card->scope.cases, op);
}

static struct kl_card_pre make_untested(const char *op, const char *language,
					const struct kl_strvec *domain)
{
	struct kl_buf test = KL_BUF_INIT;

	kl_buf_addf(&test, "language != '%s' || op != '%s' || ", language, op);
	for (size_t i = 0; i < domain->n; i++)
		if (test.len + strlen(domain->v[i]) + 6 < KL_PREDICATE_MAX_TEXT)
			kl_buf_addf(&test, "%s(%s)", i ? " && " : "", domain->v[i]);
	return (struct kl_card_pre){
		.id = kl_asprintf("domain-%.24s-%.24s", op, language),
		.test = kl_buf_detach(&test),
		.text = kl_asprintf("not tested: all kernels of %s in %s " PROMISED, op, language),
		.state = KL_PRE_NOT_TESTED,
	};
}

void kl_lift_untested(struct kl_card *card, const struct kl_lift_group *group,
		      const struct kl_transition *transition)
{
	const struct kl_contract *contract = transition->from->contract;
	KL_AUTO(kl_strvec_release) struct kl_strvec domain = KL_STRVEC_INIT;
	struct kl_card_pre pre;

	if (was_learned(card, contract->op, contract->language->name))
		return; /* clauses that turned out not to be needed do not come back */
	domain_of(&domain, group, transition);
	if (!domain.n)
		return;
	pre = make_untested(contract->op, contract->language->name, &domain);
	if (kl_card_has_pre(card, pre.id))
		kl_card_pre_release(&pre);
	else
		kl_lift_add_sound(card, pre);
}

/*
 * --- domains that earlier versions wrote as conditions ----------------------------------------
 */

/*
 * Return the only language of the operator in the card's measured steps; NULL if there are several,
 * or none. Borrowed from the card.
 */
static const char *language_of(const struct kl_card *card, const char *op)
{
	const char *found = NULL;

	for (size_t i = 0; i < card->rows.n; i++) {
		const struct kl_card_row *row = &card->rows.v[i];

		if (row->by == KL_ROW_TRIAL || strcmp(row->case_, op))
			continue;
		if (found && strcmp(found, row->language))
			return NULL;
		found = row->language;
	}
	return found;
}

/* Return the operator of "op != '<operator>' || ...", or NULL; the caller frees it. */
static char *guarded_op(const char *test)
{
	static const char guard[] = "op != '";
	const char *end;

	if (!test || !kl_prefix_has(test, guard))
		return NULL;
	end = strstr(test + sizeof(guard) - 1, "' || ");
	return end ? kl_strndup(test + sizeof(guard) - 1,
				(size_t)(end - test) - sizeof(guard) + 1) :
		     NULL;
}

/*
 * Convert a condition that an earlier version made from a domain to its present form: for one
 * language only, and not tested unless it is witnessed.
 */
static void release_domain(struct kl_card *card, struct kl_card_pre *pre)
{
	KL_AUTO(kl_freep) char *op = guarded_op(pre->test);
	const char *language = op ? language_of(card, op) : NULL;
	char *test;

	if (!language)
		return;
	test = kl_asprintf("language != '%s' || %s", language, pre->test);
	if (strlen(test) > KL_PREDICATE_MAX_TEXT) {
		free(test);
		return;
	}
	free(pre->test);
	pre->test = test;
	free(pre->text);
	if (pre->state == KL_PRE_WITNESSED) {
		pre->text = kl_asprintf("a kernel of %s in %s was wrong without it", op, language);
		return;
	}
	pre->text = kl_asprintf("not tested: all kernels of %s in %s " PROMISED, op, language);
	pre->state = KL_PRE_NOT_TESTED;
	test = kl_asprintf("domain-%.24s-%.24s", op, language);
	if (kl_card_has_pre(card, test)) {
		free(test);
		return;
	}
	for (size_t i = 0; i < card->risk.n; i++)
		if (card->risk.v[i].violates && !strcmp(card->risk.v[i].violates, pre->id)) {
			free(card->risk.v[i].violates);
			card->risk.v[i].violates = kl_strdup(test);
		}
	free(pre->id);
	pre->id = test;
}

void kl_lift_release_domains(struct kl_card *card)
{
	for (size_t i = 0; i < card->sound.n; i++) {
		struct kl_card_pre *pre = &card->sound.v[i];
		size_t n = strlen(pre->text), end = strlen(PROMISED);

		if (kl_prefix_has(pre->id, "domain-") && kl_prefix_has(pre->text, "all kernels") &&
		    n > end && !strcmp(pre->text + n - end, PROMISED))
			release_domain(card, pre);
	}
}

/*
 * --- what a launch plan requires --------------------------------------------------------------
 */

/* List the conditions of `require` of a surface's launch plan. */
static void plan_requires(struct kl_strvec *out, const struct kl_surface *surface)
{
	const char *name = surface->contract->launch;
	KL_AUTO(kl_yaml_freep) struct kl_yaml *plan = NULL;
	const struct kl_yaml *list;

	for (size_t i = 0; name && !plan && i < surface->nfile; i++)
		if (!strcmp(surface->file[i].path, name) &&
		    kl_yaml_parse(&plan, name, surface->file[i].data, surface->file[i].len) < 0)
			kl_error_clear();
	list = plan && plan->kind == KL_YAML_MAP ? kl_yaml_get(plan, "require") : NULL;
	for (size_t i = 0; list && list->kind == KL_YAML_SEQ && i < list->n; i++)
		if (list->item[i]->kind == KL_YAML_SCALAR)
			kl_strvec_push(out, list->item[i]->text);
}

/* Check that a condition of `had` implies `now`. */
static bool is_implied(const struct kl_strvec *had, const char *now)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *new = NULL;
	bool yes = kl_strvec_has(had, now);

	if (yes || kl_predicate_parse(&new, now, NULL) < 0) {
		kl_error_clear();
		return yes || !new;
	}
	for (size_t i = 0; !yes && i < had->n; i++) {
		KL_AUTO(kl_predicate_freep) struct kl_predicate *old = NULL;
		enum kl_relation relation;

		if (kl_predicate_parse(&old, had->v[i], NULL) < 0) {
			kl_error_clear();
			continue;
		}
		relation = kl_predicate_relation(old, new, NULL);
		yes = relation == KL_RELATION_SAME || relation == KL_RELATION_WEAKER;
	}
	return yes;
}

/*
 * Return the role that the dim has and no other dim of the contract has, so that its extent is that
 * of the dim; -1 if there is none.
 */
static int role_of(const struct kl_lifter *lifter, const struct kl_contract *contract, size_t dim)
{
	int op = kl_taxonomy_op(lifter->tax, contract->op);
	unsigned own, others = 0;

	if (op < 0)
		return -1;
	own = kl_taxonomy_roles(lifter->tax, op, contract->dim_name[dim]);
	for (size_t i = 0; i < contract->dims.n; i++)
		if (i != dim)
			others |= kl_taxonomy_roles(lifter->tax, op, contract->dim_name[i]);
	for (int role = 0; role < KL_TAX_ROLES; role++)
		if (own >> role & 1 && !(others >> role & 1))
			return role;
	return -1;
}

/*
 * Append the meaning of the name outside of this kernel: for a dim the extent of a role, for a
 * constant its value, and for other names of a plan the name itself. Return false for a dim without
 * a role of its own, because it has no meaning under another operator.
 */
static bool add_meaning(struct kl_buf *out, const struct kl_lifter *lifter,
			const struct kl_contract *contract, const struct kl_card_dims *constants,
			const char *name)
{
	int64_t value;

	for (size_t i = 0; i < contract->dims.n; i++) {
		int role;

		if (strcmp(contract->dim_name[i], name))
			continue;
		role = role_of(lifter, contract, i);
		kl_buf_addf(out, role < 0 ? "%s" : "extent(%s)",
			    role < 0 ? name : lifter->tax->roles.v[role]);
		return role >= 0;
	}
	if (kl_card_dims_get(&value, constants, name))
		kl_buf_addf(out, "%lld", (long long)value);
	else
		kl_buf_adds(out, name);
	return true;
}

/* Write the condition in roles and numbers. Return false if it has a dim without a role. */
static bool write_roles(struct kl_buf *out, const struct kl_lifter *lifter,
			const struct kl_contract *contract, const struct kl_card_dims *constants,
			const char *text)
{
	bool all = true;

	for (const char *at = text; *at;) {
		size_t n = 0;
		KL_AUTO(kl_freep) char *name = NULL;

		while (isalnum((unsigned char)at[n]) || at[n] == '_')
			n++;
		if (!n || isdigit((unsigned char)*at) || at[n] == '(') {
			kl_buf_add(out, at, n ? n : 1);
			at += n ? n : 1;
			continue;
		}
		name = kl_strndup(at, n);
		all = add_meaning(out, lifter, contract, constants, name) && all;
		at += n;
	}
	return all;
}

static bool has_test(const struct kl_card *card, const char *test)
{
	for (size_t i = 0; i < card->sound.n; i++)
		if (card->sound.v[i].test && !strcmp(card->sound.v[i].test, test))
			return true;
	return false;
}

static void add_required(struct kl_card *card, const struct kl_lifter *lifter,
			 const struct kl_transition *transition, const char *require)
{
	const struct kl_contract *contract = transition->to->contract;
	const char *language = contract->language->name;
	KL_AUTO(kl_constants_release) struct kl_card_dims constants = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf roles = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *test = NULL;
	KL_AUTO(kl_freep) char *id = kl_asprintf("plan-%.7s", transition->event->id);

	kl_constants_read(&constants, transition->to);
	if (write_roles(&roles, lifter, contract, &constants, require))
		test = kl_asprintf("language != '%s' || %s", language, roles.ptr);
	else
		test = kl_asprintf("language != '%s' || op != '%s' || (%s)", language, contract->op,
				   require);
	if (strlen(test) > KL_PREDICATE_MAX_TEXT || has_test(card, test))
		return;
	for (int i = 2; kl_card_has_pre(card, id); i++) {
		free(id);
		id = kl_asprintf("plan-%.7s-%d", transition->event->id, i);
	}
	kl_lift_add_sound(
		card, (struct kl_card_pre){
			      .id = kl_steal(&id),
			      .test = kl_steal(&test),
			      .text = kl_asprintf("the launch plan requires it since the step: "
						  "%.400s",
						  require),
			      .source = kl_asprintf("%s of %s step %d", contract->launch,
						    transition->lineage, transition->step.number),
		      });
}

void kl_lift_need_plan(struct kl_card *card, const struct kl_lifter *lifter,
		       const struct kl_lift_group *group, const char *language)
{
	for (size_t i = 0; i < group->n; i++) {
		const struct kl_transition *transition = group->t[i];
		KL_AUTO(kl_strvec_release) struct kl_strvec had = KL_STRVEC_INIT;
		KL_AUTO(kl_strvec_release) struct kl_strvec has = KL_STRVEC_INIT;

		if (!kl_lift_is_in(transition, language))
			continue;
		plan_requires(&had, transition->from);
		plan_requires(&has, transition->to);
		for (size_t k = 0; k < has.n; k++)
			if (!is_implied(&had, has.v[k]))
				add_required(card, lifter, transition, has.v[k]);
	}
}
