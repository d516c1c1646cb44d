/* SPDX-License-Identifier: Apache-2.0 */
/* wording_brief - writes the prompts that ask a model to word a card */
#include <string.h>

#include "learn/wording_parts.h"
#include "rewrite/feedback.h"
#include "rewrite/prompt.h"
#include "text/digest.h"

#define MAX_DIFF ((size_t)16 << 10)
#define MAX_CODE ((size_t)24 << 10)
#define MAX_KNOWN ((size_t)4 << 10)

const struct kl_transition *kl_wording_first(const struct kl_wording_group *group)
{
	const struct kl_transition *first = group->t[0];

	for (size_t i = 1; i < group->n; i++) {
		int order = strcmp(group->t[i]->lineage, first->lineage);

		if (order < 0 || (!order && group->t[i]->step.number < first->step.number))
			first = group->t[i];
	}
	return first;
}

/*
 * Append the group's key, which depends only on mechanism, action and surfaces: the same group gets
 * the same key in every repository, whatever was measured.
 */
static void group_key(struct kl_buf *out, const struct kl_wording_group *group)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec steps = KL_STRVEC_INIT;

	for (size_t i = 0; i < group->n; i++)
		kl_strvec_pushf(&steps, "%s %s", group->t[i]->from->digest,
				group->t[i]->to->digest);
	kl_strvec_sort(&steps);
	kl_buf_addf(out, "lift %s %s\n", group->r->card->mechanism, group->r->card->action);
	for (size_t i = 0; i < steps.n; i++)
		kl_buf_addf(out, "%s\n", steps.v[i]);
}

void kl_wording_driver(struct kl_driver *out, const struct kl_wording_group *group)
{
	static const char *const prompt[KL_DIALOGUE_END] = {
		[KL_DIALOGUE_STEP] = "lift-turn",
		[KL_DIALOGUE_AGAIN] = "lift-again",
	};
	KL_AUTO(kl_buf_release) struct kl_buf key = KL_BUF_INIT;
	char hex[KL_DIGEST_HEX];

	group_key(&key, group);
	kl_digest_hex(hex, key.ptr, key.len);
	*out = (struct kl_driver){
		.repo = group->w->o.repo,
		.name = strchr(kl_wording_first(group)->lineage, '/') + 1,
		.phase = kl_asprintf("lift-%s-%.7s", group->r->card->mechanism, hex),
		.rewriter = group->w->o.who,
		.prompt = prompt,
		.single = true,
	};
}

/* --- a turn ---------------------------------------------------------------------------- */

static void add_list(struct kl_buf *out, const char *what, const struct kl_strvec *list)
{
	kl_buf_addf(out, "%s:", what);
	for (size_t i = 0; i < list->n; i++)
		kl_buf_addf(out, "%s %s", i ? "," : "", list->v[i]);
	kl_buf_addf(out, "%s\n", list->n ? "" : " -");
}

static void add_fenced(struct kl_buf *out, const struct kl_buf *text, size_t max)
{
	kl_prompt_excerpt(out, "", text->ptr, max);
}

static void add_ratios(struct kl_buf *out, const struct kl_wording_group *group,
		       const struct kl_transition *transition)
{
	const struct kl_contract *contract = transition->from->contract;

	for (size_t i = 0; i < kl_transition_points(transition); i++) {
		struct kl_ratio ratio;
		const struct kl_dims *dims;

		if (!kl_transition_point(&ratio, &dims, transition, &group->w->lift->t->events, i))
			continue;
		kl_buf_adds(out, "speed against the state before, at");
		for (size_t dim = 0; dim < dims->n; dim++)
			kl_buf_addf(out, " %s=%lld", contract->dim_name[dim],
				    (long long)dims->v[dim]);
		kl_buf_adds(out, ": ");
		kl_buf_add_decimal(out, ratio.ppm);
		kl_buf_addch(out, '\n');
	}
}

static void add_step(struct kl_buf *out, const struct kl_wording_group *group, size_t i, bool code)
{
	const struct kl_transition *transition = group->t[i];
	KL_AUTO(kl_buf_release) struct kl_buf facts = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf known = KL_BUF_INIT;

	kl_buf_addf(&facts, "operator %s, %s, in %s, on %s\nplace: %s\nnote: %s\n",
		    transition->from->contract->op, transition->dtype,
		    transition->from->contract->language->name, transition->platform,
		    transition->step.locus ? transition->step.locus : "-", transition->said);
	add_list(&facts, "facts that came", &transition->gained);
	add_list(&facts, "facts that went", &transition->lost);
	add_ratios(&facts, group, transition);
	kl_known_write(&known, &group->before[i].known);
	kl_buf_addf(out, "T%zu:\n\n", i + 1);
	add_fenced(out, &facts, MAX_KNOWN);
	kl_buf_adds(out, "\nThe edit:\n\n");
	kl_prompt_excerpt(out, "diff", transition->diff, MAX_DIFF);
	kl_buf_adds(out, "\nKnown of the state before; a test may ask for these names:\n\n");
	add_fenced(out, &known, MAX_KNOWN);
	if (code) {
		KL_AUTO(kl_buf_release) struct kl_buf files = KL_BUF_INIT;

		for (size_t k = 0; k < transition->from->nfile; k++)
			kl_buf_addf(&files, "/* file %s */\n%s\n", transition->from->file[k].path,
				    transition->from->file[k].data);
		kl_buf_adds(out, "\nThe code before:\n\n");
		add_fenced(out, &files, MAX_CODE);
	}
	kl_buf_addch(out, '\n');
}

/* Check that the step is the best in its language: the prompt shows only the code of such steps. */
static bool is_first(const struct kl_wording_group *group, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(group->t[k]->from->contract->language->name,
			    group->t[i]->from->contract->language->name))
			return false;
	return true;
}

static char *describe_steps(const struct kl_wording_group *group)
{
	struct kl_buf buf = KL_BUF_INIT;
	size_t n = group->n < KL_WORDING_STEPS ? group->n : KL_WORDING_STEPS;

	for (size_t i = 0; i < n; i++)
		add_step(&buf, group, i, is_first(group, i));
	if (group->n > n)
		kl_buf_addf(&buf,
			    "%zu more are not shown; conditions are checked against them, too.\n",
			    group->n - n);
	return kl_buf_detach(&buf);
}

static char *describe_refused(const struct kl_wording_group *group)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < group->nrefused; i++) {
		const struct kl_refusal *refusal = group->refused[i];
		const char *class_ = kl_event_class(refusal->event);

		kl_buf_addf(&buf, "R%zu: %s, a step %s, class %s\n\n", i + 1, refusal->step.action,
			    refusal->step.forward ? "that was to put it in" :
						    "back that was to take it out",
			    class_);
		kl_feedback_write(&buf, &(struct kl_feedback){ .class_ = class_,
							       .event = refusal->event });
		kl_buf_addch(&buf, '\n');
	}
	if (!group->nrefused)
		kl_buf_adds(&buf, "none\n");
	return kl_buf_detach(&buf);
}

static char *describe_card(const struct kl_wording_group *group)
{
	const struct kl_card *card = group->r->card;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_buf out = KL_BUF_INIT;

	kl_buf_addf(&buf, "mechanism: %s: %s\nbackward action: %s\n", card->mechanism,
		    group->m ? group->m->text : "", card->action);
	add_list(&buf, "there afterwards", &card->provides);
	add_list(&buf, "there before", &card->scope.requires);
	add_list(&buf, "not together with", &card->scope.conflicts);
	for (size_t i = 0; i < card->sound.n; i++)
		kl_buf_addf(&buf, "condition %s: %s%s%s\n", card->sound.v[i].id,
			    card->sound.v[i].text, card->sound.v[i].test ? "; test: " : "",
			    card->sound.v[i].test ? card->sound.v[i].test : "");
	add_fenced(&out, &buf, MAX_KNOWN);
	return kl_buf_detach(&out);
}

void kl_wording_compose(struct kl_driver_turn *out, const struct kl_wording_group *group,
			enum kl_dialogue_kind kind)
{
	out->state = kl_wording_first(group)->from;
	out->layout = group->t[0]->from;
	kl_prompt_set(&out->values, "CARD", describe_card(group));
	kl_prompt_set(&out->values, "STEPS", describe_steps(group));
	kl_prompt_set(&out->values, "REFUSED", describe_refused(group));
	kl_buf_adds(&out->key, kind == KL_DIALOGUE_AGAIN ? "again\n" : "");
	group_key(&out->key, group);
}
