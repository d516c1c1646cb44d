/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_lift - git klineage lift: makes cards from lineages */
#include <string.h>

#include "base/error.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "cmd/deopt_model.h"
#include "cmd/estimate_print.h"
#include "cmd/lift_witness.h"
#include "learn/wording.h"
#include "model/money.h"

static const char synopsis[] =
	"lift [<options>] [<lineage or directory>...]\n"
	"lift --words <model> [<options>] [<lineage or directory>...]\n"
	"lift --estimate --words <model> [<options>] [<lineage or directory>...]\n"
	"lift --witness [--runs <n>] [<options>] [<card>...]";

struct options {
	struct kl_listing out;
	bool dry, cards, estimate, witness, quiet;
	int64_t runs;
	const char *words;
};

static json_t *result_json(const struct kl_lift_result *result)
{
	json_t *value = json_object(), *from = json_array();

	for (size_t i = 0; i < result->n; i++) {
		json_t *transition = json_object();

		kl_json_set_str(transition, "lineage", result->t[i]->lineage);
		kl_json_set_int(transition, "step", result->t[i]->step.number);
		json_array_append_new(from, transition);
	}
	kl_json_set_str(value, "id", result->card->id);
	kl_json_set_bool(value, "new", !result->old);
	kl_json_set_str(value, "words", result->worded);
	kl_json_set_str(value, "same_as", result->same_as);
	kl_json_set_str(value, "status", kl_card_status_name(result->card->status));
	kl_json_set_str(value, "mechanism", result->card->mechanism);
	kl_json_set_int(value, "gained", (int64_t)result->gained);
	kl_json_set_int(value, "evidence", (int64_t)result->card->evidence.n);
	kl_json_set(value, "from", from);
	return value;
}

static void print_notes(const struct kl_lift *lift)
{
	for (size_t i = 0; i < lift->notes.n; i++)
		fprintf(stderr, "left out: %s\n", lift->notes.v[i]);
}

static void print_listing(const struct kl_listing *out, const struct kl_lift *lift,
			  const struct kl_transitions *transitions, bool dry)
{
	static const char *const fields[] = { "id",      "new",      "words",
					      "same_as", "status",   "mechanism",
					      "gained",  "evidence", NULL };
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *cards = json_array(), *notes = json_array();

	for (size_t i = 0; i < lift->n; i++)
		json_array_append_new(cards, result_json(&lift->v[i]));
	for (size_t i = 0; i < lift->notes.n; i++)
		json_array_append_new(notes, json_string(lift->notes.v[i]));
	kl_json_set_str(value, "schema", "klineage.lift/1");
	kl_json_set_bool(value, "dry_run", dry);
	kl_json_set_int(value, "lineages", (int64_t)transitions->lineages.n);
	kl_json_set_int(value, "transitions", (int64_t)transitions->n);
	kl_json_set_int(value, "used", (int64_t)lift->used);
	kl_json_set(value, "cards", cards);
	kl_json_set(value, "left_out", notes);
	kl_listing_print(out, value, "cards", fields);
	if (!out->json)
		print_notes(lift);
}

static void print_table(const struct kl_lift *lift, const struct kl_transitions *transitions)
{
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = 5 };

	kl_table_row(&table, (const char *[]){ "", "card", "evidence", "rows", "learned from" });
	for (size_t i = 0; i < lift->n; i++) {
		const struct kl_lift_result *result = &lift->v[i];
		KL_AUTO(kl_freep) char *evidence = kl_asprintf("%zu", result->card->evidence.n);
		KL_AUTO(kl_freep) char *rows = kl_asprintf("%zu", result->card->rows.n);
		KL_AUTO(kl_buf_release) struct kl_buf from = KL_BUF_INIT;

		for (size_t k = 0; k < result->n; k++)
			kl_buf_addf(&from, "%s%s %d", k ? ", " : "", result->t[k]->lineage,
				    result->t[k]->step.number);
		if (result->same_as)
			kl_buf_addf(&from, "(dropped: same as %s)", result->same_as);
		kl_table_row(&table,
			     (const char *[]){ result->same_as ? "same" :
					       result->old     ? "gains" :
								 "new",
					       result->card->id, evidence, rows, from.ptr });
	}
	if (lift->n)
		kl_table_print(&table);
	print_notes(lift);
	printf("%zu lineage%s, %zu transition%s, %zu of them used in %zu new or changed "
	       "card%s\n",
	       transitions->lineages.n, transitions->lineages.n == 1 ? "" : "s", transitions->n,
	       transitions->n == 1 ? "" : "s", lift->used, lift->n, lift->n == 1 ? "" : "s");
}

static void print_cards(const struct kl_lift *lift)
{
	for (size_t i = 0; i < lift->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

		if (lift->v[i].same_as)
			continue;
		kl_card_write(&buf, lift->v[i].card);
		printf("---\n%s", buf.ptr);
	}
}

static int load_lineages(struct kl_transitions *transitions, struct kl_repo *repo, int argc,
			 char **argv)
{
	int err = argc ? 0 : kl_transitions_load(transitions, repo, NULL);

	for (int i = 0; !err && i < argc; i++)
		err = kl_transitions_load(transitions, repo, argv[i]);
	if (!err && !transitions->lineages.n)
		return kl_error_hint(kl_error(KL_ENOTFOUND, "no lineages in this repository"),
				     "create one with 'git klineage deopt', or give a directory of "
				     "exported lineages");
	return err;
}

/* --- texts by a model ---------------------------------------------------------- */

struct speaker {
	struct kl_deopt_model model;
	char *workload; /* the workload whose session is open */
};

static void speaker_release(struct speaker *speaker)
{
	kl_deopt_model_release(&speaker->model);
	free(speaker->workload);
}

/* Open a new session when the workload changes, because each workload has its own ledger. */
static int open_session(struct kl_session **out, const char *workload, void *payload)
{
	struct speaker *speaker = payload;

	if (speaker->workload && strcmp(speaker->workload, workload)) {
		kl_session_free(speaker->model.session);
		speaker->model.session = NULL;
	}
	free(speaker->workload);
	speaker->workload = kl_strdup(workload);
	return kl_deopt_model_look(out, &speaker->model, workload);
}

static int check_speaker(const struct options *options, const struct kl_deopt_model *model)
{
	const char *option = model->exec       ? "--exec" :
			     model->model      ? "--model" :
			     model->budget     ? "--budget" :
			     options->estimate ? "--estimate" :
						 NULL;

	if (options->words && strcmp(options->words, "chat") && strcmp(options->words, "exec"))
		return kl_error(KL_EUSAGE, "--words takes chat or exec, not '%s'", options->words);
	if (options->estimate && kl_listing_asked(&options->out) && !options->out.json)
		return kl_opt_usage(synopsis,
				    "--estimate supports --json, but not --porcelain or -z");
	if (options->cards && kl_listing_asked(&options->out) && !options->out.json)
		return kl_opt_usage(synopsis, "--cards cannot be used with --porcelain or -z");
	if (option && !options->words)
		return kl_error(KL_EUSAGE, "%s needs --words chat or exec", option);
	if (model->exec && strcmp(options->words, "exec"))
		return kl_error(KL_EUSAGE, "--exec needs --words exec");
	return 0;
}

static void print_estimate_json(const struct kl_wording_estimate *estimate)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();

	kl_json_set_str(value, "schema", "klineage.lift-estimate/1");
	kl_json_set_int(value, "cards", estimate->cards);
	kl_json_set(value, "requests", kl_estimate_say_ends(estimate->requests));
	kl_json_set(value, "nano", kl_estimate_say_ends(estimate->nano));
	kl_listing_put(value);
}

static void print_estimate_text(const struct kl_wording_estimate *estimate)
{
	char least[KL_MONEY_TEXT], most[KL_MONEY_TEXT];

	printf("%lld new card%s", (long long)estimate->cards, estimate->cards == 1 ? "" : "s");
	if (estimate->nano[1]) {
		kl_money_text(least, estimate->nano[0]);
		kl_money_text(most, estimate->nano[1]);
		printf(": %s to %s for the texts", least, most);
	}
	printf(", %lld to %lld requests%s; nothing was sent\n", (long long)estimate->requests[0],
	       (long long)estimate->requests[1],
	       estimate->nano[1] ? "" : "; the model is not metered");
}

/* Check the options of --witness, which takes cards as arguments and uses no model. */
static int check_witness(const struct options *options)
{
	const char *option = options->words ? "--words" : options->cards ? "--cards" : NULL;

	if (options->witness && option)
		return kl_error(KL_EUSAGE, "%s and --witness cannot be used together", option);
	if (options->runs && !options->witness)
		return kl_error(KL_EUSAGE, "--runs needs --witness");
	return 0;
}

static int print_estimate(struct kl_wording *wording, bool json)
{
	struct kl_wording_estimate estimate;
	int err = kl_wording_estimate(&estimate, wording);

	if (err < 0)
		return err;
	if (json)
		print_estimate_json(&estimate);
	else
		print_estimate_text(&estimate);
	return 0;
}

/* Complete each card and store it before the next, so that an error loses no finished card. */
static int word_and_put(struct kl_lift *lift, struct kl_library *lib, struct speaker *speaker,
			const struct options *options)
{
	KL_AUTO(kl_wording_release) struct kl_wording wording = { 0 };
	const struct kl_wording_opts opts = {
		.repo = speaker->model.repo,
		.who = options->words,
		.open = open_session,
		.payload = speaker,
	};
	int err = options->words ? kl_wording_open(&wording, lift, &opts) : 0;

	if (err < 0 || options->estimate)
		return err < 0 ? err : print_estimate(&wording, options->out.json);
	for (size_t i = 0; !err && i < lift->n; i++) {
		if (options->words && !options->dry && kl_wording_wants(&wording, i))
			err = kl_wording_do(&wording, i);
		if (!err && !options->dry)
			err = kl_lift_put(lift, i, lib);
	}
	return err;
}

static int lift_all(struct kl_lift *lift, struct kl_transitions *transitions,
		    struct speaker *speaker, const struct options *options)
{
	KL_AUTO(kl_library_freep) struct kl_library *lib = NULL;
	const char *who;
	int err;

	if (!options->dry && (err = kl_repo_identity(&who, speaker->model.repo)) < 0)
		return err;
	if ((err = kl_library_open(&lib, speaker->model.repo)) < 0 ||
	    (err = kl_lift_run(lift, transitions, lib)) < 0)
		return err;
	return word_and_put(lift, lib, speaker, options);
}

int cmd_lift(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_transitions_release) struct kl_transitions transitions = { 0 };
	KL_AUTO(kl_lift_release) struct kl_lift lift = { 0 };
	KL_AUTO(speaker_release) struct speaker speaker = { .model.repo = ctx->repo };
	struct options options = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "words", &options.words, "<model>",
			   "let chat or exec write the texts of new cards"),
		KL_OPT_STR('\0', "exec", &speaker.model.exec, "<command>",
			   "run this command for exec"),
		KL_OPT_STR('\0', "model", &speaker.model.model, "<name>",
			   "use this model for chat and exec (default: klineage.chat.model)"),
		KL_OPT_STR('\0', "budget", &speaker.model.budget, "<usd>",
			   "limit what a workload's walks and lifts may cost (default: "
			   "klineage.budget.induce)"),
		KL_OPT_BOOL('\0', "estimate", &options.estimate,
			    "estimate the cost of the texts; send nothing"),
		KL_OPT_BOOL('\0', "witness", &options.witness,
			    "judge kernels for which an assumed condition is false"),
		KL_OPT_INT('\0', "runs", &options.runs, "<n>",
			   "with --witness, run the gate at most <n> times (default: 64)"),
		KL_OPT_BOOL('q', "quiet", &options.quiet, "with --witness, show no progress"),
		KL_OPT_BOOL('\0', "cards", &options.cards, "print the cards instead of a table"),
		KL_OPT_BOOL('n', "dry-run", &options.dry,
			    "show what would be done; write nothing, run neither model nor gate"),
		KL_OPT_LISTING(&options.out),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	options.dry |= options.estimate;
	if ((err = kl_listing_check(&options.out, synopsis)) < 0 ||
	    (err = check_speaker(&options, &speaker.model)) < 0 ||
	    (err = check_witness(&options)) < 0)
		return err;
	if (options.witness)
		return kl_lift_witness(ctx->repo, argc, argv,
				       &(struct kl_lift_witness){
					       .out = options.out,
					       .dry = options.dry,
					       .quiet = options.quiet,
					       .runs = options.runs,
				       });
	speaker.model.who = options.words ? kl_strdup(options.words) : NULL;
	if ((err = load_lineages(&transitions, ctx->repo, argc, argv)) < 0 ||
	    (err = lift_all(&lift, &transitions, &speaker, &options)) < 0 || options.estimate)
		return err;
	if (kl_listing_asked(&options.out))
		print_listing(&options.out, &lift, &transitions, options.dry);
	else if (options.cards)
		print_cards(&lift);
	else
		print_table(&lift, &transitions);
	if (lift.unfit)
		return kl_error(
			KL_ENO,
			"%zu card%s could not be written; the lines with 'not lifted' say why",
			lift.unfit, lift.unfit == 1 ? "" : "s");
	return 0;
}
