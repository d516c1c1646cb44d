/* SPDX-License-Identifier: Apache-2.0 */
/* wording_brief - the prompts in which a model is asked to word a card */
#include <string.h>

#include "learn/wording_parts.h"
#include "rewrite/feedback.h"
#include "rewrite/prompt.h"
#include "text/digest.h"

#define MAX_DIFF ((size_t)16 << 10)
#define MAX_CODE ((size_t)24 << 10)
#define MAX_KNOWN ((size_t)4 << 10)

const struct kl_transition *kl_wording_first(const struct kl_wording_group *g)
{
	const struct kl_transition *first = g->t[0];

	for (size_t i = 1; i < g->n; i++) {
		int c = strcmp(g->t[i]->lineage, first->lineage);

		if (c < 0 || (!c && g->t[i]->step.number < first->step.number))
			first = g->t[i];
	}
	return first;
}

/* what a group is, wherever and whenever it was gated */
static void group_key(struct kl_buf *out, const struct kl_wording_group *g)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec steps = KL_STRVEC_INIT;

	for (size_t i = 0; i < g->n; i++)
		kl_strvec_pushf(&steps, "%s %s", g->t[i]->from->digest, g->t[i]->to->digest);
	kl_strvec_sort(&steps);
	kl_buf_addf(out, "lift %s %s\n", g->r->card->mechanism, g->r->card->action);
	for (size_t i = 0; i < steps.n; i++)
		kl_buf_addf(out, "%s\n", steps.v[i]);
}

void kl_wording_driver(struct kl_driver *out, const struct kl_wording_group *g)
{
	static const char *const prompt[KL_DIALOGUE_END] = {
		[KL_DIALOGUE_STEP] = "lift-turn",
		[KL_DIALOGUE_AGAIN] = "lift-again",
	};
	KL_AUTO(kl_buf_release) struct kl_buf key = KL_BUF_INIT;
	char hex[KL_DIGEST_HEX];

	group_key(&key, g);
	kl_digest_hex(hex, key.ptr, key.len);
	*out = (struct kl_driver){
		.repo = g->w->o.repo,
		.name = strchr(kl_wording_first(g)->lineage, '/') + 1,
		.phase = kl_asprintf("lift-%s-%.7s", g->r->card->mechanism, hex),
		.rewriter = g->w->o.who,
		.prompt = prompt,
	};
}

/* --- a turn ---------------------------------------------------------------------------- */

static void add_list(struct kl_buf *out, const char *what, const struct kl_strvec *v)
{
	kl_buf_addf(out, "%s:", what);
	for (size_t i = 0; i < v->n; i++)
		kl_buf_addf(out, "%s %s", i ? "," : "", v->v[i]);
	kl_buf_addf(out, "%s\n", v->n ? "" : " -");
}

static void add_fenced(struct kl_buf *out, const struct kl_buf *text, size_t max)
{
	kl_prompt_excerpt(out, "", text->ptr, max);
}

static void add_ratios(struct kl_buf *out, const struct kl_wording_group *g,
		       const struct kl_transition *t)
{
	const struct kl_contract *k = t->from->contract;

	for (size_t i = 0; i < kl_transition_points(t); i++) {
		struct kl_card_ratio r;
		const struct kl_dims *dims;

		if (!kl_transition_point(&r, &dims, t, &g->w->lift->t->events, i))
			continue;
		kl_buf_adds(out, "speed against the state before, at");
		for (size_t d = 0; d < dims->n; d++)
			kl_buf_addf(out, " %s=%lld", k->dim_name[d], (long long)dims->v[d]);
		kl_buf_adds(out, ": ");
		kl_card_decimal(out, r.ppm);
		kl_buf_addch(out, '\n');
	}
}

static void add_step(struct kl_buf *out, const struct kl_wording_group *g, size_t i, bool code)
{
	const struct kl_transition *t = g->t[i];
	KL_AUTO(kl_buf_release) struct kl_buf facts = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf known = KL_BUF_INIT;

	kl_buf_addf(&facts, "operator %s, %s, in %s, on %s\nplace: %s\nnote: %s\n",
		    t->from->contract->op, t->dtype, t->from->contract->language->name, t->platform,
		    t->step.locus ? t->step.locus : "-", t->said);
	add_list(&facts, "facts that came", &t->gained);
	add_list(&facts, "facts that went", &t->lost);
	add_ratios(&facts, g, t);
	kl_known_write(&known, &g->before[i].known);
	kl_buf_addf(out, "T%zu:\n\n", i + 1);
	add_fenced(out, &facts, MAX_KNOWN);
	kl_buf_adds(out, "\nThe edit:\n\n");
	kl_prompt_excerpt(out, "diff", t->diff, MAX_DIFF);
	kl_buf_adds(out, "\nKnown of the state before; a test may ask for these names:\n\n");
	add_fenced(out, &known, MAX_KNOWN);
	if (code) {
		KL_AUTO(kl_buf_release) struct kl_buf files = KL_BUF_INIT;

		for (size_t k = 0; k < t->from->nfile; k++)
			kl_buf_addf(&files, "/* file %s */\n%s\n", t->from->file[k].path,
				    t->from->file[k].data);
		kl_buf_adds(out, "\nThe code before:\n\n");
		add_fenced(out, &files, MAX_CODE);
	}
	kl_buf_addch(out, '\n');
}

/* is it the best of its language? of that the code is shown */
static bool is_first(const struct kl_wording_group *g, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(g->t[k]->from->contract->language->name,
			    g->t[i]->from->contract->language->name))
			return false;
	return true;
}

static char *describe_steps(const struct kl_wording_group *g)
{
	struct kl_buf b = KL_BUF_INIT;
	size_t n = g->n < KL_WORDING_STEPS ? g->n : KL_WORDING_STEPS;

	for (size_t i = 0; i < n; i++)
		add_step(&b, g, i, is_first(g, i));
	if (g->n > n)
		kl_buf_addf(&b,
			    "%zu more are not shown; conditions are checked against them, too.\n",
			    g->n - n);
	return kl_buf_detach(&b);
}

static char *describe_refused(const struct kl_wording_group *g)
{
	struct kl_buf b = KL_BUF_INIT;

	for (size_t i = 0; i < g->nrefused; i++) {
		const struct kl_refusal *r = g->refused[i];
		const char *class_ = kl_event_class(r->event);

		kl_buf_addf(&b, "R%zu: %s, a step %s, class %s\n\n", i + 1, r->step.action,
			    r->step.forward ? "that was to put it in" :
					      "back that was to take it out",
			    class_);
		kl_feedback_write(&b, &(struct kl_feedback){ .class_ = class_, .event = r->event });
		kl_buf_addch(&b, '\n');
	}
	if (!g->nrefused)
		kl_buf_adds(&b, "none\n");
	return kl_buf_detach(&b);
}

static char *describe_card(const struct kl_wording_group *g)
{
	const struct kl_card *c = g->r->card;
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	struct kl_buf out = KL_BUF_INIT;

	kl_buf_addf(&b, "mechanism: %s: %s\nbackward action: %s\n", c->mechanism,
		    g->m ? g->m->text : "", c->action);
	add_list(&b, "there afterwards", &c->provides);
	add_list(&b, "there before", &c->scope.requires);
	add_list(&b, "not together with", &c->scope.conflicts);
	for (size_t i = 0; i < c->sound.n; i++)
		kl_buf_addf(&b, "condition %s: %s%s%s\n", c->sound.v[i].id, c->sound.v[i].text,
			    c->sound.v[i].test ? "; test: " : "",
			    c->sound.v[i].test ? c->sound.v[i].test : "");
	add_fenced(&out, &b, MAX_KNOWN);
	return kl_buf_detach(&out);
}

void kl_wording_compose(struct kl_driver_turn *out, const struct kl_wording_group *g,
			enum kl_dialogue_kind kind)
{
	out->state = kl_wording_first(g)->from;
	out->layout = g->t[0]->from;
	kl_prompt_set(&out->values, "CARD", describe_card(g));
	kl_prompt_set(&out->values, "STEPS", describe_steps(g));
	kl_prompt_set(&out->values, "REFUSED", describe_refused(g));
	kl_buf_adds(&out->key, kind == KL_DIALOGUE_AGAIN ? "again\n" : "");
	group_key(&out->key, g);
}
