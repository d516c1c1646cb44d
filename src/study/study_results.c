/* SPDX-License-Identifier: Apache-2.0 */
#include "study/study_results.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "event/vocabulary.h"
#include "model/ledger.h"
#include "search/policy/number.h"
#include "study/cycle.h"

const char *const kl_validity_name[KL_VALIDITIES] = {
	"unusable", "compile",   "launch", "fault", "hang",   "wrong",
	"cheat",    "no-change", "known",  "right", "faster",
};

void kl_study_results_release(struct kl_study_results *results)
{
	for (size_t i = 0; i < results->n; i++) {
		free(results->v[i].curve);
		json_decref(results->v[i].tokens);
	}
	kl_final_release(&results->final);
	free(results->v);
	*results = (struct kl_study_results){ 0 };
}

const char *kl_study_evidence(const struct kl_study *study)
{
	if (!strcmp(study->provider, "table"))
		return "simulated";
	return !strcmp(study->judge, "real") ? "real" : "recorded";
}

/* --- validity -------------------------------------------------------------------------------- */

static enum kl_validity of_known(const struct kl_links *chain, const struct kl_cell_link *link)
{
	const git_oid *parent = &chain->v[link->seen.parent].commit;

	return memcmp(parent, &link->commit, sizeof(*parent)) ? KL_VALIDITY_KNOWN :
								KL_VALIDITY_NO_CHANGE;
}

static bool has_class(const struct kl_cell_link *link, enum kl_failure failure)
{
	return link->class_ && !strcmp(link->class_, kl_failure_name(failure));
}

static enum kl_validity validity_of(const struct kl_links *chain, const struct kl_cell_link *link)
{
	if (!strcmp(link->result, "known"))
		return of_known(chain, link);
	if (has_class(link, KL_FAILURE_CHEAT))
		return KL_VALIDITY_CHEAT;
	if (has_class(link, KL_FAILURE_NO_CHANGE))
		return KL_VALIDITY_NO_CHANGE;
	switch (link->seen.outcome) {
	case KL_OUTCOME_COMPILE:
		return KL_VALIDITY_COMPILE;
	case KL_OUTCOME_LAUNCH:
		return KL_VALIDITY_LAUNCH;
	case KL_OUTCOME_FAULT:
		return KL_VALIDITY_FAULT;
	case KL_OUTCOME_HANG:
		return KL_VALIDITY_HANG;
	case KL_OUTCOME_WRONG:
		return KL_VALIDITY_WRONG;
	case KL_OUTCOME_CORRECT:
		return link->seen.low_ppm > KL_MILLION ? KL_VALIDITY_FASTER : KL_VALIDITY_RIGHT;
	default:
		return KL_VALIDITY_UNUSABLE;
	}
}

static void count_candidates(struct kl_cell_result *out, const struct kl_links *chain)
{
	int64_t number = 0;

	for (size_t i = 1; i < chain->n; i++) {
		const struct kl_cell_link *link = &chain->v[i];

		if (link->kind != KL_TICKET_EDIT)
			continue;
		number++;
		out->valid[validity_of(chain, link)]++;
		if (link->seen.outcome != KL_OUTCOME_CORRECT)
			continue;
		if (link->seen.speed_ppm > out->best_ppm)
			out->best_ppm = link->seen.speed_ppm;
		if (!out->first_gain && link->seen.low_ppm > KL_MILLION)
			out->first_gain = number;
	}
}

/* --- money and tokens ------------------------------------------------------------------------ */

/* The phase of a conversation is "t<ticket>-<role>". Return the ticket, or -1, and the role. */
static int64_t split_phase(const char **role, const char *phase)
{
	char *end;
	long long ticket = *phase == 't' ? strtoll(phase + 1, &end, 10) : -1;

	if (ticket < 0 || end == phase + 1 || *end != '-')
		return -1;
	*role = end + 1;
	return ticket;
}

static void add_tokens(json_t *tokens, const char *role, const struct kl_usage *usage)
{
	json_t *sum = json_object_get(tokens, role);

	if (!usage->known)
		return;
	if (!sum) {
		sum = json_object();
		kl_json_set(tokens, role, sum);
	}
	kl_json_set_int(sum, "input",
			kl_json_int_or(sum, "input", 0) + usage->input + usage->cache_read +
				usage->cache_write_5m + usage->cache_write_1h);
	kl_json_set_int(sum, "cached", kl_json_int_or(sum, "cached", 0) + usage->cache_read);
	kl_json_set_int(sum, "output", kl_json_int_or(sum, "output", 0) + usage->output);
}

/* Add to nano[t] what ticket t cost, and to the tokens what each role used. */
static int add_costs(int64_t *nano, struct kl_cell_result *out, struct kl_repo *repo, size_t n)
{
	KL_AUTO(kl_freep) char *account = kl_ledger_account(out->cell.task->workload,
							    out->cell.name);
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	int err = kl_ledger_load(&ledger, repo, account);

	for (size_t i = 0; !err && i < ledger.n; i++) {
		const struct kl_ledger_entry *entry = &ledger.e[i];
		const char *role;
		int64_t ticket = split_phase(&role, entry->phase);

		if (ticket < 0 || entry->kind == KL_LEDGER_RESERVE)
			continue;
		/* a ticket whose link is missing has no candidate, but its money is gone */
		nano[(size_t)ticket < n ? (size_t)ticket : n] += kl_ledger_settled_by(entry);
		if (entry->kind == KL_LEDGER_SETTLE)
			add_tokens(out->tokens, role, &entry->usage);
	}
	return err;
}

/* --- curves ---------------------------------------------------------------------------------- */

static double gain_of(const struct kl_cell_link *link)
{
	if (link->seen.outcome != KL_OUTCOME_CORRECT || link->seen.speed_ppm <= KL_MILLION)
		return 0;
	return kl_number_log((double)link->seen.speed_ppm / KL_MILLION);
}

static void draw_curve(struct kl_cell_result *out, const struct kl_links *chain,
		       const int64_t *nano, const struct kl_study *study)
{
	size_t made = 0, most = (size_t)study->candidates;
	int64_t spent = 0;
	double best = 0;

	for (size_t i = 1; i < chain->n; i++) {
		double gain = gain_of(&chain->v[i]);

		spent += nano[i];
		if (chain->v[i].kind != KL_TICKET_EDIT)
			continue;
		best = gain > best ? gain : best;
		if (made < most)
			out->curve[made++] = best;
		for (size_t k = 1; k <= KL_DOLLAR_POINTS; k++)
			if (spent <= study->cap / KL_DOLLAR_POINTS * (int64_t)k)
				out->curve[most + k - 1] = best;
	}
	/* a cell that ended early keeps what it has */
	while (made < most)
		out->curve[made++] = best;
}

/* --- loading --------------------------------------------------------------------------------- */

static void take_final(struct kl_cell_result *out, const struct kl_standing *standing,
		       const struct kl_final *final)
{
	const struct kl_observation *best = &standing->chain.v[standing->best].seen;

	if (!standing->best)
		return;
	out->winner_ppm = best->speed_ppm;
	out->final_ppm = kl_final_median(final, out->cell.task->id, best->surface);
}

static int load_cell(struct kl_cell_result *out, struct kl_repo *repo, const struct kl_study *study,
		     const struct kl_final *final)
{
	KL_AUTO(kl_standing_release) struct kl_standing standing = { 0 };
	KL_AUTO(kl_freep) int64_t *nano = NULL;
	int err = kl_standing_load(&standing, repo, study, &out->cell);

	if (err < 0)
		return err;
	out->tokens = json_object();
	out->curve = kl_calloc((size_t)study->candidates + KL_DOLLAR_POINTS, sizeof(*out->curve));
	if (standing.state == KL_STANDING_OPEN)
		return 0;
	out->ended = standing.state == KL_STANDING_ENDED;
	out->reason = standing.end.reason;
	kl_oid_hex(out->chain, &standing.chain.tip);
	out->tickets = (int64_t)standing.chain.n - 1;
	out->candidates = standing.candidates;
	out->correct = standing.correct;
	out->nano = standing.nano;
	count_candidates(out, &standing.chain);
	take_final(out, &standing, final);
	nano = kl_calloc(standing.chain.n + 1, sizeof(*nano));
	if ((err = add_costs(nano, out, repo, standing.chain.n)) < 0 ||
	    (err = kl_cycle_count(&out->added, &out->again, repo, &standing.chain)) < 0)
		return kl_error_in(err, "cell '%s'", out->cell.id);
	draw_curve(out, &standing.chain, nano, study);
	return 0;
}

/* Find the number of seeds that have ended for every policy on every task. */
static int64_t count_balanced(const struct kl_study_results *results)
{
	const struct kl_study *study = results->study;
	size_t each = study->ntask * study->narm, i = 0;

	while (i < results->n && results->v[i].ended)
		i++;
	return (int64_t)(i / each);
}

int kl_study_results_load(struct kl_study_results *out, struct kl_repo *repo,
			  const struct kl_study *study)
{
	size_t cells = kl_study_cells(study);
	int err;

	*out = (struct kl_study_results){ .study = study };
	if ((err = kl_final_load(&out->final, repo, study)) < 0)
		return err;
	out->points = (size_t)study->candidates + KL_DOLLAR_POINTS;
	out->v = kl_calloc(cells, sizeof(*out->v));
	while (!err && out->n < cells) {
		struct kl_cell_result *cell = &out->v[out->n];

		kl_study_cell(&cell->cell, study, out->n++);
		err = load_cell(cell, repo, study, &out->final);
		out->paid = out->paid || cell->nano;
	}
	out->seeds = count_balanced(out);
	return err;
}

bool kl_study_results_is_balanced(const struct kl_study_results *results,
				  const struct kl_cell_result *cell)
{
	return cell->cell.seed <= results->seeds;
}

void kl_study_results_strata(struct kl_strata *out, const struct kl_study_results *results,
			     size_t arm)
{
	const struct kl_study *study = results->study;

	out->n = study->ntask;
	out->v = kl_calloc(study->ntask, sizeof(*out->v));
	for (size_t i = 0; i < study->ntask; i++)
		out->v[i].cell = kl_calloc((size_t)study->seeds, sizeof(*out->v[i].cell));
	for (size_t i = 0; i < results->n; i++) {
		const struct kl_cell_result *cell = &results->v[i];
		struct kl_stratum *task = &out->v[cell->cell.task - study->task];

		if (cell->cell.arm == &study->arm[arm] &&
		    kl_study_results_is_balanced(results, cell))
			task->cell[task->n++] = cell->curve;
	}
}

void kl_strata_release(struct kl_strata *strata)
{
	for (size_t i = 0; i < strata->n; i++)
		free(strata->v[i].cell);
	free(strata->v);
	*strata = (struct kl_strata){ 0 };
}
