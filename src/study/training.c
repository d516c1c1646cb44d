/* SPDX-License-Identifier: Apache-2.0 */
#include "study/training.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "model/conversation.h"
#include "study/standing.h"
#include "study/study_results.h"

const char *const kl_training_name[KL_TRAINING_FORMS] = { "sft", "sft-pairs", "rl", "kto" };

/* the cell whose rows are written */
struct writing {
	struct kl_buf *out;
	size_t *rows;
	struct kl_repo *repo;
	enum kl_training_form form;
	const char *evidence;
	struct kl_map seen; /* "<task> <surface>" of kernels that have a row */
	const struct kl_study_cell *cell;
	const struct kl_links *chain;
};

/* --- messages -------------------------------------------------------------------------------- */

static void add_message(json_t *list, const char *role, const char *text)
{
	json_t *json = json_object();

	kl_json_set_str(json, "role", role);
	kl_json_set_str(json, "content", text);
	json_array_append_new(list, json);
}

/* Return the messages up to the request of turn `last`. */
static json_t *prompt_json(const struct kl_conversation *conversation, size_t last)
{
	KL_AUTO(kl_buf_release) struct kl_buf rules = KL_BUF_INIT;
	json_t *list = json_array();

	for (size_t i = 0; i < conversation->nsystem; i++)
		kl_buf_addf(&rules, "%s%s", i ? "\n\n" : "", conversation->system[i]);
	if (rules.len)
		add_message(list, "system", rules.ptr);
	for (size_t i = 0; i <= last; i++) {
		add_message(list, "user", conversation->turn[i].user);
		if (i < last)
			add_message(list, "assistant", conversation->turn[i].reply);
	}
	return list;
}

static json_t *completion_json(const struct kl_conversation *conversation)
{
	json_t *list = json_array();

	add_message(list, "assistant", conversation->turn[conversation->n - 1].reply);
	return list;
}

/* --- rows ------------------------------------------------------------------------------------ */

static bool is_improving(const struct kl_links *chain, const struct kl_cell_link *link)
{
	const struct kl_observation *seen = &link->seen;

	return seen->outcome == KL_OUTCOME_CORRECT &&
	       seen->low_ppm > chain->v[seen->parent].seen.high_ppm;
}

static void set_source(json_t *row, const struct writing *writing, const struct kl_cell_link *link)
{
	const struct kl_cell_link *parent = &writing->chain->v[link->seen.parent];

	kl_json_set_str(row, "evidence", writing->evidence);
	kl_json_set_str(row, "task", writing->cell->task->id);
	kl_json_set_str(row, "contract", writing->cell->task->contract);
	kl_json_set_str(row, "parent", parent->seen.surface);
	kl_json_set_str(row, "surface", link->seen.surface);
	kl_json_set_str(row, "event", link->event ? link->event : "");
}

static json_t *rl_row(const struct writing *writing, const struct kl_cell_link *link,
		      const struct kl_conversation *conversation)
{
	json_t *row = json_object(), *reward = json_object(), *extra = json_object();

	kl_json_set_str(reward, "style", "rule");
	kl_json_set_str(reward, "ground_truth", writing->chain->v[link->seen.parent].seen.surface);
	set_source(extra, writing, link);
	kl_json_set_int(extra, "index", (int64_t)*writing->rows);
	kl_json_set_str(extra, "split", "train");
	kl_json_set_str(row, "data_source", "git-klineage");
	kl_json_set(row, "prompt", prompt_json(conversation, 0));
	kl_json_set_str(row, "ability", "kernel");
	kl_json_set(row, "reward_model", reward);
	kl_json_set(row, "extra_info", extra);
	return row;
}

static json_t *make_row(const struct writing *writing, const struct kl_cell_link *link,
			const struct kl_conversation *conversation)
{
	json_t *row, *prompt;

	if (writing->form == KL_TRAINING_RL)
		return rl_row(writing, link, conversation);
	row = json_object();
	prompt = prompt_json(conversation, conversation->n - 1);
	if (writing->form == KL_TRAINING_SFT) {
		add_message(prompt, "assistant", conversation->turn[conversation->n - 1].reply);
		kl_json_set(row, "messages", prompt);
	} else {
		kl_json_set(row, "prompt", prompt);
		kl_json_set(row, "completion", completion_json(conversation));
	}
	if (writing->form == KL_TRAINING_KTO)
		kl_json_set_bool(row, "label", is_improving(writing->chain, link));
	set_source(row, writing, link);
	return row;
}

/* Return true if the kernel of a link has a row already; if not, note that it has one now. */
static bool is_repeated(struct writing *writing, const struct kl_cell_link *link)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("%s %s", writing->cell->task->id,
						  link->seen.surface);

	return kl_map_put(&writing->seen, key, writing) != NULL;
}

static bool is_wanted(struct writing *writing, const struct kl_cell_link *link)
{
	if (link->kind != KL_TICKET_EDIT || !kl_observation_is_candidate(&link->seen) ||
	    !strcmp(link->result, "known"))
		return false;
	if (writing->form == KL_TRAINING_SFT || writing->form == KL_TRAINING_PAIRS)
		return is_improving(writing->chain, link) && !is_repeated(writing, link);
	return writing->form == KL_TRAINING_RL || !is_repeated(writing, link);
}

/* Write the row of a ticket whose edit `role` made. */
static int write_row(struct writing *writing, const struct kl_cell_link *link, const char *role)
{
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
	KL_AUTO(kl_freep) char *phase = kl_asprintf("t%" PRId64 "-%s", link->seen.ticket, role);
	KL_AUTO(json_decrefp) json_t *row = NULL;
	int err = kl_conversation_load(&conversation, writing->repo, writing->cell->task->workload,
				       writing->cell->name, phase);

	if (err < 0)
		return err;
	if (!conversation.n)
		return kl_error(KL_ENOTFOUND, "'%s' is not in this repository", conversation.ref);
	row = make_row(writing, link, &conversation);
	kl_json_canonical(writing->out, row);
	kl_buf_addch(writing->out, '\n');
	++*writing->rows;
	return 0;
}

/* Fold the chain again, since only the policy knows which role made the edit of a ticket. */
static int write_cell(struct writing *writing)
{
	const struct kl_setup *setup = &writing->cell->setup;
	struct kl_experience seen;
	int err = 0;

	kl_experience_init(&seen, setup);
	for (size_t i = 1; !err && i < writing->chain->n; i++) {
		KL_AUTO(kl_intent_release) struct kl_intent intent = { 0 };
		int64_t horizon = setup->policy->horizon(setup, (int64_t)i);

		while (seen.n <= horizon)
			kl_experience_add(&seen, &writing->chain->v[seen.n].seen);
		kl_experience_propose(&intent, &seen, (int64_t)i);
		if (intent.nrole && is_wanted(writing, &writing->chain->v[i]))
			err = write_row(writing, &writing->chain->v[i],
					intent.role[intent.nrole - 1]);
	}
	kl_experience_release(&seen);
	return err;
}

int kl_training_write(struct kl_buf *out, size_t *rows, struct kl_repo *repo,
		      const struct kl_study *study, enum kl_training_form form,
		      const struct kl_strvec *holdout)
{
	struct writing writing = { .out = out,
				   .rows = rows,
				   .repo = repo,
				   .form = form,
				   .evidence = kl_study_evidence(study) };
	int err = 0;

	*rows = 0;
	for (size_t i = 0; !err && i < kl_study_cells(study); i++) {
		KL_AUTO(kl_standing_release) struct kl_standing standing = { 0 };
		struct kl_study_cell cell;

		kl_study_cell(&cell, study, i);
		if (kl_strvec_has(holdout, cell.task->id))
			continue;
		err = kl_standing_load(&standing, repo, study, &cell);
		if (err < 0 || standing.state != KL_STANDING_ENDED)
			continue;
		writing.cell = &cell;
		writing.chain = &standing.chain;
		if ((err = kl_links_check(&standing.chain, &cell.setup)) < 0 ||
		    (err = write_cell(&writing)) < 0)
			err = kl_error_in(err, "cell '%s'", cell.id);
	}
	kl_map_release(&writing.seen);
	return err;
}
