/* SPDX-License-Identifier: Apache-2.0 */
/* skills_credit - git klineage skills credit: what cards are worth to a model */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cli/table.h"
#include "cmd/skills.h"
#include "learn/credit.h"
#include "learn/level.h"

/* --- the level of a trial by the rule of today -------------------------------------------------- */

/*
 * Get the level that the state of an earlier trial has by its code; NULL: the state is not in this
 * repository, or is no kernel that can be read.
 */
static int level_now(const char **out, struct kl_repo *repo, struct kl_level_evidence *evidence,
		     const struct kl_card_trial *trial)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	struct kl_level_state state = { .lineage = trial->lineage, .platform = trial->platform };
	struct kl_level_found found;
	git_oid tree;
	int err = kl_oid_parse(&state.commit, trial->state);

	*out = NULL;
	if (!err)
		err = kl_repo_tree_of(&tree, repo, &state.commit);
	if (!err)
		err = kl_surface_from_tree(&surface, repo, &tree, "");
	if (err < 0) {
		kl_error_clear();
		return err == KL_ENOTFOUND || err == KL_EINVALID || err == KL_ECANNOT ? 0 : err;
	}
	state.surface = surface;
	err = kl_level_find(&found, evidence, &state);
	if (!err)
		*out = kl_level_name(found.level);
	return err;
}

static json_t *trial_json(const struct kl_card *card, const struct kl_card_trial *trial,
			  const char *now)
{
	json_t *value = json_object();

	kl_json_set_str(value, "card", card->id);
	kl_json_set_str(value, "workload", trial->workload);
	kl_json_set_str(value, "state", trial->state);
	kl_json_set_str(value, "how", trial->how == KL_HOW_AGENT ? "agent" : "mechanical");
	kl_json_set_str(value, "result", trial->result == KL_RESULT_PASS ? "pass" : "fail");
	kl_json_set_int(value, "rule", trial->rule);
	kl_json_set_str(value, "level", kl_level_name(trial->level));
	kl_json_set_str(value, "level_now",
			trial->rule >= KL_TRIAL_RULE ? kl_level_name(trial->level) : now);
	return value;
}

/* Append the trials of a card, each with the level that it has by the rule of today. */
static int add_trials(json_t *list, struct kl_repo *repo, const struct kl_transitions *transitions,
		      const struct kl_card *card)
{
	struct kl_level_evidence evidence;
	int err = kl_level_evidence_load(&evidence, repo, transitions, card);

	for (size_t i = 0; !err && i < card->ver.n; i++) {
		const struct kl_card_trial *trial = &card->ver.v[i];
		const char *now = NULL;

		if (trial->retracted)
			continue;
		if (trial->rule < KL_TRIAL_RULE)
			err = level_now(&now, repo, &evidence, trial);
		if (!err)
			json_array_append_new(list, trial_json(card, trial, now));
	}
	kl_level_evidence_release(&evidence);
	return err;
}

/* --- printing ----------------------------------------------------------------------------------- */

static const char *verdict_of(const struct kl_credit_sum *sum, enum kl_credit_control control)
{
	if (!sum->units)
		return "no trial has this arm";
	if (isnan(sum->lo))
		return "no evidence either way: one workload gives no interval";
	if (sum->lo > 0)
		return control == KL_CREDIT_WRONG ? "the right card is better" :
						    "the card is better";
	if (sum->hi < 0)
		return control == KL_CREDIT_WRONG ? "the wrong card is better" :
						    "the card is worse";
	return "no evidence either way";
}

static void print_sums(const struct kl_credit *credit)
{
	static const char *const against[] = { "its intent alone", "no conditions and risks",
					       "a wrong card" };
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = 6 };

	kl_table_row(&table, (const char *[]){ "against", "trials", "workloads", "credit",
					       "interval", "" });
	for (int i = 0; i < KL_CREDIT_CONTROLS; i++) {
		const struct kl_credit_sum *sum = &credit->sum[i];
		KL_AUTO(kl_freep) char *units = kl_asprintf("%zu", sum->units);
		KL_AUTO(kl_freep) char *workloads = kl_asprintf("%zu", sum->workloads);
		KL_AUTO(kl_freep) char *mean = isnan(sum->mean) ? kl_strdup("-") :
								  kl_asprintf("%+.2f", sum->mean);
		KL_AUTO(kl_freep) char *interval = isnan(sum->lo) ? kl_strdup("-") :
								    kl_asprintf("[%+.2f, %+.2f]",
										sum->lo, sum->hi);

		kl_table_row(&table, (const char *[]){ against[i], units, workloads, mean, interval,
						       verdict_of(sum, i) });
	}
	kl_table_print(&table);
	printf("credit: ln of the card's gain less ln of the control's (+0.10: 1.105 times the "
	       "speed)\n");
	if (credit->seen)
		printf("left out: %zu trial%s of a model that could see the repository\n",
		       credit->seen, credit->seen == 1 ? "" : "s");
}

/* Tell which trials have another level by the rule of today. */
static void print_levels(const json_t *trials)
{
	size_t i;
	json_t *trial;

	json_array_foreach(trials, i, trial) {
		const char *level = kl_json_str_or(trial, "level", "");
		const char *now = kl_json_str_or(trial, "level_now", "");

		if (*now && strcmp(level, now) != 0)
			printf("%s on %s, state %.10s: recorded at %s; by its code at %s\n",
			       kl_json_str_or(trial, "card", ""),
			       kl_json_str_or(trial, "workload", ""),
			       kl_json_str_or(trial, "state", ""), level, now);
	}
}

static void set_millionths(json_t *value, const char *key, double number)
{
	if (isnan(number))
		json_object_set_new(value, key, json_null());
	else
		kl_json_set_int(value, key, (int64_t)llround(number * 1e6));
}

static json_t *sums_json(const struct kl_credit *credit)
{
	json_t *list = json_array();

	for (int i = 0; i < KL_CREDIT_CONTROLS; i++) {
		const struct kl_credit_sum *sum = &credit->sum[i];
		json_t *value = json_object();

		kl_json_set_str(value, "against", kl_credit_name(i));
		kl_json_set_int(value, "trials", (int64_t)sum->units);
		kl_json_set_int(value, "workloads", (int64_t)sum->workloads);
		kl_json_set_int(value, "won", (int64_t)sum->won);
		kl_json_set_int(value, "lost", (int64_t)sum->lost);
		set_millionths(value, "ln_ppm", sum->mean);
		set_millionths(value, "lo_ppm", sum->lo);
		set_millionths(value, "hi_ppm", sum->hi);
		kl_json_set_str(value, "says", verdict_of(sum, i));
		json_array_append_new(list, value);
	}
	return list;
}

static int add_card(struct kl_credit *credit, json_t *trials, struct kl_repo *repo,
		    struct kl_library *library, const struct kl_transitions *transitions, size_t i)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	int err = kl_library_card_at(&card, library, i);

	if (err < 0)
		return err;
	kl_credit_add(credit, card);
	return add_trials(trials, repo, transitions, card);
}

int kl_skills_credit(struct kl_repo *repo, const char *name, const struct kl_listing *out)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	KL_AUTO(kl_credit_release) struct kl_credit credit = { 0 };
	KL_AUTO(kl_transitions_release) struct kl_transitions transitions = { 0 };
	KL_AUTO(json_decrefp) json_t *trials = json_array(), *value = json_object();
	size_t at = 0;
	int err = kl_library_open(&library, repo);

	if (!err && name)
		err = kl_library_find(&at, library, name);
	if (!err)
		err = kl_transitions_load(&transitions, repo, NULL);
	for (size_t i = 0; !err && i < kl_library_count(library); i++)
		if (!name || i == at)
			err = add_card(&credit, trials, repo, library, &transitions, i);
	if (err < 0)
		return err;
	kl_credit_compute(&credit);
	if (!out->json) {
		print_sums(&credit);
		print_levels(trials);
		return 0;
	}
	kl_json_set_str(value, "schema", "klineage.credit/1");
	kl_json_set_str(value, "card", name ? kl_library_id(library, at) : NULL);
	kl_json_set(value, "credit", sums_json(&credit));
	kl_json_set_int(value, "not_isolated", (int64_t)credit.seen);
	json_object_set(value, "trials", trials);
	kl_listing_print(out, value, NULL, NULL);
	return 0;
}
