/* SPDX-License-Identifier: Apache-2.0 */
#include "search/cell.h"

#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/proc.h"
#include "event/note_writer.h"
#include "search/candidate.h"
#include "search/ticket.h"

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

static void forget_seen(struct kl_cell *cell)
{
	if (!cell->seen)
		return;
	kl_experience_release(cell->seen);
	free(kl_steal(&cell->seen));
}

void kl_cell_release(struct kl_cell *cell)
{
	forget_seen(cell);
	kl_links_release(&cell->chain);
	kl_wave_release(&cell->wave);
	free(cell->ended);
	*cell = (struct kl_cell){ 0 };
}

static int end_search(struct kl_cell *cell, int err, char *why)
{
	free(cell->ended);
	cell->ended = why;
	cell->ended_by = err;
	kl_error_clear();
	return 0;
}

/* --- judging ------------------------------------------------------------------------------- */

static json_t *judging_json(const struct kl_judging *judging)
{
	json_t *json = json_object();

	kl_json_set_str(json, "mode", kl_judging_name[judging->mode]);
	kl_json_set_str(json, "table", judging->table->digest);
	if (judging->skill)
		kl_json_set_str(json, "skill", judging->skill->name);
	return json;
}

/* Read how a stored search is judged. */
static int read_judging(struct kl_judging *out, const struct kl_links *chain)
{
	const json_t *judge = json_object_get(chain->cell, "judge");
	const char *mode, *skill;
	int err;

	*out = (struct kl_judging){ .table = chain->table };
	if (!judge)
		return 0;
	if ((err = kl_json_str(&mode, judge, "mode")) < 0)
		return err;
	if (kl_judging_parse(&out->mode, mode) < 0 || (out->mode == KL_JUDGING_REAL) != !out->table)
		return kl_error(KL_EINVALID, "'judge' does not say how the search is judged");
	if (!json_object_get(judge, "skill"))
		return 0;
	if ((err = kl_json_str(&skill, judge, "skill")) < 0)
		return err;
	out->skill = kl_skill_find(skill);
	return out->skill ? 0 : kl_error(KL_EINVALID, "this program has no skill '%.40s'", skill);
}

const char *kl_cell_evidence(const struct kl_cell *cell)
{
	return cell->judging.skill ? "simulated" : cell->judging.table ? "recorded" : "real";
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
	if (cell->judging.table)
		kl_json_set(json, "judge", judging_json(&cell->judging));
	return json;
}

/*
 * Judge the root, which must pass, and begin the chain with it as ticket 0. If the verdict comes
 * later, begin no chain.
 */
static int begin_chain(struct kl_cell *cell)
{
	const struct kl_cell_opts *opts = cell->opts;
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	KL_AUTO(kl_cell_link_release) struct kl_cell_link link = { .commit = opts->commit,
								   .result = "root" };
	int err = kl_ticket_judge(&judgement, cell, opts->root, NULL);

	if (err < 0)
		return err;
	if (judgement->deferred) {
		cell->open = 1;
		return 0;
	}
	if (judgement->event->verdict != KL_VERDICT_PASS)
		return kl_error(KL_ENO, "the kernel from which the search starts fails: %s",
				kl_event_class(judgement->event));
	kl_candidate_observe_root(&link.seen, judgement->event, opts->root);
	link.event = kl_strdup(judgement->event->id);
	kl_experience_digest(link.state, cell->seen);
	cell->chain.cell = cell_json(cell);
	return kl_ticket_append(cell, &link, judgement->event);
}

/* --- the search ---------------------------------------------------------------------------- */

static bool is_done(struct kl_cell *cell)
{
	if (cell->candidates >= cell->setup.candidates)
		return true;
	if (cell->idle > LEAST_IDLE + IDLE_TICKETS * cell->setup.candidates) {
		end_search(cell, 0, kl_strdup("no candidate came of the last notes"));
		return true;
	}
	return false;
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

static void propose_ticket(struct kl_intent *out, struct kl_cell *cell, int64_t ticket)
{
	int64_t horizon = cell->setup.policy->horizon(&cell->setup, ticket);

	while (cell->seen->n <= horizon)
		kl_experience_add(cell->seen, &cell->chain.v[cell->seen->n].seen);
	kl_experience_propose(out, cell->seen, ticket);
}

/*
 * Return true if an error ends the search without being an error of it: the budget is spent, the
 * recording lacks the reply, or the model does not answer.
 */
static bool is_end(int err)
{
	return err == KL_ENO || err == KL_ENOTFOUND || err == KL_ETIMEOUT;
}

/*
 * The next ticket of the chain is open. Do also the tickets after it whose intent does not depend
 * on it, so that their jobs are sent with its job. They are done again, from stored replies, when
 * their turn comes.
 */
static int look_ahead(struct kl_cell *cell)
{
	int64_t first = (int64_t)cell->chain.n, candidates = cell->candidates + 1;
	const struct kl_policy *policy = cell->setup.policy;
	int err = 0;

	for (int64_t ticket = first + 1; candidates < cell->setup.candidates; ticket++) {
		KL_AUTO(kl_intent_release) struct kl_intent intent = { 0 };
		bool open;

		if (policy->horizon(&cell->setup, ticket) >= first ||
		    kl_gate_is_full(cell->opts->gate))
			break;
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		propose_ticket(&intent, cell, ticket);
		if (intent.kind == KL_TICKET_END ||
		    (err = kl_ticket_do(&open, cell, &intent, ticket, true)) < 0)
			break;
		candidates += intent.kind == KL_TICKET_EDIT;
		cell->open += open;
	}
	/* the search ends at that ticket when its turn comes */
	return is_end(err) ? (kl_error_clear(), 0) : err;
}

static int next_ticket(bool *more, struct kl_cell *cell)
{
	KL_AUTO(kl_intent_release) struct kl_intent intent = { 0 };
	int64_t ticket = (int64_t)cell->chain.n;
	bool open;
	int err;

	if (kl_proc_interrupted())
		return kl_error(KL_EINTR, "interrupted");
	propose_ticket(&intent, cell, ticket);
	*more = intent.kind != KL_TICKET_END;
	if (!*more)
		return 0;
	if ((err = KL_FAULT("cell-propose")) < 0)
		return err;
	err = kl_ticket_do(&open, cell, &intent, ticket, false);
	if (!err && open) {
		*more = false;
		cell->open++;
		return look_ahead(cell);
	}
	if (is_end(err)) {
		*more = false;
		return end_search(cell, err, kl_strdup(kl_error_last()));
	}
	return err;
}

/* Do all tickets that can be done before a verdict must come from elsewhere. */
static int do_tickets(void *payload)
{
	struct kl_cell *cell = payload;
	bool more = true;
	int err = 0;

	/* look_ahead() may have added observations beyond the horizon of the next ticket */
	forget_seen(cell);
	cell->seen = kl_calloc(1, sizeof(*cell->seen));
	kl_experience_init(cell->seen, &cell->setup);
	cell->open = 0;
	if (!cell->chain.n && ((err = begin_chain(cell)) < 0 || cell->open))
		return err;
	cell->candidates = cell->best = cell->idle = 0;
	for (size_t i = 0; i < cell->chain.n; i++)
		kl_ticket_count(cell, &cell->chain.v[i]);
	err = check_branch(cell);
	while (!err && more && !is_done(cell))
		if (!(err = next_ticket(&more, cell)))
			err = check_branch(cell);
	return err;
}

static int open_chain(struct kl_cell *cell)
{
	const struct kl_cell_opts *opts = cell->opts;
	int err = kl_links_load(&cell->chain, opts->repo, cell->ref);

	if (err == KL_ENOTFOUND && opts->setup) {
		kl_error_clear();
		cell->setup = *opts->setup;
		cell->judging = opts->judging;
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
	if ((err = read_judging(&cell->judging, &cell->chain)) < 0)
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

int kl_cell_run(struct kl_cell *out, const struct kl_cell_opts *opts)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	int err;

	*out = (struct kl_cell){ .opts = opts };
	kl_cell_refs(out->branch, out->ref, opts->root->contract->workload, opts->name);
	if ((err = lock_cell(&lock, out)) < 0 || (err = open_chain(out)) < 0)
		return err;
	/* a table has all verdicts at once */
	return out->judging.table ? do_tickets(out) :
				    kl_wave_run(&out->wave, opts->gate, do_tickets, out);
}

/* --- the best, measured again -------------------------------------------------------------- */

struct confirming {
	struct kl_cell *cell;
	struct kl_judgement *judgement;
};

/*
 * Measure the best again. If the verdict comes from elsewhere, it is the one in the cache that is
 * not the verdict by which the search chose the candidate.
 */
static int measure_best(void *payload)
{
	struct confirming *confirming = payload;
	const struct kl_cell_opts *opts = confirming->cell->opts;
	const struct kl_cell_link *link = &confirming->cell->chain.v[confirming->cell->best];
	KL_AUTO(kl_surface_freep) struct kl_surface *best = NULL;
	bool remote = kl_gate_is_remote(opts->gate);
	int err = kl_ticket_kernel(&best, confirming->cell, confirming->cell->best);

	kl_judgement_free(kl_steal(&confirming->judgement));
	if (err < 0 || (err = kl_candidate_judge(&confirming->judgement, opts->gate, best,
						 opts->root, !remote)) < 0)
		return err;
	if (!remote || confirming->judgement->deferred || !link->event ||
	    strcmp(confirming->judgement->event->id, link->event) != 0)
		return 0;
	kl_judgement_free(kl_steal(&confirming->judgement));
	return kl_candidate_judge(&confirming->judgement, opts->gate, best, opts->root, true);
}

int kl_cell_confirm(struct kl_judgement **out, struct kl_cell *cell)
{
	struct confirming confirming = { .cell = cell };
	KL_AUTO(kl_noting_release) struct kl_noting noting = { .repo = cell->opts->repo };
	int err;

	*out = NULL;
	kl_wave_release(&cell->wave);
	err = kl_wave_run(&cell->wave, cell->opts->gate, measure_best, &confirming);
	if (!err && !cell->wave.sent.waiting)
		err = kl_noting_add(&noting, &cell->chain.v[cell->best].commit,
				    confirming.judgement->event);
	if (!err && !cell->wave.sent.waiting && !(err = kl_noting_write(&noting)))
		*out = kl_steal(&confirming.judgement);
	kl_judgement_free(confirming.judgement);
	return err;
}

void kl_cell_begun_release(struct kl_cell_begun *begun)
{
	free(begun->place);
	kl_search_table_free(begun->table);
}

int kl_cell_begun(struct kl_cell_begun *out, struct kl_repo *repo, const char *workload,
		  const char *name)
{
	KL_AUTO(kl_links_release) struct kl_links chain = { 0 };
	char branch[KL_CELL_REF], ref[KL_CELL_REF];
	const char *at;
	int err;

	*out = (struct kl_cell_begun){ 0 };
	kl_cell_refs(branch, ref, workload, name);
	if ((err = kl_links_load(&chain, repo, ref)) < 0)
		return err == KL_ENOTFOUND ? kl_error(KL_ENOTFOUND, "'%s' has no search named '%s'",
						      workload, name) :
					     err;
	if ((err = kl_json_str(&at, chain.cell, "place")) < 0 ||
	    (err = read_judging(&out->judging, &chain)) < 0)
		return kl_error_in(err, "'%s', cell.json", ref);
	out->commit = chain.v[0].commit;
	out->place = kl_strdup(at);
	out->table = kl_steal(&chain.table);
	return 0;
}
