/* SPDX-License-Identifier: Apache-2.0 */
#include "search/cell.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/proc.h"
#include "event/note_writer.h"
#include "search/ask.h"
#include "search/candidate.h"

/*
 * A search gives up after more than LEAST_IDLE + IDLE_TICKETS * candidates notes in a row, where
 * `candidates` is the number that the setup asks for.
 */
#define IDLE_TICKETS 8
#define LEAST_IDLE 200

void kl_cell_refs(char branch[KL_CELL_REF], char ref[KL_CELL_REF], const char *workload,
		  const char *name)
{
	snprintf(branch, KL_CELL_REF, "refs/heads/klineage/search/%s/%s", workload, name);
	snprintf(ref, KL_CELL_REF, KL_CELL_REFS "%s/%s", workload, name);
}

void kl_cell_release(struct kl_cell *cell)
{
	if (cell->seen) {
		kl_experience_release(cell->seen);
		free(cell->seen);
	}
	kl_links_release(&cell->chain);
	free(cell->ended);
	*cell = (struct kl_cell){ 0 };
}

static int end_search(struct kl_cell *cell, char *why)
{
	free(cell->ended);
	cell->ended = why;
	kl_error_clear();
	return 0;
}

/* --- links --------------------------------------------------------------------------------- */

static void count_link(struct kl_cell *cell, const struct kl_cell_link *link)
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

static int append_link(struct kl_cell *cell, struct kl_cell_link *link, struct kl_event *event)
{
	bool is_best = !strcmp(link->result, "best");
	int64_t ticket = link->seen.ticket;
	struct kl_links_write write = {
		.repo = cell->opts->repo,
		.ref = cell->ref,
		.branch = is_best ? cell->branch : NULL,
		.was = cell->best ? cell->chain.v[cell->best].commit : kl_oid_none,
		.event = event,
	};
	int err = kl_links_append(&cell->chain, link, &write);

	if (!err)
		count_link(cell, &cell->chain.v[ticket]);
	return err;
}

/* --- the root ------------------------------------------------------------------------------ */

static json_t *cell_json(const struct kl_cell *cell)
{
	const struct kl_cell_opts *opts = cell->opts;
	json_t *json = json_object();

	kl_json_set_str(json, "schema", "klineage.cell/1");
	kl_json_set_str(json, "workload", opts->root->contract->workload);
	kl_json_set_str(json, "name", opts->name);
	kl_json_set_str(json, "place", opts->root->place);
	kl_json_set_str(json, "surface", opts->root->digest);
	kl_json_set_str(json, "contract", opts->root->contract_digest);
	kl_json_set(json, "setup", kl_setup_write(&cell->setup));
	return json;
}

/* Judge the root, which must pass, and begin the chain with it as ticket 0. */
static int begin_chain(struct kl_cell *cell)
{
	const struct kl_cell_opts *opts = cell->opts;
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	KL_AUTO(kl_cell_link_release) struct kl_cell_link link = { .commit = opts->commit,
								   .result = "root" };
	int err = kl_candidate_judge(&judgement, opts->gate, opts->root, NULL, false);

	if (err < 0)
		return err;
	if (judgement->event->verdict != KL_VERDICT_PASS)
		return kl_error(KL_ENO, "the kernel from which the search starts fails: %s",
				kl_event_class(judgement->event));
	kl_candidate_observe_root(&link.seen, judgement->event, opts->root);
	link.event = kl_strdup(judgement->event->id);
	kl_experience_digest(link.state, cell->seen);
	cell->chain.cell = cell_json(cell);
	return append_link(cell, &link, judgement->event);
}

/* --- a ticket ------------------------------------------------------------------------------ */

/* a ticket in progress */
struct work {
	struct kl_cell *cell;
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
	if ((err = kl_candidate_judge(&work->judgement, opts->gate, answer->to, opts->root,
				      false)) < 0 ||
	    (err = KL_FAULT("cell-judged")) < 0)
		return err;
	work->cell->judged += !work->judgement->cached;
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

static int load_kernel(struct kl_surface **out, const struct kl_cell *cell, int64_t ticket)
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

static int ask_ticket(struct kl_cell *cell, struct kl_cell_link *link,
		      const struct kl_intent *intent)
{
	KL_AUTO(kl_answer_release) struct kl_answer answer = { 0 };
	KL_AUTO(kl_surface_freep) struct kl_surface *parent = NULL;
	struct work work = { .cell = cell };
	struct kl_event *event = NULL;
	struct kl_ask ask = {
		.cell = cell,
		.intent = intent,
		.ticket = link->seen.ticket,
		.judge = judge_edit,
		.payload = &work,
	};
	int err = load_kernel(&parent, cell, intent->parent);

	ask.parent = parent;
	if (!err && !(err = kl_ask_ticket(&answer, &ask)))
		err = take_answer(link, &work, &answer, parent);
	if (!err && answer.to && !work.known)
		event = work.judgement->event;
	if (!err)
		err = append_link(cell, link, event);
	kl_judgement_free(work.judgement);
	return err;
}

static int do_ticket(struct kl_cell *cell, const struct kl_intent *intent, int64_t ticket)
{
	KL_AUTO(kl_cell_link_release) struct kl_cell_link link = {
		.seen = { .ticket = ticket, .parent = intent->parent },
		.kind = intent->kind,
		.commit = cell->chain.v[intent->parent].commit,
	};

	kl_experience_digest(link.state, cell->seen);
	if (intent->kind == KL_TICKET_SKIP) {
		link.seen.parent = -1;
		link.result = "skipped";
		return append_link(cell, &link, NULL);
	}
	link.seen.form = intent->form ? kl_strdup(intent->form) : NULL;
	return ask_ticket(cell, &link, intent);
}

/* --- the search ---------------------------------------------------------------------------- */

static bool is_done(struct kl_cell *cell)
{
	if (cell->candidates >= cell->setup.candidates)
		return true;
	if (cell->idle > LEAST_IDLE + IDLE_TICKETS * cell->setup.candidates) {
		end_search(cell, kl_strdup("no candidate came of the last notes"));
		return true;
	}
	return false;
}

static int next_ticket(bool *more, struct kl_cell *cell)
{
	KL_AUTO(kl_intent_release) struct kl_intent intent = { 0 };
	int64_t ticket = (int64_t)cell->chain.n;
	int64_t horizon = cell->setup.policy->horizon(&cell->setup, ticket);
	int err;

	if (kl_proc_interrupted())
		return kl_error(KL_EINTR, "interrupted");
	while (cell->seen->n <= horizon)
		kl_experience_add(cell->seen, &cell->chain.v[cell->seen->n].seen);
	kl_experience_propose(&intent, cell->seen, ticket);
	*more = intent.kind != KL_TICKET_END;
	if (!*more)
		return 0;
	if ((err = KL_FAULT("cell-propose")) < 0)
		return err;
	err = do_ticket(cell, &intent, ticket);
	/*
	 * The budget is spent, the recording lacks the reply, or the model does not answer: end the
	 * search, which is not an error.
	 */
	if (err == KL_ENO || err == KL_ENOTFOUND || err == KL_ETIMEOUT) {
		*more = false;
		return end_search(cell, kl_strdup(kl_error_last()));
	}
	return err;
}

static int open_chain(struct kl_cell *cell)
{
	const struct kl_cell_opts *opts = cell->opts;
	int err = kl_links_load(&cell->chain, opts->repo, cell->ref);

	if (err == KL_ENOTFOUND && opts->setup) {
		kl_error_clear();
		cell->setup = *opts->setup;
		return 0;
	}
	if (err == KL_ENOTFOUND)
		return kl_error(KL_ENOTFOUND, "'%s' has no search named '%s'",
				opts->root->contract->workload, opts->name);
	if (err < 0)
		return err;
	if (opts->setup)
		return kl_error_hint(kl_error(KL_EEXISTS, "'%s' has a search named '%s' already",
					      opts->root->contract->workload, opts->name),
				     "continue it with --continue, or choose another --name");
	if ((err = kl_setup_read(&cell->setup, json_object_get(cell->chain.cell, "setup"))) < 0)
		return kl_error_in(err, "'%s', cell.json", cell->ref);
	err = kl_links_check(&cell->chain, &cell->setup);
	return err < 0 ? kl_error_in(err, "'%s'", cell->ref) : 0;
}

static int lock_cell(struct kl_lock *lock, const struct kl_cell *cell)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/klineage/search/%s/%s.lock",
						   kl_repo_common_dir(cell->opts->repo),
						   cell->opts->root->contract->workload,
						   cell->opts->name);
	int err = kl_fs_mkdir_of(path);

	return err < 0 ? err : kl_lock_take(lock, path, 0);
}

/*
 * Check that the branch is where the search left it. It could not be moved to a better candidate
 * otherwise, and the model would have been paid for a ticket that cannot be stored.
 */
static int check_branch(const struct kl_cell *cell)
{
	git_oid at = kl_oid_none, best = kl_oid_none;
	char hex[KL_OID_HEX];
	int err = kl_refs_get(&at, cell->opts->repo, cell->branch);

	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	if (cell->best)
		best = cell->chain.v[cell->best].commit;
	if (git_oid_equal(&at, &best))
		return 0;
	kl_oid_hex(hex, &best);
	err = kl_error(KL_EINVALID, "'%s' is not at the best candidate of the search '%s'",
		       cell->branch, cell->opts->name);
	if (cell->best)
		return kl_error_hint(err, "move it there: git update-ref %s %s", cell->branch, hex);
	return kl_error_hint(err, "the search has no best candidate yet: rename that branch");
}

int kl_cell_run(struct kl_cell *out, const struct kl_cell_opts *opts)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	bool more = true;
	int err;

	*out = (struct kl_cell){ .opts = opts };
	kl_cell_refs(out->branch, out->ref, opts->root->contract->workload, opts->name);
	if ((err = lock_cell(&lock, out)) < 0 || (err = open_chain(out)) < 0)
		return err;
	out->seen = kl_calloc(1, sizeof(*out->seen));
	kl_experience_init(out->seen, &out->setup);
	if (!out->chain.n && (err = begin_chain(out)) < 0)
		return err;
	out->candidates = out->best = out->idle = 0;
	for (size_t i = 0; i < out->chain.n; i++)
		count_link(out, &out->chain.v[i]);
	err = check_branch(out);
	while (!err && more && !is_done(out))
		if (!(err = next_ticket(&more, out)))
			err = check_branch(out);
	return err;
}

int kl_cell_confirm(struct kl_judgement **out, const struct kl_cell *cell)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	KL_AUTO(kl_surface_freep) struct kl_surface *best = NULL;
	KL_AUTO(kl_noting_release) struct kl_noting noting = { .repo = cell->opts->repo };
	int err;

	if ((err = load_kernel(&best, cell, cell->best)) < 0 ||
	    (err = kl_candidate_judge(&judgement, cell->opts->gate, best, cell->opts->root, true)) <
		    0 ||
	    (err = kl_noting_add(&noting, &cell->chain.v[cell->best].commit, judgement->event)) <
		    0 ||
	    (err = kl_noting_write(&noting)) < 0)
		return err;
	*out = kl_steal(&judgement);
	return 0;
}

int kl_cell_begun(git_oid *commit, char **place, struct kl_repo *repo, const char *workload,
		  const char *name)
{
	KL_AUTO(kl_links_release) struct kl_links chain = { 0 };
	char branch[KL_CELL_REF], ref[KL_CELL_REF];
	const char *at;
	int err;

	kl_cell_refs(branch, ref, workload, name);
	if ((err = kl_links_load(&chain, repo, ref)) < 0)
		return err == KL_ENOTFOUND ? kl_error(KL_ENOTFOUND, "'%s' has no search named '%s'",
						      workload, name) :
					     err;
	if ((err = kl_json_str(&at, chain.cell, "place")) < 0)
		return kl_error_in(err, "'%s', cell.json", ref);
	*commit = chain.v[0].commit;
	*place = kl_strdup(at);
	return 0;
}
