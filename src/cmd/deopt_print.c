/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/deopt_print.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cli/listing.h"
#include "cmd/estimate_print.h"
#include "model/money.h"

/* --- status ----------------------------------------------------------------------- */

/*
 * Print the bundle of a walk that awaits results, and the commands to run its jobs and to resume.
 */
static void print_awaiting(const json_t *what, const char *indent)
{
	printf("%srun there  %s\n%s           on %s\n%sand then   git klineage gate --import "
	       "<results> && "
	       "git klineage deopt --continue\n",
	       indent, kl_json_str_or(what, "command", "?"), indent,
	       kl_json_str_or(what, "file", "?"), indent);
}

static void print_candidates(const json_t *what)
{
	size_t i;
	json_t *candidate;

	printf("  awaits    the results of %lld job%s\n",
	       (long long)kl_json_int_or(what, "jobs", 0),
	       kl_json_int_or(what, "jobs", 0) == 1 ? "" : "s");
	json_array_foreach(json_object_get(what, "candidates"), i, candidate)
		printf("    %.12s  %s%s%s%s\n", kl_json_str_or(candidate, "surface", "?"),
		       kl_json_str_or(candidate, "action", "?"),
		       *kl_json_str_or(candidate, "locus", "") ? " in " : "",
		       kl_json_str_or(candidate, "locus", ""),
		       kl_json_bool_or(candidate, "alternative", false) ?
			       ", if another is rejected" :
			       "");
	print_awaiting(what, "  ");
}

/* Print the current attempt to re-derive the last step. */
static void print_derivation(const struct kl_walk *walk)
{
	const json_t *step = kl_walk_step(walk);

	printf("  rederives %s in %s, step %zu, attempt %zu\n",
	       *kl_json_str_or(step, "mechanism", "") ? kl_json_str_or(step, "mechanism", "") :
							kl_json_str_or(step, "action", "?"),
	       kl_json_str_or(step, "locus", "?"), json_array_size(kl_walk_steps(walk)),
	       json_array_size(json_object_get(step, "attempts")) + 1);
}

/*
 * Read how much this workload's walks have cost so far, and the cap. Return false if the walk has
 * no model or the ledger cannot be read.
 */
static bool has_money(int64_t *spent, int64_t *cap, const struct kl_walk *walk,
		      struct kl_deopt_model *model)
{
	struct kl_session *session;
	bool ok = model->who &&
		  !kl_deopt_model_look(&session, model, kl_walk_str(walk, "workload")) &&
		  !kl_session_money(spent, cap, session);

	kl_error_clear();
	return ok;
}

static void print_status_json(const struct kl_walk *walk, struct kl_deopt_model *model)
{
	KL_AUTO(json_decrefp) json_t *value = json_deep_copy(walk->state);
	int64_t spent, cap;

	if (has_money(&spent, &cap, walk, model)) {
		json_t *money = json_object();

		kl_json_set_int(money, "spent", spent);
		kl_json_set_int(money, "cap", cap);
		kl_json_set(value, "money", money);
	}
	kl_listing_put(value);
}

static void print_money(int64_t spent, int64_t cap)
{
	char spent_text[KL_MONEY_TEXT], cap_text[KL_MONEY_TEXT];

	kl_money_text(spent_text, spent);
	kl_money_text(cap_text, cap);
	printf("  spent     %s of %s\n", spent_text, cap_text);
}

int kl_deopt_print_status(const struct kl_walk *walk, struct kl_deopt_model *model, bool json)
{
	const json_t *pending = kl_walk_pending(walk);
	const char *phase = kl_walk_str(walk, "phase");
	int64_t spent, cap;

	if (json) {
		print_status_json(walk, model);
		return 0;
	}
	printf("deopt of %s, expert %.7s: %zu step%s accepted, %zu rejected\n",
	       kl_walk_str(walk, "workload"), kl_walk_str(walk, "expert"),
	       json_array_size(kl_walk_steps(walk)),
	       json_array_size(kl_walk_steps(walk)) == 1 ? "" : "s",
	       json_array_size(kl_walk_rejections(walk)));
	printf("  phase     %s\n", phase);
	if (!strcmp(phase, "derive") || !strcmp(phase, "judge-derived"))
		print_derivation(walk);
	else if (pending)
		printf("  proposal  %s in %s (%s)\n", kl_json_str_or(pending, "action", "?"),
		       kl_json_str_or(pending, "locus", "?"),
		       kl_json_str_or(pending, "rewriter", "?"));
	printf("  rewriters %s\n", kl_walk_str(walk, "rewriters"));
	if (model->who)
		printf("  model     %s%s\n", model->who,
		       *kl_walk_str(walk, "rederive_off") ? ", its budget is used up" : "");
	if (has_money(&spent, &cap, walk, model))
		print_money(spent, cap);
	printf("  state     %.12s\n", kl_walk_tip(walk));
	if (kl_walk_awaited(walk))
		print_candidates(kl_walk_awaited(walk));
	return 0;
}

/* --- outcome ------------------------------------------------------------------- */

static json_t *passed_over_json(const struct kl_outcome *out)
{
	json_t *value = json_object();

	kl_json_set_int(value, "equal", (int64_t)out->passed_over.equal);
	kl_json_set_int(value, "unreadable", (int64_t)out->passed_over.unreadable);
	kl_json_set_int(value, "no-change", (int64_t)out->passed_over.same_code);
	kl_json_set_int(value, "no-effect", (int64_t)out->passed_over.no_effect);
	kl_json_set_int(value, "compile", (int64_t)out->passed_over.uncompiled);
	return value;
}

static void print_json(const struct kl_outcome *out)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();

	kl_json_set_str(value, "schema", "klineage.deopt/1");
	kl_json_set_str(value, "workload", out->workload);
	kl_json_set_str(value, "name", out->name);
	kl_json_set_bool(value, "waiting", out->waiting);
	kl_json_set_str(value, "edit_dir", out->edit_dir);
	if (out->awaiting)
		json_object_set(value, "awaiting", out->awaiting);
	kl_json_set_str(value, "lineage", *out->lineage ? out->lineage : NULL);
	kl_json_set_str(value, "walk", *out->walk ? out->walk : NULL);
	kl_json_set_str(value, "rejected", *out->rejected ? out->rejected : NULL);
	kl_json_set_str(value, "termination", *out->termination ? out->termination : NULL);
	kl_json_set_int(value, "steps", (int64_t)out->steps);
	kl_json_set_int(value, "rejections", (int64_t)out->rejections);
	kl_json_set(value, "passed_over", passed_over_json(out));
	kl_json_set_int(value, "rederived", (int64_t)out->rederived);
	kl_json_set_int(value, "unisolated", (int64_t)out->unisolated);
	json_object_set(value, "judged", out->judged);
	kl_listing_put(value);
}

static const char *termination_meaning(const char *termination)
{
	if (!strcmp(termination, "complete"))
		return "no rewriter had anything more to remove";
	if (!strcmp(termination, "step-limit"))
		return "ended at the step limit; K_0 may not be naive";
	if (!strcmp(termination, "rejection-limit"))
		return "ended at the rejection limit; K_0 may not be naive";
	if (!strcmp(termination, "budget"))
		return "ended at the budget limit; K_0 may not be naive";
	return "ended on request";
}

static void print_outcome(const struct kl_outcome *out)
{
	KL_AUTO(kl_freep) char *rederived = NULL;
	KL_AUTO(kl_freep) char *passed_over = kl_outcome_passed_over(out);

	if (out->awaiting) {
		printf("%s: %s, %zu step%s so far; %lld job%s to be judged elsewhere.\n",
		       out->workload,
		       out->still ? "still waiting, none of these results has arrived" :
				    "waiting for results",
		       out->steps, out->steps == 1 ? "" : "s",
		       (long long)kl_json_int_or(out->awaiting, "jobs", 0),
		       kl_json_int_or(out->awaiting, "jobs", 0) == 1 ? "" : "s");
		print_awaiting(out->awaiting, "  ");
		return;
	}
	if (out->waiting) {
		printf("%s: stopped for an edit, %zu step%s so far.\n"
		       "  make the kernel simpler in  %s\n"
		       "  then                        git klineage deopt --continue"
		       " --action <word> -m <why>\n"
		       "  or end here                 git klineage deopt --quit\n",
		       out->workload, out->steps, out->steps == 1 ? "" : "s", out->edit_dir);
		return;
	}
	if (out->unisolated)
		rederived = kl_asprintf(" (%zu re-derived, %zu unisolated)", out->rederived,
					out->unisolated);
	else if (out->rederived)
		rederived = kl_asprintf(" (%zu re-derived)", out->rederived);
	printf("%s: %zu step%s accepted%s, %zu rejected; %s.\n"
	       "  lineage   %s\n  walk      %s\n",
	       out->workload, out->steps, out->steps == 1 ? "" : "s", rederived ? rederived : "",
	       out->rejections, termination_meaning(out->termination),
	       out->lineage + strlen("refs/heads/"), out->walk + strlen("refs/heads/"));
	if (*out->rejected)
		printf("  rejected  %s\n", out->rejected);
	if (*passed_over)
		printf("  passed    %s\n", passed_over);
	printf("  read it   git klineage log %s/%s\n", out->workload, out->name);
}

void kl_deopt_print_outcome(const struct kl_outcome *out, bool json)
{
	if (json)
		print_json(out);
	else
		print_outcome(out);
}

/* --- estimate --------------------------------------------------------------------- */

int kl_deopt_print_estimate(const struct kl_estimate *estimate, struct kl_session *session,
			    const char *workload, bool json)
{
	/* clang-format off */
	const struct kl_estimate_row rows[] = {
		{ "steps", "steps", "accepted", estimate->steps, 0 },
		{ "rejections", estimate->proposes ? "rejected" : NULL, "of the model's proposals",
		  estimate->rejections, 0 },
		{ "attempts", estimate->derives ? "attempts" : NULL, "to re-derive a step",
		  estimate->attempts, 0 },
		{ "state_bytes", "state", "bytes of source in each request", NULL, estimate->state_bytes },
		{ NULL, estimate->proposes ? "prompts" : NULL, "bytes to ask for a step", NULL,
		  estimate->prompt_bytes[0] },
		{ NULL, estimate->derives ? "prompts" : NULL, "bytes to re-derive a step", NULL,
		  estimate->prompt_bytes[1] },
		{ "reply_tokens", "reply", "tokens", estimate->reply_tokens, 0 },
		{ "requests", "requests", "in total, each with the earlier turns",
		  estimate->requests, 0 },
	};
	/* clang-format on */

	return kl_estimate_print(
		&(struct kl_estimate_print){
			.workload = workload,
			.one = "a walk",
			.all = "the walks of this workload",
			.note = "at least: five bytes per token, most of a request read "
				"from the provider's cache;\nat most: three bytes per "
				"token, nothing cached; the reservation for one request is "
				"higher",
			.nano = estimate->nano,
			.row = rows,
			.n = KL_ARRAY_SIZE(rows),
		},
		session, json);
}
