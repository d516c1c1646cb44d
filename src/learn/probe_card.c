/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/probe_card.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "card/clause.h"

/* A change of a card in progress. */
struct change {
	struct kl_card *card;
	const struct kl_probe_card_step *step;
	size_t n;
	bool complete;        /* all steps of the card's evidence were probed */
	struct kl_map events; /* cited events; values borrowed */
	struct kl_buf body;   /* body of the commit's message */
	size_t witnessed, removed;
	size_t facts; /* number of steps whose measured facts differ from those in the card */
};

static void change_release(struct change *change)
{
	kl_card_free(change->card);
	kl_map_release(&change->events);
	kl_buf_release(&change->body);
}

/* --- the clauses of a card -------------------------------------------------------------------- */

static bool is_open(const struct kl_card_pre *pre)
{
	return pre->test && (pre->state == KL_PRE_ASSUMED || pre->state == KL_PRE_NOT_TESTED);
}

int kl_probe_card_ask(struct kl_strvec *texts, struct kl_strvec *sources,
		      const struct kl_card *card)
{
	for (size_t i = 0; i < card->sound.n; i++) {
		struct kl_clauses clauses;
		int err;

		if (!is_open(&card->sound.v[i]))
			continue;
		if ((err = kl_clauses_split(&clauses, card->sound.v[i].test)) < 0)
			return err;
		for (size_t k = 0; k < clauses.v.n; k++) {
			kl_strvec_take(texts, kl_clauses_one(&clauses, k));
			kl_strvec_push(sources, KL_PROBE_CARD_SOURCE);
		}
		kl_clauses_release(&clauses);
	}
	return 0;
}

/* --- one witnessed condition ------------------------------------------------------------------ */

static char *free_id(const struct kl_card *card, const char *id)
{
	char *out = kl_strndup(id, 56);

	for (int i = 2; kl_card_has_pre(card, out); i++) {
		free(out);
		out = kl_asprintf("%.56s-%d", id, i);
	}
	return out;
}

static char *point_words(const struct kl_probe_card_step *step, size_t point)
{
	return kl_probe_point_words(step->probe->state[1].surface->contract,
				    &step->probe->points.v[point]);
}

/* Return the event of the step's result at a point. */
static const struct kl_event *event_at(const struct kl_probe_card_step *step, size_t point)
{
	return point == KL_PROBE_FINDING_NOWHERE ? NULL : step->probe->state[1].side[point].event;
}

static void add_risk(struct change *change, const struct kl_probe_card_step *step,
		     const struct kl_probe_finding *finding, const char *id)
{
	const struct kl_event *fail = event_at(step, finding->fail_point);
	KL_AUTO(kl_freep) char *words = point_words(step, finding->fail_point);
	struct kl_card_risk risk = {
		.class_ = kl_strdup(kl_event_class(fail)),
		.violates = kl_strdup(id),
		.text = kl_asprintf("without '%.400s', %s K_%d fails at %.400s", finding->text,
				    step->transition->lineage, step->transition->step.number,
				    words),
	};

	kl_strvec_push(&risk.events, fail->id);
	kl_card_add_risk(change->card, &risk);
}

static void tell_pair(struct change *change, const struct kl_probe_card_step *step,
		      const struct kl_probe_finding *finding)
{
	KL_AUTO(kl_freep) char *fail = point_words(step, finding->fail_point),
			       *pass = point_words(step, finding->pass_point);
	const struct kl_event *passed = event_at(step, finding->pass_point);

	kl_buf_addf(&change->body,
		    "%s%s\n  %s K_%d fails at %s\n  event %s\n  passes at %s\n  event %s",
		    change->body.len ? "\n" : "", finding->text, step->transition->lineage,
		    step->transition->step.number, fail, event_at(step, finding->fail_point)->id,
		    pass, passed ? passed->id : "-");
}

/* Add a condition that a failure of the step witnesses; takes ownership of the strings. */
static void add_witnessed(struct change *change, const struct kl_probe_card_step *step,
			  const struct kl_probe_finding *finding, char *id, char *text, char *test)
{
	const struct kl_event *fail = event_at(step, finding->fail_point);
	const struct kl_event *before = step->probe->state[0].side[finding->fail_point].event;
	struct kl_card *card = change->card;

	kl_map_put(&change->events, fail->id, (void *)fail);
	if (before)
		kl_map_put(&change->events, before->id, (void *)before);
	tell_pair(change, step, finding);
	add_risk(change, step, finding, id);
	KL_GROW(card->sound.v, card->sound.n + 1, card->sound.alloc);
	card->sound.v[card->sound.n++] = (struct kl_card_pre){
		.id = id,
		.text = text,
		.test = test,
		.state = KL_PRE_WITNESSED,
		.by = kl_strdup(fail->id),
		.class_ = kl_strdup(kl_event_class(fail)),
		.pair = before ? kl_strdup(before->id) : NULL,
	};
	change->witnessed++;
}

/* --- measured clauses ------------------------------------------------------------------------- */

static bool has_test(const struct kl_card *card, const char *test)
{
	for (size_t i = 0; i < card->sound.n; i++)
		if (card->sound.v[i].test && !strcmp(card->sound.v[i].test, test))
			return true;
	return false;
}

static void add_measured(struct change *change, const struct kl_probe_card_step *step)
{
	const struct kl_contract *contract = step->probe->state[1].surface->contract;

	for (size_t i = 0; i < step->findings->n; i++) {
		const struct kl_probe_finding *finding = &step->findings->v[i];
		KL_AUTO(kl_freep) char *id = NULL, *test = NULL;

		if (strcmp(finding->source, "measured") != 0 ||
		    !event_at(step, finding->fail_point))
			continue;
		test = kl_asprintf("op != '%s' || language != '%s' || (%s)", contract->op,
				   contract->language->name, finding->text);
		if (has_test(change->card, test))
			continue;
		id = kl_asprintf("probe-%s-%s", contract->op, contract->language->name);
		add_witnessed(change, step, finding, free_id(change->card, id),
			      kl_asprintf("measured: %zu points where it is false fail, %zu where "
					  "it is true pass",
					  finding->fails, finding->passes),
			      kl_steal(&test));
	}
}

/* --- the card's own clauses ------------------------------------------------------------------- */

enum outcome { OUTCOME_OPEN, OUTCOME_WITNESSED, OUTCOME_REMOVED };

struct decision {
	enum outcome outcome;
	const struct kl_probe_card_step *step; /* the step of the witness, or of a pass */
	const struct kl_probe_finding *finding;
};

static const struct kl_probe_finding *find_answer(const struct kl_probe_card_step *step,
						  const char *text)
{
	for (size_t i = 0; i < step->findings->n; i++)
		if (!strcmp(step->findings->v[i].source, KL_PROBE_CARD_SOURCE) &&
		    !strcmp(step->findings->v[i].text, text))
			return &step->findings->v[i];
	return NULL;
}

/*
 * Decide a clause by the findings of all steps. If one step needs the clause, the clause is
 * witnessed. It is removed only if a step shows that it is not needed and no other step is open. A
 * step at which no point makes the clause false does not count, because the clause's guard can
 * exempt the step.
 */
static struct decision decide_clause(const struct change *change, const char *text)
{
	struct decision out = { .outcome = OUTCOME_OPEN };
	bool open = !change->complete;

	for (size_t i = 0; i < change->n; i++) {
		const struct kl_probe_finding *answer = find_answer(&change->step[i], text);

		if (!answer)
			continue;
		if (answer->state == KL_PROBE_FINDING_WITNESSED &&
		    event_at(&change->step[i], answer->fail_point))
			return (struct decision){ OUTCOME_WITNESSED, &change->step[i], answer };
		if (answer->state == KL_PROBE_FINDING_NOT_TESTED)
			open = open || answer->fails || !answer->passes;
		else
			out = (struct decision){ OUTCOME_REMOVED, &change->step[i], answer };
	}
	if (open)
		out.outcome = OUTCOME_OPEN;
	return out;
}

static void tell_removed(struct change *change, const struct decision *decision)
{
	KL_AUTO(kl_freep) char *pass = point_words(decision->step, decision->finding->pass_point);
	const struct kl_event *event = event_at(decision->step, decision->finding->pass_point);

	kl_buf_addf(&change->body,
		    "%s%s: not needed, right without it\n  %s K_%d at %s\n  event %s",
		    change->body.len ? "\n" : "", decision->finding->text,
		    decision->step->transition->lineage, decision->step->transition->step.number,
		    pass, event ? event->id : "-");
	change->removed++;
}

static void forget_pre(struct kl_card *card, const char *id)
{
	for (size_t i = 0; i < card->risk.n; i++)
		if (card->risk.v[i].violates && !strcmp(card->risk.v[i].violates, id))
			kl_freep(&card->risk.v[i].violates);
}

static struct kl_card_pre take_pre(struct kl_card *card, size_t at)
{
	struct kl_card_pre pre = card->sound.v[at];

	card->sound.n--;
	memmove(card->sound.v + at, card->sound.v + at + 1, (card->sound.n - at) * sizeof(pre));
	return pre;
}

/* Replace a condition by one with its open clauses and by one for each witnessed clause. */
static void replace_pre(struct change *change, struct kl_card_pre *old,
			const struct kl_clauses *clauses, const struct decision *decision)
{
	struct kl_card *card = change->card;
	bool *keep = kl_calloc(clauses->v.n + 1, sizeof(*keep));
	char *open;

	for (size_t i = 0; i < clauses->v.n; i++)
		keep[i] = decision[i].outcome == OUTCOME_OPEN;
	open = kl_clauses_join(clauses, keep);
	free(keep);
	if (open) {
		KL_GROW(card->sound.v, card->sound.n + 1, card->sound.alloc);
		card->sound.v[card->sound.n++] = (struct kl_card_pre){
			.id = kl_strdup(old->id),
			.text = kl_strdup(old->text),
			.test = open,
			.state = old->state,
			.source = old->source ? kl_strdup(old->source) : NULL
		};
	}
	for (size_t i = 0; i < clauses->v.n; i++)
		if (decision[i].outcome == OUTCOME_REMOVED)
			tell_removed(change, &decision[i]);
		else if (decision[i].outcome == OUTCOME_WITNESSED)
			add_witnessed(change, decision[i].step, decision[i].finding,
				      free_id(card, old->id), kl_strdup(old->text),
				      kl_clauses_one(clauses, i));
	if (!kl_card_has_pre(card, old->id))
		forget_pre(card, old->id);
}

static int change_pre(struct change *change, const char *id)
{
	KL_AUTO(kl_clauses_release) struct kl_clauses clauses = { 0 };
	KL_AUTO(kl_freep) struct decision *decision = NULL;
	struct kl_card_pre old;
	size_t at = 0, decided = 0;
	int err;

	while (strcmp(change->card->sound.v[at].id, id) != 0)
		at++;
	if (!is_open(&change->card->sound.v[at]))
		return 0;
	if ((err = kl_clauses_split(&clauses, change->card->sound.v[at].test)) < 0)
		return err;
	decision = kl_calloc(clauses.v.n + 1, sizeof(*decision));
	for (size_t i = 0; i < clauses.v.n; i++) {
		KL_AUTO(kl_freep) char *text = kl_clauses_one(&clauses, i);

		decision[i] = decide_clause(change, text);
		decided += decision[i].outcome != OUTCOME_OPEN;
	}
	if (!decided)
		return 0;
	old = take_pre(change->card, at);
	replace_pre(change, &old, &clauses, decision);
	kl_card_pre_release(&old);
	return 0;
}

/* --- facts ------------------------------------------------------------------------------------ */

static bool is_equal(const struct kl_strvec *left, const struct kl_strvec *right)
{
	bool same = left->n == right->n;

	for (size_t i = 0; i < left->n && same; i++)
		same = kl_strvec_has(right, left->v[i]);
	return same;
}

/* Write the facts that were measured about the step into its row of the evidence. */
static void set_facts(struct change *change, const struct kl_probe_card_step *step)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;
	struct kl_card_evidence *row = NULL;

	for (size_t i = 0; i < change->card->evidence.n; i++)
		if (!strcmp(change->card->evidence.v[i].event, step->transition->event->id))
			row = &change->card->evidence.v[i];
	kl_step_facts_lines(&lines, &step->findings->facts);
	if (!row || !step->findings->facts.compared || is_equal(&row->measured, &lines))
		return;
	kl_strvec_release(&row->measured);
	kl_buf_addf(&change->body, "%s%s K_%d, measured", change->body.len ? "\n" : "",
		    step->transition->lineage, step->transition->step.number);
	for (size_t i = 0; i < lines.n; i++) {
		kl_strvec_push(&row->measured, lines.v[i]);
		kl_buf_addf(&change->body, "\n  %s", lines.v[i]);
	}
	change->facts++;
}

/* --- the commit ------------------------------------------------------------------------------- */

static bool all_probed(const struct change *change)
{
	for (size_t i = 0; i < change->card->evidence.n; i++) {
		bool probed = false;

		for (size_t k = 0; k < change->n; k++)
			probed = probed || !strcmp(change->card->evidence.v[i].event,
						   change->step[k].transition->event->id);
		if (!probed)
			return false;
	}
	return true;
}

int kl_probe_card_put(bool *changed, struct kl_library *library, const struct kl_card *card,
		      const struct kl_probe_card_step *step, size_t n)
{
	KL_AUTO(change_release) struct change change = {
		.card = kl_card_copy(card),
		.step = step,
		.n = n,
	};
	KL_AUTO(kl_freep) char *subject = NULL;
	int err = 0;

	*changed = false;
	change.complete = all_probed(&change);
	for (size_t i = 0; i < card->sound.n && !err; i++)
		err = change_pre(&change, card->sound.v[i].id);
	for (size_t i = 0; i < n && !err; i++)
		add_measured(&change, &step[i]);
	for (size_t i = 0; i < n && !err; i++)
		set_facts(&change, &step[i]);
	if (err < 0 || (!change.witnessed && !change.removed && !change.facts))
		return err;
	kl_card_normalize(change.card);
	subject = kl_asprintf("probe: %s, %zu witnessed, %zu not needed", card->id,
			      change.witnessed, change.removed);
	err = kl_library_put(library, &(struct kl_library_change){
					      .card = change.card,
					      .base = card,
					      .events = &change.events,
					      .subject = subject,
					      .body = change.body.ptr,
				      });
	*changed = !err;
	return err;
}
