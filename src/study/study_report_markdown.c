/* SPDX-License-Identifier: Apache-2.0 */
/* study_report_markdown - writes the report of a study as Markdown */
#include <inttypes.h>
#include <string.h>

#include "model/money.h"
#include "study/study_report.h"

static double ppm_of(const json_t *json, const char *key)
{
	return (double)kl_json_int_or(json, key, 0) / 1e6;
}

static double share_of(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void add_evidence(struct kl_buf *out, const char *evidence)
{
	if (!strcmp(evidence, "real"))
		return;
	kl_buf_adds(out, "No kernel was timed for these figures: the verdicts come from tables. ");
	if (!strcmp(evidence, "simulated"))
		kl_buf_adds(out, "The model is simulated, so they show how policies behave, not "
				 "what a language model does. ");
	kl_buf_adds(out, "They cannot be compared with those of a real study.\n\n");
}

static void add_head(struct kl_buf *out, const json_t *report)
{
	int64_t seeds = kl_json_int_or(report, "seeds", 0);
	int64_t planned = kl_json_int_or(report, "planned_seeds", 0);

	kl_buf_addf(out, "# Study %s\n\nEvidence: **%s**. ", kl_json_str_or(report, "study", ""),
		    kl_json_str_or(report, "evidence", ""));
	kl_buf_addf(out,
		    "%zu policies, %" PRId64 " tasks, %" PRId64 " of %" PRId64 " seeds, %" PRId64
		    " candidates in each cell; model: %s%s%s. Plan: `%.12s`.\n\n",
		    json_array_size(json_object_get(report, "policies")),
		    kl_json_int_or(report, "tasks", 0), seeds, planned,
		    kl_json_int_or(report, "candidates", 0), kl_json_str_or(report, "provider", ""),
		    kl_json_str_or(report, "model", NULL) ? " " : "",
		    kl_json_str_or(report, "model", ""), kl_json_str_or(report, "commit", ""));
	add_evidence(out, kl_json_str_or(report, "evidence", ""));
	if (seeds < planned)
		kl_buf_addf(out,
			    "The study is not complete: %" PRId64 " of %zu cells have ended. The "
			    "figures are from the seeds that every policy has ended on every "
			    "task.\n\n",
			    kl_json_int_or(report, "ended", 0),
			    json_array_size(json_object_get(report, "cells")));
}

static void add_speeds(struct kl_buf *out, const json_t *policies)
{
	kl_buf_adds(out, "## Speed of the best kernel\n\n"
			 "Relative to the root, at least 1 because the root can be kept: geometric "
			 "mean over the tasks, each the mean over its seeds, with a 95 % bootstrap "
			 "band over seeds within tasks. *Found* is the mean without that floor, of "
			 "the cells that found a correct kernel.\n\n"
			 "| policy | speed | band | found | cells | first gain | spent |\n"
			 "| --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < json_array_size(policies); i++) {
		const json_t *row = json_array_get(policies, i);
		char spent[KL_MONEY_TEXT];

		kl_money_text(spent, kl_json_int_or(row, "spent_nano", 0));
		kl_buf_addf(out, "| %s | %.3fx | %.3f-%.3f | %.3fx | %" PRId64 " of %" PRId64 " | ",
			    kl_json_str_or(row, "policy", ""), ppm_of(row, "speed_ppm"),
			    ppm_of(row, "lo_ppm"), ppm_of(row, "hi_ppm"), ppm_of(row, "found_ppm"),
			    kl_json_int_or(row, "found", 0), kl_json_int_or(row, "cells", 0));
		if (kl_json_int_or(row, "gained", 0))
			kl_buf_addf(out, "candidate %.1f |", ppm_of(row, "first_gain_ppm"));
		else
			kl_buf_adds(out, "never |");
		kl_buf_addf(out, " %s |\n", spent);
	}
}

static void add_tasks(struct kl_buf *out, const json_t *policies)
{
	const json_t *tasks = json_object_get(json_array_get(policies, 0), "tasks");

	kl_buf_adds(out, "\n## Speed by task\n\n| policy |");
	for (size_t i = 0; i < json_array_size(tasks); i++)
		kl_buf_addf(out, " %s |", kl_json_str_or(json_array_get(tasks, i), "task", ""));
	kl_buf_adds(out, "\n| --- |");
	for (size_t i = 0; i < json_array_size(tasks); i++)
		kl_buf_adds(out, " --- |");
	for (size_t i = 0; i < json_array_size(policies); i++) {
		const json_t *row = json_array_get(policies, i);

		tasks = json_object_get(row, "tasks");
		kl_buf_addf(out, "\n| %s |", kl_json_str_or(row, "policy", ""));
		for (size_t k = 0; k < json_array_size(tasks); k++)
			kl_buf_addf(out, " %.3fx |", ppm_of(json_array_get(tasks, k), "speed_ppm"));
	}
	kl_buf_addch(out, '\n');
}

/* Print a geometric mean, or a dash if nothing was measured. */
static void add_mean(struct kl_buf *out, const json_t *row, const char *key)
{
	if (json_is_integer(json_object_get(row, key)))
		kl_buf_addf(out, " %.3fx |", ppm_of(row, key));
	else
		kl_buf_adds(out, " - |");
}

static void add_final(struct kl_buf *out, const json_t *policies, bool real)
{
	bool measured = false;

	for (size_t i = 0; i < json_array_size(policies); i++)
		measured = measured || kl_json_int_or(json_array_get(policies, i), "finals", 0) > 0;
	if (!real)
		return;
	if (!measured) {
		kl_buf_adds(out, "\nThe winners have not been measured again yet (`git klineage "
				 "study final`). The best of many noisy measurements looks faster "
				 "than it is, so the speeds above are biased upward.\n");
		return;
	}
	kl_buf_adds(out, "\n## Winners measured again\n\nApart from the searches that chose them: "
			 "geometric means of the medians of all rounds. *Kept* is the part of the "
			 "speed that the search claimed; *of the expert* compares with the last "
			 "state of the task's lineage.\n\n"
			 "| policy | winners | speed | kept | of the expert |\n"
			 "| --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < json_array_size(policies); i++) {
		const json_t *row = json_array_get(policies, i);

		kl_buf_addf(out, "| %s | %" PRId64 " |", kl_json_str_or(row, "policy", ""),
			    kl_json_int_or(row, "finals", 0));
		add_mean(out, row, "final_ppm");
		add_mean(out, row, "shrink_ppm");
		add_mean(out, row, "expert_ppm");
		kl_buf_addch(out, '\n');
	}
}

static void add_pairs(struct kl_buf *out, const json_t *pairs)
{
	if (!json_array_size(pairs))
		return;
	kl_buf_adds(out, "\n## Which policy is better\n\n"
			 "The probability that a cell of the first policy ends faster than one of "
			 "the second on the same task, ties one half. A policy is called better "
			 "only if the band excludes one half and Holm's p-value over all pairs is "
			 "below 0.05.\n\n"
			 "| first | second | probability | band | p, Holm | better |\n"
			 "| --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < json_array_size(pairs); i++) {
		const json_t *row = json_array_get(pairs, i);

		kl_buf_addf(out, "| %s | %s | %.3f | %.3f-%.3f | %.4f | %s |\n",
			    kl_json_str_or(row, "first", ""), kl_json_str_or(row, "second", ""),
			    ppm_of(row, "better_ppm"), ppm_of(row, "lo_ppm"), ppm_of(row, "hi_ppm"),
			    ppm_of(row, "holm_ppm"),
			    kl_json_str_or(row, "better", "cannot be told"));
	}
}

static void add_fast(struct kl_buf *out, const json_t *policies)
{
	const json_t *fast = json_object_get(json_array_get(policies, 0), "fast");

	kl_buf_adds(out, "\n## fast_p\n\nThe share of cells whose best kernel is correct and more "
			 "than p times as fast as the root.\n\n| policy |");
	for (size_t i = 0; i < json_array_size(fast); i++)
		kl_buf_addf(out, " p = %g |", ppm_of(json_array_get(fast, i), "p_ppm"));
	kl_buf_adds(out, "\n| --- |");
	for (size_t i = 0; i < json_array_size(fast); i++)
		kl_buf_adds(out, " --- |");
	for (size_t i = 0; i < json_array_size(policies); i++) {
		const json_t *row = json_array_get(policies, i);

		fast = json_object_get(row, "fast");
		kl_buf_addf(out, "\n| %s |", kl_json_str_or(row, "policy", ""));
		for (size_t k = 0; k < json_array_size(fast); k++)
			kl_buf_addf(out, " %.0f %% |",
				    share_of(kl_json_int_or(json_array_get(fast, k), "cells", 0),
					     kl_json_int_or(row, "cells", 0)));
	}
	kl_buf_addch(out, '\n');
}

static void add_validity(struct kl_buf *out, const json_t *policies)
{
	kl_buf_adds(out, "\n## What became of the candidates\n\nShares in percent; *again*: of the "
			 "lines that candidates added, those that an ancestor had removed.\n\n"
			 "| policy | candidates |");
	for (int i = 0; i < KL_VALIDITIES; i++)
		kl_buf_addf(out, " %s |", kl_validity_name[i]);
	kl_buf_adds(out, " again |\n| --- | --- |");
	for (int i = 0; i <= KL_VALIDITIES; i++)
		kl_buf_adds(out, " --- |");
	for (size_t i = 0; i < json_array_size(policies); i++) {
		const json_t *row = json_array_get(policies, i);
		const json_t *valid = json_object_get(row, "validity");
		int64_t candidates = kl_json_int_or(row, "candidates", 0);

		kl_buf_addf(out, "\n| %s | %" PRId64 " |", kl_json_str_or(row, "policy", ""),
			    candidates);
		for (int k = 0; k < KL_VALIDITIES; k++)
			kl_buf_addf(out, " %.0f |",
				    share_of(kl_json_int_or(valid, kl_validity_name[k], 0),
					     candidates));
		kl_buf_addf(out, " %.0f |",
			    share_of(kl_json_int_or(row, "again", 0),
				     kl_json_int_or(row, "added", 0)));
	}
	kl_buf_addch(out, '\n');
}

static void add_tokens(struct kl_buf *out, const json_t *policies)
{
	kl_buf_adds(out, "\n## Tokens\n\n| policy | role | input | of it cached | output |\n"
			 "| --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < json_array_size(policies); i++) {
		const json_t *row = json_array_get(policies, i);
		const char *role;
		json_t *count;

		json_object_foreach(json_object_get(row, "tokens"), role, count) {
			int64_t input = kl_json_int_or(count, "input", 0);

			kl_buf_addf(out, "| %s | %s | %" PRId64 " | %.0f %% | %" PRId64 " |\n",
				    kl_json_str_or(row, "policy", ""), role, input,
				    share_of(kl_json_int_or(count, "cached", 0), input),
				    kl_json_int_or(count, "output", 0));
		}
	}
}

static void add_power(struct kl_buf *out, const json_t *report)
{
	kl_buf_adds(out, "\n## What this study can tell\n\n");
	if (json_is_integer(json_object_get(report, "sd_ppm")))
		kl_buf_addf(out,
			    "ln(speed) differs by %.3f between seeds. So many seeds and tasks tell "
			    "two policies apart with a probability of 80 %% if one is %.2f times "
			    "as fast as the other. Whoever is closer than that is not compared by "
			    "this study.\n",
			    ppm_of(report, "sd_ppm"), ppm_of(report, "least_ratio_ppm"));
	else
		kl_buf_adds(out, "With one seed it is not known how much the results differ "
				 "between seeds, so nothing can be told apart.\n");
}

void kl_study_report_markdown(struct kl_buf *out, const json_t *report)
{
	const json_t *policies = json_object_get(report, "policies");

	add_head(out, report);
	if (!kl_json_int_or(report, "seeds", 0)) {
		kl_buf_adds(out, "There are no figures yet: no seed has ended for every policy on "
				 "every task.\n");
		return;
	}
	add_speeds(out, policies);
	add_tasks(out, policies);
	add_final(out, policies, !strcmp(kl_json_str_or(report, "evidence", ""), "real"));
	add_pairs(out, json_object_get(report, "pairs"));
	add_fast(out, policies);
	add_validity(out, policies);
	add_tokens(out, policies);
	add_power(out, report);
}
