/* SPDX-License-Identifier: Apache-2.0 */
#include "study/study_report.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "search/policy/draw.h"
#include "search/policy/number.h"

/* A policy is called better only if Holm's p-value is below this. */
#define ALPHA 0.05

static int64_t to_ppm(double value)
{
	return (int64_t)(value * KL_MILLION + 0.5);
}

/* ln(speed) as a speed in millionths */
static int64_t speed_ppm(double gain)
{
	return to_ppm(kl_number_exp(gain));
}

static void set_band(json_t *json, const struct kl_band *band)
{
	kl_json_set_int(json, "speed_ppm", speed_ppm(band->mid));
	kl_json_set_int(json, "lo_ppm", speed_ppm(band->lo));
	kl_json_set_int(json, "hi_ppm", speed_ppm(band->hi));
}

/* --- cells ----------------------------------------------------------------------------------- */

static json_t *cell_json(const struct kl_study_results *results, const struct kl_cell_result *cell)
{
	json_t *json = json_object(), *valid = json_object();

	for (int i = 0; i < KL_VALIDITIES; i++)
		kl_json_set_int(valid, kl_validity_name[i], cell->valid[i]);
	kl_json_set_str(json, "cell", cell->cell.id);
	kl_json_set_str(json, "task", cell->cell.task->id);
	kl_json_set_str(json, "policy", cell->cell.arm->id);
	kl_json_set_int(json, "seed", cell->cell.seed);
	kl_json_set_str(json, "reason", cell->ended ? kl_end_reason_name[cell->reason] : NULL);
	kl_json_set_bool(json, "balanced", kl_study_results_is_balanced(results, cell));
	kl_json_set_int(json, "tickets", cell->tickets);
	kl_json_set_int(json, "candidates", cell->candidates);
	kl_json_set_int(json, "correct", cell->correct);
	kl_json_set_int(json, "best_ppm", cell->best_ppm);
	kl_json_set_int(json, "final_ppm", cell->final_ppm);
	kl_json_set_int(json, "first_gain", cell->first_gain);
	kl_json_set_int(json, "spent_nano", cell->nano);
	kl_json_set_int(json, "added", cell->added);
	kl_json_set_int(json, "again", cell->again);
	kl_json_set(json, "validity", valid);
	kl_json_set(json, "tokens", json_deep_copy(cell->tokens));
	kl_json_set_str(json, "chain", *cell->chain ? cell->chain : NULL);
	return json;
}

/* --- sums over the balanced cells of an arm -------------------------------------------------- */

struct sum {
	int64_t cells, candidates, correct, nano, added, again, found, gained, first_gain;
	double found_log;
	/* of the cells with a final measurement: their speeds, their part of the claimed speed, and
	 * of those whose task has an expert the part of the expert's speed */
	int64_t finals, experts;
	double final_log, shrink_log, expert_log;
	int64_t valid[KL_VALIDITIES];
	int64_t above[KL_STUDY_THRESHOLDS];
	json_t *tokens;
};

static void add_tokens(json_t *to, const json_t *from)
{
	const char *role, *key;
	json_t *count, *number;

	json_object_foreach((json_t *)from, role, count) {
		json_t *sum = json_object_get(to, role);

		if (!sum) {
			kl_json_set(to, role, json_deep_copy(count));
			continue;
		}
		json_object_foreach(count, key, number)
			kl_json_set_int(sum, key,
					kl_json_int_or(sum, key, 0) + json_integer_value(number));
	}
}

/* `expert` is the speed of the task's expert in the final measurements, or 0. */
static void add_cell(struct sum *sum, const struct kl_cell_result *cell,
		     const struct kl_thresholds *threshold, int64_t expert)
{
	sum->cells++;
	sum->candidates += cell->candidates;
	sum->correct += cell->correct;
	sum->nano += cell->nano;
	sum->added += cell->added;
	sum->again += cell->again;
	if (cell->best_ppm) {
		sum->found++;
		sum->found_log += kl_number_log((double)cell->best_ppm / KL_MILLION);
	}
	if (cell->final_ppm) {
		double final = kl_number_log((double)cell->final_ppm / KL_MILLION);

		sum->finals++;
		sum->final_log += final;
		sum->shrink_log += final - kl_number_log((double)cell->winner_ppm / KL_MILLION);
		if (expert) {
			sum->experts++;
			sum->expert_log += final - kl_number_log((double)expert / KL_MILLION);
		}
	}
	if (cell->first_gain) {
		sum->gained++;
		sum->first_gain += cell->first_gain;
	}
	for (int i = 0; i < KL_VALIDITIES; i++)
		sum->valid[i] += cell->valid[i];
	for (size_t i = 0; i < threshold->n; i++)
		sum->above[i] += cell->best_ppm > threshold->v[i];
	add_tokens(sum->tokens, cell->tokens);
}

static struct sum sum_arm(const struct kl_study_results *results, size_t arm)
{
	const struct kl_study *study = results->study;
	struct sum sum = { .tokens = json_object() };

	for (size_t i = 0; i < results->n; i++)
		if (results->v[i].cell.arm == &study->arm[arm] &&
		    kl_study_results_is_balanced(results, &results->v[i]))
			add_cell(&sum, &results->v[i], &study->threshold,
				 kl_final_median(&results->final, results->v[i].cell.task->id,
						 NULL));
	return sum;
}

static json_t *fast_json(const struct sum *sum, const struct kl_thresholds *threshold)
{
	json_t *list = json_array();

	for (size_t i = 0; i < threshold->n; i++) {
		json_t *json = json_object();

		kl_json_set_int(json, "p_ppm", threshold->v[i]);
		kl_json_set_int(json, "cells", sum->above[i]);
		json_array_append_new(list, json);
	}
	return list;
}

/* Set a geometric mean in millionths, or null if there is none. */
static void set_mean(json_t *json, const char *key, double log, int64_t n)
{
	if (n)
		kl_json_set_int(json, key, speed_ppm(log / (double)n));
	else
		kl_json_set(json, key, json_null());
}

static void set_sum(json_t *json, struct sum *sum, const struct kl_thresholds *threshold)
{
	json_t *valid = json_object();
	double found = sum->found ? kl_number_exp(sum->found_log / (double)sum->found) : 0;

	for (int i = 0; i < KL_VALIDITIES; i++)
		kl_json_set_int(valid, kl_validity_name[i], sum->valid[i]);
	kl_json_set_int(json, "cells", sum->cells);
	kl_json_set_int(json, "candidates", sum->candidates);
	kl_json_set_int(json, "correct", sum->correct);
	kl_json_set_int(json, "spent_nano", sum->nano);
	kl_json_set_int(json, "added", sum->added);
	kl_json_set_int(json, "again", sum->again);
	kl_json_set_int(json, "found", sum->found);
	kl_json_set_int(json, "found_ppm", to_ppm(found));
	set_mean(json, "final_ppm", sum->final_log, sum->finals);
	set_mean(json, "shrink_ppm", sum->shrink_log, sum->finals);
	set_mean(json, "expert_ppm", sum->expert_log, sum->experts);
	kl_json_set_int(json, "finals", sum->finals);
	kl_json_set_int(json, "gained", sum->gained);
	kl_json_set_int(json, "first_gain_ppm",
			sum->gained ? sum->first_gain * KL_MILLION / sum->gained : 0);
	kl_json_set(json, "validity", valid);
	kl_json_set(json, "fast", fast_json(sum, threshold));
	kl_json_set(json, "tokens", sum->tokens);
}

/* --- policies -------------------------------------------------------------------------------- */

static json_t *curve_json(const struct kl_study_results *results, const struct kl_band *band)
{
	const struct kl_study *study = results->study;
	size_t most = (size_t)study->candidates;
	size_t n = results->paid ? results->points : most;
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *json = json_object();

		if (i < most)
			kl_json_set_int(json, "candidates", (int64_t)i + 1);
		else
			kl_json_set_int(json, "nano",
					study->cap / KL_DOLLAR_POINTS * (int64_t)(i - most + 1));
		set_band(json, &band[i]);
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *tasks_json(const struct kl_study_results *results, const struct kl_strata *strata)
{
	size_t last = (size_t)results->study->candidates - 1;
	json_t *list = json_array();

	for (size_t i = 0; i < strata->n; i++) {
		struct kl_strata one = { &strata->v[i], 1 };
		json_t *json = json_object();

		kl_json_set_str(json, "task", results->study->task[i].id);
		kl_json_set_int(json, "speed_ppm", speed_ppm(kl_inference_mean(&one, last)));
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *policy_json(const struct kl_study_results *results, const struct kl_strata *strata,
			   size_t arm, const char *key)
{
	const struct kl_study *study = results->study;
	KL_AUTO(kl_freep) struct kl_band *band = kl_calloc(results->points, sizeof(*band));
	struct sum sum = sum_arm(results, arm);
	json_t *json = json_object();

	kl_inference_bands(band, strata, results->points, key, study->arm[arm].id);
	kl_json_set_str(json, "policy", study->arm[arm].id);
	set_band(json, &band[study->candidates - 1]);
	kl_json_set(json, "tasks", tasks_json(results, strata));
	kl_json_set(json, "curve", curve_json(results, band));
	set_sum(json, &sum, &study->threshold);
	return json;
}

/* --- pairs ----------------------------------------------------------------------------------- */

static json_t *pair_json(const struct kl_study *study, size_t first, size_t second,
			 const struct kl_better *better)
{
	json_t *json = json_object();

	kl_json_set_str(json, "first", study->arm[first].id);
	kl_json_set_str(json, "second", study->arm[second].id);
	kl_json_set_int(json, "better_ppm", to_ppm(better->band.mid));
	kl_json_set_int(json, "lo_ppm", to_ppm(better->band.lo));
	kl_json_set_int(json, "hi_ppm", to_ppm(better->band.hi));
	kl_json_set_int(json, "p_ppm", to_ppm(better->p));
	return json;
}

/* Add Holm's p-values, and which policy of each pair is better, if any can be said to be. */
static void correct_pairs(json_t *pairs, double *p)
{
	kl_inference_holm(p, json_array_size(pairs));
	for (size_t i = 0; i < json_array_size(pairs); i++) {
		json_t *json = json_array_get(pairs, i);
		int64_t half = KL_MILLION / 2, lo = kl_json_int_or(json, "lo_ppm", 0);
		bool first = lo > half;
		bool apart = first || kl_json_int_or(json, "hi_ppm", 0) < half;

		kl_json_set_int(json, "holm_ppm", to_ppm(p[i]));
		kl_json_set_str(json, "better",
				apart && p[i] < ALPHA ?
					kl_json_str_or(json, first ? "first" : "second", NULL) :
					NULL);
	}
}

static json_t *pairs_json(const struct kl_study_results *results, const struct kl_strata *strata,
			  const char *key)
{
	const struct kl_study *study = results->study;
	KL_AUTO(kl_freep) double *p = kl_calloc(study->narm * study->narm, sizeof(*p));
	size_t last = (size_t)study->candidates - 1, n = 0;
	json_t *list = json_array();

	for (size_t i = 0; i < study->narm; i++)
		for (size_t k = i + 1; k < study->narm; k++) {
			KL_AUTO(kl_freep) char *label = kl_asprintf("%s/%s", study->arm[i].id,
								    study->arm[k].id);
			struct kl_better better;

			kl_inference_better(&better, &strata[i], &strata[k], last, key, label);
			json_array_append_new(list, pair_json(study, i, k, &better));
			p[n++] = better.p;
		}
	correct_pairs(list, p);
	return list;
}

/* --- the document ---------------------------------------------------------------------------- */

/*
 * Set the standard deviation of ln(speed) between seeds, pooled over the policies, and the smallest
 * ratio of speeds that the study can detect with it.
 */
static void set_power(json_t *json, const struct kl_study_results *results,
		      const struct kl_strata *strata)
{
	const struct kl_study *study = results->study;
	size_t last = (size_t)study->candidates - 1, n = 0;
	double squares = 0;

	for (size_t i = 0; i < study->narm; i++) {
		double sd = kl_inference_sd(&strata[i], last);

		squares += sd > 0 ? sd * sd : 0;
		n += sd >= 0;
	}
	if (!n) {
		kl_json_set(json, "sd_ppm", json_null());
		kl_json_set(json, "least_ratio_ppm", json_null());
		return;
	}
	squares = kl_number_sqrt(squares / (double)n);
	kl_json_set_int(json, "sd_ppm", to_ppm(squares));
	kl_json_set_int(json, "least_ratio_ppm",
			to_ppm(kl_inference_power(squares, study->ntask * (size_t)results->seeds)));
}

static void set_figures(json_t *json, const struct kl_study_results *results)
{
	const struct kl_study *study = results->study;
	KL_AUTO(kl_freep) struct kl_strata *strata = kl_calloc(study->narm, sizeof(*strata));
	json_t *policies = json_array();
	char key[KL_DIGEST_HEX];

	kl_draw_key(key, study->name, "report", "bootstrap", 0);
	for (size_t i = 0; i < study->narm; i++) {
		kl_study_results_strata(&strata[i], results, i);
		json_array_append_new(policies, policy_json(results, &strata[i], i, key));
	}
	kl_json_set(json, "policies", policies);
	kl_json_set(json, "pairs", pairs_json(results, strata, key));
	set_power(json, results, strata);
	for (size_t i = 0; i < study->narm; i++)
		kl_strata_release(&strata[i]);
}

json_t *kl_study_report_json(const struct kl_study_results *results)
{
	const struct kl_study *study = results->study;
	json_t *json = json_object(), *cells = json_array();
	int64_t ended = 0;
	char hex[KL_OID_HEX];

	for (size_t i = 0; i < results->n; i++) {
		ended += results->v[i].ended;
		json_array_append_new(cells, cell_json(results, &results->v[i]));
	}
	kl_oid_hex(hex, &study->commit);
	kl_json_set_str(json, "schema", "klineage.study-report/1");
	kl_json_set_str(json, "study", study->name);
	kl_json_set_str(json, "commit", hex);
	kl_json_set_str(json, "evidence", kl_study_evidence(study));
	kl_json_set_str(json, "provider", study->provider);
	kl_json_set_str(json, "model", study->model);
	kl_json_set_int(json, "tasks", (int64_t)study->ntask);
	kl_json_set_int(json, "seeds", results->seeds);
	kl_json_set_int(json, "planned_seeds", study->seeds);
	kl_json_set_int(json, "candidates", study->candidates);
	kl_json_set_int(json, "cap_nano", study->cap);
	kl_json_set_int(json, "ended", ended);
	kl_json_set(json, "cells", cells);
	set_figures(json, results);
	return json;
}
