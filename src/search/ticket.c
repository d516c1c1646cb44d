/* SPDX-License-Identifier: Apache-2.0 */
#include "search/ticket.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "search/ask.h"
#include "search/candidate.h"

/* --- links --------------------------------------------------------------------------------- */

void kl_ticket_count(struct kl_cell *cell, const struct kl_cell_link *link)
{
	const struct kl_observation *seen = &link->seen;
	const struct kl_observation *best = &cell->chain.v[cell->best].seen;

	if (link->kind == KL_TICKET_EDIT)
		cell->candidates++;
	if (link->kind == KL_TICKET_EDIT || link->kind == KL_TICKET_SKIP)
		cell->idle = 0;
	else
		cell->idle++;
	if (seen->outcome == KL_OUTCOME_CORRECT && seen->speed_ppm > best->speed_ppm)
		cell->best = seen->ticket;
}

int kl_ticket_append(struct kl_cell *cell, struct kl_cell_link *link, struct kl_event *event)
{
	bool is_best = !strcmp(link->result, "best");
	int64_t ticket = link->seen.ticket;
	struct kl_links_write write = {
		.repo = cell->opts->repo,
		.ref = cell->ref,
		.branch = is_best ? cell->branch : NULL,
		.was = cell->best ? cell->chain.v[cell->best].commit : kl_oid_none,
		.table = cell->judging.table,
		.event = cell->judging.table ? NULL : event,
	};
	int err = kl_links_append(&cell->chain, link, &write);

	if (!err)
		kl_ticket_count(cell, &cell->chain.v[ticket]);
	return err;
}

/* --- a verdict ----------------------------------------------------------------------------- */

int kl_ticket_judge(struct kl_judgement **out, const struct kl_cell *cell,
		    const struct kl_surface *surface, const struct kl_surface *root)
{
	const struct kl_cell_opts *opts = cell->opts;
	struct kl_draws draws = { .key = cell->setup.key, .ticket = (int64_t)cell->chain.n };

	return cell->judging.table ?
		       kl_judging_find(out, &cell->judging, surface, opts->root, &draws) :
		       kl_candidate_judge(out, opts->gate, surface, root, false);
}

/* --- a ticket ------------------------------------------------------------------------------ */

/* a ticket in progress */
struct work {
	struct kl_cell *cell;
	bool ahead; /* an earlier ticket is open, so this one cannot be stored yet */
	struct kl_judgement *judgement;   /* of the last edit; NULL if `known` has its verdict */
	const struct kl_cell_link *known; /* the ticket that made the same kernel before, or NULL */
};

static const struct kl_cell_link *find_known(const struct kl_cell *cell, const char *surface)
{
	for (size_t i = 0; i < cell->chain.n; i++)
		if (!strcmp(cell->chain.v[i].seen.surface, surface))
			return &cell->chain.v[i];
	return NULL;
}

static const char *failure_class(const struct kl_event *event)
{
	return event->verdict == KL_VERDICT_FAIL && kl_event_is_fail(event) ?
		       kl_event_class(event) :
		       NULL;
}

static int judge_edit(const char **class_, const struct kl_event **event, struct kl_answer *answer,
		      void *payload)
{
	struct work *work = payload;
	const struct kl_cell_opts *opts = work->cell->opts;
	int err;

	kl_judgement_free(kl_steal(&work->judgement));
	*event = NULL;
	work->known = find_known(work->cell, answer->to->digest);
	if (work->known) {
		*class_ = work->known->class_;
		return 0;
	}
	kl_progress_step(opts->progress, "judging");
	if ((err = kl_ticket_judge(&work->judgement, work->cell, answer->to, opts->root)) < 0 ||
	    (err = KL_FAULT("cell-judged")) < 0)
		return err;
	if (work->judgement->deferred) {
		answer->deferred = true;
		return 0;
	}
	work->cell->judged += !work->judgement->cached && !work->cell->judging.table;
	*event = work->judgement->event;
	*class_ = failure_class(work->judgement->event);
	return 0;
}

/* Copy to `link` the verdict of `known`, an earlier ticket that made the same kernel. */
static void take_known(struct kl_cell_link *link, const struct kl_cell_link *known)
{
	struct kl_observation seen;

	kl_observation_copy(&seen, &known->seen);
	free(seen.form);
	json_decref(seen.note);
	seen.ticket = link->seen.ticket;
	seen.parent = link->seen.parent;
	seen.form = link->seen.form;
	seen.note = NULL;
	link->seen = seen;
	link->commit = known->commit;
	link->class_ = known->class_ ? kl_strdup(known->class_) : NULL;
	link->event = known->event ? kl_strdup(known->event) : NULL;
	link->result = "known";
}

static const char *result_of(const struct kl_cell *cell, const struct kl_observation *seen)
{
	if (seen->outcome != KL_OUTCOME_CORRECT)
		return kl_observation_is_candidate(seen) ? "fail" : "none";
	return seen->speed_ppm > cell->chain.v[cell->best].seen.speed_ppm ? "best" : "node";
}

static int take_candidate(struct kl_cell_link *link, const struct work *work,
			  const struct kl_answer *answer, const struct kl_surface *parent)
{
	const struct kl_cell *cell = work->cell;
	const struct kl_event *event = work->judgement->event;
	const char *class_ = failure_class(event);
	struct kl_candidate_text text = {
		.policy = cell->setup.policy->name,
		.form = link->seen.form,
		.rewriter = cell->opts->rewriter,
		.action = answer->action,
		.why = link->why,
		.class_ = class_,
		.ticket = link->seen.ticket,
	};
	git_oid on = link->commit;

	kl_candidate_observe(&link->seen, event, answer->to);
	link->class_ = class_ ? kl_strdup(class_) : NULL;
	link->event = kl_strdup(event->id);
	link->result = result_of(cell, &link->seen);
	return kl_candidate_commit(&link->commit, cell->opts->repo, &on, parent, answer->to, &text);
}

int kl_ticket_kernel(struct kl_surface **out, const struct kl_cell *cell, int64_t ticket)
{
	git_oid tree;
	int err = kl_repo_tree_of(&tree, cell->opts->repo, &cell->chain.v[ticket].commit);

	return err < 0 ?
		       err :
		       kl_surface_from_tree(out, cell->opts->repo, &tree, cell->opts->root->place);
}

static int take_answer(struct kl_cell_link *link, const struct work *work, struct kl_answer *answer,
		       const struct kl_surface *parent)
{
	link->why = kl_steal(&answer->why);
	if (answer->note) {
		link->seen.outcome = KL_OUTCOME_NOTE;
		link->seen.note = kl_steal(&answer->note);
		link->result = "note";
	} else if (!answer->to) {
		link->seen.outcome = KL_OUTCOME_NONE;
		link->result = "none";
	} else if (work->known) {
		take_known(link, work->known);
	} else {
		return take_candidate(link, work, answer, parent);
	}
	return 0;
}

static int ask_ticket(struct work *work, bool *open, struct kl_cell_link *link,
		      const struct kl_intent *intent)
{
	KL_AUTO(kl_answer_release) struct kl_answer answer = { 0 };
	KL_AUTO(kl_surface_freep) struct kl_surface *parent = NULL;
	struct kl_event *event = NULL;
	struct kl_ask ask = {
		.cell = work->cell,
		.intent = intent,
		.ticket = link->seen.ticket,
		.judge = judge_edit,
		.payload = work,
	};
	int err = kl_ticket_kernel(&parent, work->cell, intent->parent);

	ask.parent = parent;
	if (!err)
		err = kl_ask_ticket(&answer, &ask);
	*open = !err && answer.deferred;
	if (err < 0 || *open || work->ahead)
		return err;
	if ((err = take_answer(link, work, &answer, parent)) < 0)
		return err;
	if (answer.to && !work->known)
		event = work->judgement->event;
	return kl_ticket_append(work->cell, link, event);
}

int kl_ticket_do(bool *open, struct kl_cell *cell, const struct kl_intent *intent, int64_t ticket,
		 bool ahead)
{
	KL_AUTO(kl_cell_link_release) struct kl_cell_link link = {
		.seen = { .ticket = ticket, .parent = intent->parent },
		.kind = intent->kind,
		.commit = cell->chain.v[intent->parent].commit,
	};
	struct work work = { .cell = cell, .ahead = ahead };
	int err;

	*open = false;
	kl_experience_digest(link.state, cell->seen);
	if (intent->kind == KL_TICKET_SKIP) {
		link.seen.parent = -1;
		link.result = "skipped";
		return ahead ? 0 : kl_ticket_append(cell, &link, NULL);
	}
	link.seen.form = intent->form ? kl_strdup(intent->form) : NULL;
	err = ask_ticket(&work, open, &link, intent);
	kl_judgement_free(work.judgement);
	return err;
}
