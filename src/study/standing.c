/* SPDX-License-Identifier: Apache-2.0 */
#include "study/standing.h"

#include <string.h>

#include "base/error.h"
#include "model/ledger.h"

const char *const kl_standing_name[KL_STANDING_ENDED + 1] = { "open", "begun", "ended" };

void kl_standing_release(struct kl_standing *standing)
{
	kl_links_release(&standing->chain);
	kl_ending_release(&standing->end);
	*standing = (struct kl_standing){ 0 };
}

int64_t kl_standing_best(const struct kl_standing *standing)
{
	return standing->best ? standing->chain.v[standing->best].seen.speed_ppm : KL_MILLION;
}

static void count_links(struct kl_standing *out)
{
	for (size_t i = 1; i < out->chain.n; i++) {
		const struct kl_observation *seen = &out->chain.v[i].seen;

		out->candidates += out->chain.v[i].kind == KL_TICKET_EDIT;
		if (seen->outcome != KL_OUTCOME_CORRECT)
			continue;
		out->correct++;
		if (seen->speed_ppm > kl_standing_best(out))
			out->best = seen->ticket;
	}
}

/* Check that the chain is that of this cell, from this root. */
static int check_chain(const struct kl_standing *standing, const struct kl_study_cell *cell)
{
	const json_t *json = standing->chain.cell;
	const json_t *judge = json_object_get(json, "judge");
	KL_AUTO(json_decrefp) json_t *setup = kl_setup_write(&cell->setup);
	const char *skill = cell->arm->skill ? cell->arm->skill : "";

	if (!json_equal(setup, json_object_get(json, "setup")))
		return kl_error(KL_EINVALID, "its setup is not that of the study");
	if (strcmp(kl_json_str_or(judge, "mode", "real"), cell->judge) != 0 ||
	    strcmp(kl_json_str_or(judge, "table", ""), cell->task->table) != 0 ||
	    strcmp(kl_json_str_or(judge, "skill", ""), skill) != 0)
		return kl_error(KL_EINVALID, "it was not judged as the study says");
	if (strcmp(kl_json_str_or(json, "name", ""), cell->name) != 0 ||
	    strcmp(kl_json_str_or(json, "surface", ""), cell->task->surface) != 0 ||
	    strcmp(kl_json_str_or(json, "contract", ""), cell->task->contract) != 0 ||
	    memcmp(&standing->chain.v[0].commit, &cell->task->root, sizeof(git_oid)) != 0)
		return kl_error(KL_EINVALID, "its root is not that of task '%s'", cell->task->id);
	return 0;
}

static int load_chain(struct kl_standing *out, struct kl_repo *repo,
		      const struct kl_study_cell *cell)
{
	char branch[KL_CELL_REF], ref[KL_CELL_REF];
	int err;

	kl_cell_refs(branch, ref, cell->task->workload, cell->name);
	err = kl_links_load(&out->chain, repo, ref);
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0 || (err = check_chain(out, cell)) < 0)
		return err;
	out->state = KL_STANDING_BEGUN;
	count_links(out);
	return 0;
}

static int load_end(struct kl_standing *out, struct kl_repo *repo, const struct kl_study *study,
		    const struct kl_study_cell *cell)
{
	int err = kl_ending_read(&out->end, repo, study, cell);

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	if (memcmp(&out->end.tip, &out->chain.tip, sizeof(out->end.tip)) != 0)
		return kl_error(KL_EINVALID, "its chain does not end where its end was recorded");
	out->state = KL_STANDING_ENDED;
	return 0;
}

static int load_purse(struct kl_standing *out, struct kl_repo *repo,
		      const struct kl_study_cell *cell)
{
	KL_AUTO(kl_freep) char *account = kl_ledger_account(cell->task->workload, cell->name);
	struct kl_ledger_totals totals;
	int err = kl_ledger_totals(&totals, repo, account);

	for (int i = 0; !err && i < KL_BUDGETS; i++)
		out->nano += totals.of[i].settled + totals.of[i].reserved;
	return err;
}

int kl_standing_load(struct kl_standing *out, struct kl_repo *repo, const struct kl_study *study,
		     const struct kl_study_cell *cell)
{
	int err;

	*out = (struct kl_standing){ 0 };
	if ((err = load_chain(out, repo, cell)) < 0 ||
	    (err = load_end(out, repo, study, cell)) < 0 || (err = load_purse(out, repo, cell)) < 0)
		return kl_error_in(err, "cell '%s'", cell->id);
	return 0;
}
