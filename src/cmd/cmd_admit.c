/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_admit - git klineage admit: runs one held-out trial of a card */
#include <string.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cmd.h"
#include "cmd/send_away.h"
#include "cmd/skill_model.h"
#include "gate/wave.h"
#include "learn/admit.h"

static const char synopsis[] = "admit [<options>] <card>";

#define MAX_WHY 12 /* list this many states if the card cannot be tried on any of them */

static const struct kl_admit_state *chosen_state(const struct kl_admission *admission)
{
	return admission->chosen < admission->n ? &admission->v[admission->chosen] : NULL;
}

static void print_none(const struct kl_admission *admission)
{
	if (!admission->n)
		printf("%s: this repository has no lineage to try the card on\n",
		       admission->card->id);
	else
		printf("%s: cannot be tried on any of %zu states\n", admission->card->id,
		       admission->n);
	for (size_t i = 0; i < admission->n && i < MAX_WHY; i++)
		printf("  %s K_%d: %s\n", admission->v[i].lineage, admission->v[i].step,
		       admission->v[i].why ? admission->v[i].why : "");
	if (admission->n > MAX_WHY)
		printf("  and %zu more\n", admission->n - MAX_WHY);
}

static void print_control(const char *what, const struct kl_card_control *control)
{
	KL_AUTO(kl_buf_release) struct kl_buf ratio = KL_BUF_INIT;

	if (!control->there)
		return;
	printf("  %s: %s%s%s", what, control->result == KL_RESULT_PASS ? "passed" : "failed",
	       control->class_ ? ", " : "", control->class_ ? control->class_ : "");
	if (control->ratio.ppm) {
		kl_buf_add_decimal(&ratio, control->ratio.ppm);
		printf("; %s times the speed of the state", ratio.ptr);
	}
	putchar('\n');
}

static void print_others(const struct kl_admission *admission, const struct kl_card_trial *trial)
{
	if (trial->with.n)
		printf("  with %s\n", trial->with.v[0]);
	print_control("control, without this card", &trial->alone);
	print_control("control, only the intent", &trial->control);
	print_control("control, without conditions and risks", &trial->bare);
	print_control("control, another card", &trial->wrong);
	if (trial->wrong.there)
		printf("    the other card is %s\n", trial->wrong.card);
	if (trial->arms)
		printf("  in this order: %s\n", trial->arms);
	if (trial->how == KL_HOW_AGENT)
		printf("  by %s, %lld repair%s\n", trial->model ? trial->model : "a model",
		       (long long)trial->repairs, trial->repairs == 1 ? "" : "s");
	if (trial->how == KL_HOW_AGENT && trial->tokens <= 0)
		printf("  the number of tokens is not known, so the trial does not count: the command "
		       "must report its usage\n");
	if (!trial->isolated)
		printf("  not isolated, so the trial does not count: the repository could not be "
		       "hidden from the command\n");
}

/* Say why the state has its level, and what follows from it. */
static void print_level(const struct kl_admit_state *state)
{
	if (state->alike >= 0)
		printf("  %lld changed lines, %.1f %% the same, compared with the nearest state of "
		       "the evidence%s\n",
		       (long long)state->changed, (double)state->alike / 1e4,
		       state->level == KL_LEVEL_SAME_CODE ?
			       ": a regression test, which never admits" :
			       "");
	else
		printf("  no state of the card's evidence is in this repository%s\n",
		       state->level == KL_LEVEL_SAME_CODE ?
			       "; the state has the code of its diff: a regression test" :
			       "");
}

static void print_trial(const struct kl_admission *admission)
{
	const struct kl_admit_state *state = chosen_state(admission);
	const struct kl_card_trial *trial = admission->trial;
	KL_AUTO(kl_buf_release) struct kl_buf ratio = KL_BUF_INIT;
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &state->commit);
	printf("%s on %s K_%d (%.10s), %s%s\n", admission->card->id, state->lineage, state->step,
	       hex, kl_level_name(state->level),
	       trial              ? "" :
	       admission->waiting ? ": the trial waits" :
				    ": would be tried");
	print_level(state);
	printf("  drawn with --seed %lld\n", (long long)admission->seed);
	if (admission->waiting)
		printf("  the verdict%s on %zu edit%s to come from elsewhere\n",
		       admission->waiting == 1 ? "" : "s", admission->waiting,
		       admission->waiting == 1 ? " is" : "s are");
	if (!trial)
		return;
	printf("  %s%s%s", trial->result == KL_RESULT_PASS ? "passed" : "failed",
	       trial->class_ ? ", " : "", trial->class_ ? trial->class_ : "");
	if (trial->ratio.ppm) {
		kl_buf_add_decimal(&ratio, trial->ratio.ppm);
		printf("; %s times the speed of the state", ratio.ptr);
	}
	if (trial->event)
		printf("; event %.12s, commit %.10s", trial->event, trial->made);
	putchar('\n');
	print_others(admission, trial);
	printf("  %s -> %s\n", kl_card_status_name(admission->before),
	       kl_card_status_name(admission->card->status));
}

/* List the states that were not tried, each with the reason. */
static json_t *untried_json(const struct kl_admission *admission)
{
	json_t *list = json_array();

	for (size_t i = 0; i < admission->n; i++) {
		json_t *entry;

		if (!admission->v[i].why)
			continue;
		entry = json_object();
		kl_json_set_str(entry, "lineage", admission->v[i].lineage);
		kl_json_set_int(entry, "step", admission->v[i].step);
		kl_json_set_str(entry, "why", admission->v[i].why);
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *state_json(const struct kl_admit_state *state)
{
	json_t *value = json_object();
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &state->commit);
	kl_json_set_str(value, "lineage", state->lineage);
	kl_json_set_int(value, "step", state->step);
	kl_json_set_str(value, "commit", hex);
	kl_json_set_str(value, "level", kl_level_name(state->level));
	kl_json_set_int(value, "changed", state->changed);
	kl_json_set_int(value, "alike_ppm", state->alike);
	return value;
}

static const char *result_name(enum kl_result result)
{
	return result == KL_RESULT_PASS ? "pass" : "fail";
}

static void put_arm(json_t *value, const char *name, const struct kl_card_control *control)
{
	kl_json_set_str(value, name, control->there ? result_name(control->result) : NULL);
}

/* Set the members of `value` that describe the trial. `trial` NULL: `admit` was a dry run. */
static void put_trial(json_t *value, const struct kl_card_trial *trial)
{
	kl_json_set_str(value, "result", trial ? result_name(trial->result) : NULL);
	kl_json_set_str(value, "class", trial ? trial->class_ : NULL);
	kl_json_set_str(value, "event", trial ? trial->event : NULL);
	kl_json_set_str(value, "made", trial ? trial->made : NULL);
	if (!trial)
		return;
	kl_json_set_int(value, "ratio_ppm", trial->ratio.ppm);
	kl_json_set_int(value, "repairs", trial->repairs);
	kl_json_set_str(value, "how", trial->how == KL_HOW_AGENT ? "agent" : "mechanical");
	kl_json_set_bool(value, "isolated", trial->isolated);
	kl_json_set_int(value, "tokens", trial->tokens);
	kl_json_set_str(value, "with", trial->with.n ? trial->with.v[0] : NULL);
	put_arm(value, "control", &trial->control);
	put_arm(value, "bare", &trial->bare);
	put_arm(value, "wrong", &trial->wrong);
	kl_json_set_str(value, "arms", trial->arms);
}

static void print_listing(const struct kl_listing *out, const struct kl_admission *admission,
			  bool dry)
{
	static const char *const fields[] = {
		"card",          "before",     "status",       "result",      "class",
		"state.lineage", "state.step", "state.commit", "state.level", "ratio_ppm",
		"repairs",       "how",        "with",         "control",     "event",
		"made",          NULL
	};
	KL_AUTO(json_decrefp) json_t *value = json_object();
	const struct kl_admit_state *chosen = chosen_state(admission);

	kl_json_set_str(value, "schema", "klineage.admit/1");
	kl_json_set_str(value, "card", admission->card->id);
	kl_json_set_bool(value, "dry_run", dry);
	kl_json_set_int(value, "seed", admission->seed);
	kl_json_set_str(value, "before", kl_card_status_name(admission->before));
	kl_json_set_str(value, "status", kl_card_status_name(admission->card->status));
	kl_json_set_int(value, "waiting", (int64_t)admission->waiting);
	put_trial(value, admission->trial);
	if (chosen)
		kl_json_set(value, "state", state_json(chosen));
	kl_json_set(value, "not_tried", untried_json(admission));
	kl_listing_print(out, value, NULL, fields);
}

static int open_gate(struct kl_gate **out, struct kl_repo *repo, struct kl_progress *progress)
{
	struct kl_gate_opts opts = { .progress = progress };
	int err = kl_repo_config_int(&opts.profile_ms, repo, "klineage.profileMs", 0);

	return err < 0 ? err : kl_gate_open(out, repo, &opts);
}

struct args {
	struct kl_skill_model model;
	const char *on;
	int64_t seed;
	struct kl_listing out;
	const char *arms;
	bool dry, quiet, no_control;
};

static int open_session(struct kl_session **out, const char *workload, void *payload)
{
	return kl_skill_model_open(out, payload, workload);
}

/* What a wave of the trial needs (gate/wave.h). */
struct admitting {
	struct kl_admission *admission;
	struct kl_admit_opts opts;
};

static int admit_wave(void *payload)
{
	struct admitting *admitting = payload;

	kl_admission_release(admitting->admission);
	return kl_admit(admitting->admission, &admitting->opts);
}

static int admit_card(struct kl_admission *admission, struct kl_wave *wave, struct kl_repo *repo,
		      const char *card, struct args *args)
{
	KL_AUTO(kl_progress_freep) struct kl_progress *progress = args->quiet ?
									  NULL :
									  kl_progress_new(
										  KL_PROGRESS_AUTO);
	KL_AUTO(kl_library_freep) struct kl_library *lib = NULL;
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = NULL;
	struct admitting admitting = { .admission = admission };
	unsigned arms;
	int err = kl_admit_arms_parse(&arms, args->no_control ? "card" :
					     args->arms       ? args->arms :
								"card,intent,bare,wrong");

	if (!err)
		err = kl_library_open(&lib, repo);
	if (!err)
		err = kl_taxonomy_load(&tax);
	if (!err)
		err = open_gate(&gate, repo, progress);
	kl_progress_title(progress, "admit %s", card);
	args->model.progress = progress;
	admitting.opts = (struct kl_admit_opts){
		.repo = repo,
		.library = lib,
		.tax = tax,
		.gate = gate,
		.card = card,
		.on = args->on,
		.seed = args->seed,
		.dry = args->dry,
		.rewriter = kl_skill_model_is(&args->model) ? args->model.rewriter : NULL,
		.open = open_session,
		.payload = &args->model,
		.arms = arms,
		.progress = progress,
	};
	if (!err)
		err = kl_wave_run(wave, gate, admit_wave, &admitting);
	args->model.progress = NULL;
	return err;
}

/* Print the admission; return the exit status, or KL_ECANNOT if the trial waits for verdicts. */
static int show_admission(const struct kl_admission *admission, const struct kl_wave *wave,
			  const struct args *args)
{
	const struct kl_card_trial *trial = admission->trial;

	if (kl_listing_asked(&args->out))
		print_listing(&args->out, admission, args->dry);
	else if (chosen_state(admission))
		print_trial(admission);
	else
		print_none(admission);
	if (!chosen_state(admission))
		return 1;
	if (admission->waiting)
		return kl_send_away_wait(&wave->sent, "this command again");
	return args->dry || (trial && trial->result == KL_RESULT_PASS) ? 0 : 1;
}

int cmd_admit(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_admission_release) struct kl_admission admission = { 0 };
	KL_AUTO(kl_wave_release) struct kl_wave wave = { 0 };
	struct args args = { .model = { .repo = ctx->repo, .of = KL_BUDGET_INDUCE } };
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('n', "dry-run", &args.dry,
			    "show on which state the card would be tried"),
		KL_OPT_STR('\0', "on", &args.on, "<state>",
			   "try the card only on this lineage or commit"),
		KL_OPT_BOOL('q', "quiet", &args.quiet, "show no progress"),
		KL_OPT_INT('\0', "seed", &args.seed, "<n>", "draw the state with this seed"),
		KL_SKILL_MODEL_OPTS(&args.model, "induce"),
		KL_OPT_STR('\0', "arms", &args.arms, "<list>",
			   "give the model these: card, intent, bare, "
			   "wrong"),
		KL_OPT_BOOL('\0', "no-control", &args.no_control, "give the model only the card"),
		KL_OPT_LISTING(&args.out),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc != 1)
		return kl_opt_usage(synopsis,
				    argc ? "only one card can be given" : "no card given");
	if (args.arms && args.no_control)
		return kl_opt_usage(synopsis, "--arms and --no-control exclude each other");
	if (args.arms && !kl_skill_model_is(&args.model))
		return kl_opt_usage(synopsis, "--arms needs --rewriter");
	if (args.seed < 0 || args.seed > KL_ADMIT_MAX_SEED)
		return kl_opt_usage(synopsis, "--seed needs a number from 1 to %lld",
				    (long long)KL_ADMIT_MAX_SEED);
	if ((err = kl_listing_check(&args.out, synopsis)) < 0 ||
	    (err = kl_skill_model_check(&args.model, synopsis)) < 0)
		return err;
	err = admit_card(&admission, &wave, ctx->repo, argv[0], &args);
	kl_skill_model_release(&args.model);
	return err < 0 ? err : show_admission(&admission, &wave, &args);
}
