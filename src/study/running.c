/* SPDX-License-Identifier: Apache-2.0 */
#include "study/running.h"

#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "search/table/player.h"

/* --- the end --------------------------------------------------------------------------------- */

static enum kl_end_reason reason_of(const struct kl_cell *cell)
{
	if (!cell->ended)
		return KL_END_COMPLETE;
	if (cell->ended_by == KL_ENO)
		return KL_END_BUDGET;
	return cell->ended_by == KL_ENOTFOUND ? KL_END_RECORDING : KL_END_IDLE;
}

static int record_end(const struct kl_running *running, const struct kl_cell *cell)
{
	struct kl_ending ending = {
		.reason = reason_of(cell),
		.tip = cell->chain.tip,
		.why = cell->ended,
	};

	if (cell->ended && cell->ended_by == KL_ETIMEOUT)
		return kl_error(KL_ETIMEOUT, "%s", cell->ended);
	return kl_ending_write(running->repo, running->study, running->cell, &ending);
}

/* --- the search ------------------------------------------------------------------------------ */

static int open_gate(struct kl_gate **out, const struct kl_running *running,
		     const struct kl_surface *root)
{
	struct kl_gate_opts opts = { .progress = running->progress,
				     .jail = running->jail,
				     .platform = running->platform };
	int err = kl_repo_config_int(&opts.profile_ms, running->repo, "klineage.profileMs", 0);

	if (*running->cell->task->table)
		return 0;
	if (err < 0 || (err = kl_gate_open(out, running->repo, &opts)) < 0)
		return err;
	return kl_gate_reaches(*out, root);
}

static int open_session(struct kl_session **out, const struct kl_running *running,
			struct kl_player *player)
{
	const struct kl_study *study = running->study;
	int64_t cap = study->cap;
	struct kl_session_opts opts = {
		.provider = study->provider,
		.answer = kl_player_called,
		.payload = player,
		.command = running->command,
		.model = study->model,
		.workload = running->cell->task->workload,
		.purse = running->cell->name,
		.budget = KL_BUDGET_MATERIALIZE,
		.cap = &cap,
		.progress = running->progress,
	};

	return kl_session_open(out, running->repo, &opts);
}

static int load_root(struct kl_surface **out, const struct kl_running *running)
{
	const struct kl_study_task *task = running->cell->task;
	git_oid tree;
	int err = kl_repo_tree_of(&tree, running->repo, &task->root);

	if (err < 0 || (err = kl_surface_from_tree(out, running->repo, &tree, task->place)) < 0)
		return kl_error_in(err, "the root of task '%s'", task->id);
	if (strcmp((*out)->digest, task->surface) != 0 ||
	    strcmp((*out)->contract_digest, task->contract) != 0)
		return kl_error(KL_EINVALID, "the root of task '%s' is not what was frozen",
				task->id);
	return 0;
}

/* Find the table of the cell, if it has one, and the skill of the simulated model. */
static int find_judging(struct kl_judging *out, struct kl_search_table **table,
			const struct kl_running *running)
{
	const struct kl_study_cell *cell = running->cell;
	int err = kl_judging_parse(&out->mode, running->study->judge);

	if (err < 0 || !*cell->task->table)
		return err;
	err = kl_study_table(table, running->repo, running->study, cell->task);
	out->table = *table;
	out->skill = cell->arm->skill ? kl_skill_find(cell->arm->skill) : NULL;
	return err;
}

static int run_search(const struct kl_running *running, bool begun)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *root = NULL;
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = NULL;
	KL_AUTO(kl_session_freep) struct kl_session *session = NULL;
	KL_AUTO(kl_search_table_freep) struct kl_search_table *table = NULL;
	KL_AUTO(kl_cell_release) struct kl_cell cell = { 0 };
	struct kl_player player = { 0 };
	struct kl_cell_opts opts = {
		.repo = running->repo,
		.rewriter = strcmp(running->study->provider, "exec") ? "chat" : "exec",
		.name = running->cell->name,
		.commit = running->cell->task->root,
		.setup = begun ? NULL : &running->cell->setup,
		.progress = running->progress,
	};
	int err;

	if ((err = load_root(&root, running)) < 0 ||
	    (err = find_judging(&opts.judging, &table, running)) < 0 ||
	    (err = open_gate(&gate, running, root)) < 0 ||
	    (err = open_session(&session, running, &player)) < 0)
		return err;
	player = (struct kl_player){ .table = table, .base = root, .skill = opts.judging.skill };
	opts.root = root;
	opts.gate = gate;
	opts.session = session;
	err = kl_cell_run(&cell, &opts);
	if (err == KL_ENO)
		return kl_error_in(KL_EINVALID, "task '%s'", running->cell->task->id);
	if (err < 0 || (err = KL_FAULT("study-cell")) < 0)
		return err;
	return record_end(running, &cell);
}

int kl_running_cell(const struct kl_running *running)
{
	KL_AUTO(kl_standing_release) struct kl_standing standing = { 0 };
	int err = kl_standing_load(&standing, running->repo, running->study, running->cell);

	if (err < 0 || standing.state == KL_STANDING_ENDED)
		return err;
	return run_search(running, standing.state == KL_STANDING_BEGUN);
}
