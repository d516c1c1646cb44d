/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/study_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cli/out.h"
#include "cmd/cli/table.h"
#include "model/money.h"
#include "search/policy/number.h"
#include "search/policy/policy.h"
#include "study/inference.h"
#include "study/study_results.h"

/* --- before it runs -------------------------------------------------------------------------- */

static double least_ratio(const struct kl_study *study)
{
	return kl_inference_power((double)study->sd / KL_MILLION,
				  study->ntask * (size_t)study->seeds);
}

static void add_cannot(json_t *list, const struct kl_study_arm *arm)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;

	if (arm->setup.policy->cannot)
		arm->setup.policy->cannot(&lines, &arm->setup);
	for (size_t i = 0; i < lines.n; i++)
		json_array_append_new(list, json_sprintf("%s: %s", arm->id, lines.v[i]));
}

static json_t *start_json(const struct kl_study *study, bool dry)
{
	json_t *json = kl_study_json(study), *cannot = json_array();
	char hex[KL_OID_HEX];

	for (size_t i = 0; i < study->narm; i++)
		add_cannot(cannot, &study->arm[i]);
	kl_oid_hex(hex, &study->commit);
	kl_json_set_str(json, "schema", "klineage.study-start/1");
	kl_json_set_str(json, "evidence", kl_study_evidence(study));
	kl_json_set_int(json, "cells", (int64_t)kl_study_cells(study));
	kl_json_set_int(json, "most_nano", study->cap * (int64_t)kl_study_cells(study));
	kl_json_set_int(json, "least_ratio_ppm", (int64_t)(least_ratio(study) * 1e6 + 0.5));
	kl_json_set(json, "cannot", cannot);
	kl_json_set_str(json, "commit", dry ? NULL : hex);
	return json;
}

/* Say that no kernel is timed, if that is so. */
static void print_evidence(const struct kl_study *study)
{
	if (strcmp(study->judge, "real") != 0)
		printf("evidence: %s; the verdicts come from tables\n", kl_study_evidence(study));
}

void kl_study_print_start(const struct kl_study *study, bool json, bool dry)
{
	KL_AUTO(json_decrefp) json_t *document = start_json(study, dry);
	const json_t *cannot = json_object_get(document, "cannot");
	char each[KL_MONEY_TEXT], most[KL_MONEY_TEXT];
	size_t cells = kl_study_cells(study);

	if (json) {
		kl_listing_put(document);
		return;
	}
	kl_money_text(each, study->cap);
	kl_money_text(most, study->cap * (int64_t)cells);
	printf("study %s: %zu cells (%zu tasks, %zu policies, %" PRId64 " seeds), %" PRId64
	       " candidates in each\n",
	       study->name, cells, study->ntask, study->narm, study->seeds, study->candidates);
	print_evidence(study);
	printf("it may cost at most %s: %s for each cell, over all roles\n", most, each);
	printf("if ln(speed) differs by %.2f between seeds, two policies can be told apart if one "
	       "is %.2f times as fast as the other\n",
	       (double)study->sd / KL_MILLION, least_ratio(study));
	for (size_t i = 0; i < json_array_size(cannot); i++) {
		fputs("cannot happen: ", stdout);
		kl_out_line(stdout, json_string_value(json_array_get(cannot, i)));
		putchar('\n');
	}
	if (dry)
		puts("nothing was frozen or sent");
	else
		printf("frozen at %.10s; run it with git klineage study run %s\n",
		       kl_json_str_or(document, "commit", ""), study->name);
}

/* --- cells ----------------------------------------------------------------------------------- */

static json_t *cell_json(const struct kl_study_cell *cell, const struct kl_standing *standing)
{
	json_t *json = json_object();
	bool begun = standing->state != KL_STANDING_OPEN;
	bool ended = standing->state == KL_STANDING_ENDED;
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &standing->chain.tip);
	kl_json_set_str(json, "cell", cell->id);
	kl_json_set_str(json, "task", cell->task->id);
	kl_json_set_str(json, "policy", cell->arm->id);
	kl_json_set_int(json, "seed", cell->seed);
	kl_json_set_str(json, "state", kl_standing_name[standing->state]);
	kl_json_set_str(json, "reason", ended ? kl_end_reason_name[standing->end.reason] : NULL);
	kl_json_set_int(json, "tickets", begun ? (int64_t)standing->chain.n - 1 : 0);
	kl_json_set_int(json, "candidates", standing->candidates);
	kl_json_set_int(json, "correct", standing->correct);
	kl_json_set_int(json, "best_ppm", kl_standing_best(standing));
	kl_json_set_int(json, "spent_nano", standing->nano);
	kl_json_set_str(json, "chain", begun ? hex : NULL);
	return json;
}

static json_t *cells_json(const struct kl_study *study, struct kl_repo *repo, int *err)
{
	json_t *json = json_object(), *list = json_array();

	kl_json_set_str(json, "schema", "klineage.study-cells/1");
	kl_json_set_str(json, "study", study->name);
	for (size_t i = 0; !*err && i < kl_study_cells(study); i++) {
		KL_AUTO(kl_standing_release) struct kl_standing standing = { 0 };
		struct kl_study_cell cell;

		kl_study_cell(&cell, study, i);
		*err = kl_standing_load(&standing, repo, study, &cell);
		if (!*err)
			json_array_append_new(list, cell_json(&cell, &standing));
	}
	kl_json_set(json, "cells", list);
	kl_json_set_str(json, "evidence", kl_study_evidence(study));
	return json;
}

static void print_cell(const json_t *cell)
{
	char spent[KL_MONEY_TEXT];
	const char *reason = kl_json_str_or(cell, "reason", NULL);

	printf("%s: %s", kl_json_str_or(cell, "cell", ""), kl_json_str_or(cell, "state", ""));
	if (reason)
		printf(", %s", reason);
	if (kl_json_int_or(cell, "tickets", 0)) {
		kl_money_text(spent, kl_json_int_or(cell, "spent_nano", 0));
		printf(", %" PRId64 " candidates, %" PRId64 " correct, best %.3fx, %s",
		       kl_json_int_or(cell, "candidates", 0), kl_json_int_or(cell, "correct", 0),
		       (double)kl_json_int_or(cell, "best_ppm", 0) / 1e6, spent);
	}
	putchar('\n');
}

int kl_study_print_cells(const struct kl_study *study, struct kl_repo *repo,
			 const struct kl_listing *listing)
{
	static const char *const fields[] = { "cell",    "task",     "policy",     "seed",
					      "state",   "reason",   "tickets",    "candidates",
					      "correct", "best_ppm", "spent_nano", "chain",
					      NULL };
	int err = 0;
	KL_AUTO(json_decrefp) json_t *json = cells_json(study, repo, &err);
	const json_t *list = json_object_get(json, "cells");

	if (err < 0)
		return err;
	if (kl_listing_asked(listing)) {
		kl_listing_print(listing, json, "cells", fields);
		return 0;
	}
	for (size_t i = 0; i < json_array_size(list); i++)
		print_cell(json_array_get(list, i));
	return 0;
}

int kl_study_print_cell(const struct kl_study *study, struct kl_repo *repo,
			const struct kl_study_cell *cell)
{
	KL_AUTO(kl_standing_release) struct kl_standing standing = { 0 };
	KL_AUTO(json_decrefp) json_t *json = NULL;
	int err = kl_standing_load(&standing, repo, study, cell);

	if (err < 0)
		return err;
	json = cell_json(cell, &standing);
	print_cell(json);
	fflush(stdout);
	return 0;
}

/* --- status ---------------------------------------------------------------------------------- */

/* what the cells of a policy have done */
struct sum {
	int64_t open, begun, ended, candidates, correct, nano;
	double log; /* sum of ln(best speed) of the cells that have ended */
};

static void add_cell(struct sum *sum, const json_t *cell)
{
	const char *state = kl_json_str_or(cell, "state", "");
	double best = (double)kl_json_int_or(cell, "best_ppm", KL_MILLION) / KL_MILLION;

	sum->open += !strcmp(state, kl_standing_name[KL_STANDING_OPEN]);
	sum->begun += !strcmp(state, kl_standing_name[KL_STANDING_BEGUN]);
	if (!strcmp(state, kl_standing_name[KL_STANDING_ENDED])) {
		sum->ended++;
		sum->log += kl_number_log(best);
	}
	sum->candidates += kl_json_int_or(cell, "candidates", 0);
	sum->correct += kl_json_int_or(cell, "correct", 0);
	sum->nano += kl_json_int_or(cell, "spent_nano", 0);
}

static json_t *sum_json(const char *policy, const struct sum *sum)
{
	json_t *json = json_object();
	double mean = sum->ended ? kl_number_exp(sum->log / (double)sum->ended) : 0;

	kl_json_set_str(json, "policy", policy);
	kl_json_set_int(json, "open", sum->open);
	kl_json_set_int(json, "begun", sum->begun);
	kl_json_set_int(json, "ended", sum->ended);
	kl_json_set_int(json, "candidates", sum->candidates);
	kl_json_set_int(json, "correct", sum->correct);
	kl_json_set_int(json, "spent_nano", sum->nano);
	kl_json_set_int(json, "mean_ppm", (int64_t)(mean * 1e6 + 0.5));
	return json;
}

static void print_sums(const json_t *rows)
{
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = 7 };

	kl_table_row(&table, (const char *[]){ "policy", "ended", "begun", "open", "correct",
					       "spent", "mean of the ended" });
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		KL_AUTO(kl_strvec_release) struct kl_strvec cells = KL_STRVEC_INIT;
		char spent[KL_MONEY_TEXT];
		int64_t mean = kl_json_int_or(row, "mean_ppm", 0);

		kl_money_text(spent, kl_json_int_or(row, "spent_nano", 0));
		kl_strvec_push(&cells, kl_json_str_or(row, "policy", ""));
		kl_strvec_pushf(&cells, "%" PRId64, kl_json_int_or(row, "ended", 0));
		kl_strvec_pushf(&cells, "%" PRId64, kl_json_int_or(row, "begun", 0));
		kl_strvec_pushf(&cells, "%" PRId64, kl_json_int_or(row, "open", 0));
		kl_strvec_pushf(&cells, "%" PRId64 " of %" PRId64,
				kl_json_int_or(row, "correct", 0),
				kl_json_int_or(row, "candidates", 0));
		kl_strvec_push(&cells, spent);
		if (mean)
			kl_strvec_pushf(&cells, "%.3fx", (double)mean / 1e6);
		else
			kl_strvec_push(&cells, "-");
		kl_table_row(&table, (const char *const *)cells.v);
	}
	kl_table_print(&table);
}

int kl_study_print_status(const struct kl_study *study, struct kl_repo *repo, bool json)
{
	int err = 0;
	KL_AUTO(json_decrefp) json_t *document = cells_json(study, repo, &err);
	const json_t *cells = json_object_get(document, "cells");
	json_t *rows = json_array();

	for (size_t i = 0; i < study->narm; i++) {
		struct sum sum = { 0 };

		for (size_t k = 0; k < json_array_size(cells); k++) {
			const json_t *cell = json_array_get(cells, k);

			if (!strcmp(kl_json_str_or(cell, "policy", ""), study->arm[i].id))
				add_cell(&sum, cell);
		}
		json_array_append_new(rows, sum_json(study->arm[i].id, &sum));
	}
	kl_json_set_str(document, "schema", "klineage.study-status/1");
	kl_json_set(document, "policies", rows);
	json_object_del(document, "cells");
	if (err < 0)
		return err;
	if (json) {
		kl_listing_put(document);
		return 0;
	}
	print_evidence(study);
	print_sums(rows);
	return 0;
}
