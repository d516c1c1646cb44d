/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_lift - git klineage lift: cards from lineages */
#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/deopt_model.h"
#include "cmd/estimate_say.h"
#include "cmd/lift_witness.h"
#include "cmd/listing.h"
#include "cmd/opt.h"
#include "cmd/table.h"
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

static json_t *result_json(const struct kl_lift_result *r)
{
	json_t *j = json_object(), *from = json_array();

	for (size_t i = 0; i < r->n; i++) {
		json_t *t = json_object();

		kl_json_set_str(t, "lineage", r->t[i]->lineage);
		kl_json_set_int(t, "step", r->t[i]->step.number);
		json_array_append_new(from, t);
	}
	kl_json_set_str(j, "id", r->card->id);
	kl_json_set_bool(j, "new", !r->old);
	kl_json_set_str(j, "words", r->worded);
	kl_json_set_str(j, "same_as", r->same_as);
	kl_json_set_str(j, "status", kl_card_status_name(r->card->status));
	kl_json_set_str(j, "mechanism", r->card->mechanism);
	kl_json_set_int(j, "gained", (int64_t)r->gained);
	kl_json_set_int(j, "evidence", (int64_t)r->card->evidence.n);
	kl_json_set(j, "from", from);
	return j;
}

static void print_notes(const struct kl_lift *l)
{
	for (size_t i = 0; i < l->notes.n; i++)
		fprintf(stderr, "left out: %s\n", l->notes.v[i]);
}

static void print_listing(const struct kl_listing *out, const struct kl_lift *l,
			  const struct kl_transitions *t, bool dry)
{
	static const char *const fields[] = { "id",      "new",      "words",
					      "same_as", "status",   "mechanism",
					      "gained",  "evidence", NULL };
	KL_AUTO(json_decrefp) json_t *j = json_object();
	json_t *cards = json_array(), *notes = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(cards, result_json(&l->v[i]));
	for (size_t i = 0; i < l->notes.n; i++)
		json_array_append_new(notes, json_string(l->notes.v[i]));
	kl_json_set_str(j, "schema", "klineage.lift/1");
	kl_json_set_bool(j, "dry_run", dry);
	kl_json_set_int(j, "lineages", (int64_t)t->lineages.n);
	kl_json_set_int(j, "transitions", (int64_t)t->n);
	kl_json_set_int(j, "used", (int64_t)l->used);
	kl_json_set(j, "cards", cards);
	kl_json_set(j, "left_out", notes);
	kl_listing_print(out, j, "cards", fields);
	if (!out->json)
		print_notes(l);
}

static void print_table(const struct kl_lift *l, const struct kl_transitions *t)
{
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = 5 };

	kl_table_row(&table, (const char *[]){ "", "card", "evidence", "rows", "learned from" });
	for (size_t i = 0; i < l->n; i++) {
		const struct kl_lift_result *r = &l->v[i];
		KL_AUTO(kl_freep) char *evidence = kl_asprintf("%zu", r->card->evidence.n);
		KL_AUTO(kl_freep) char *rows = kl_asprintf("%zu", r->card->rows.n);
		KL_AUTO(kl_buf_release) struct kl_buf from = KL_BUF_INIT;

		for (size_t k = 0; k < r->n; k++)
			kl_buf_addf(&from, "%s%s %d", k ? ", " : "", r->t[k]->lineage,
				    r->t[k]->step.number);
		if (r->same_as)
			kl_buf_addf(&from, "(goes: the same as %s)", r->same_as);
		kl_table_row(&table, (const char *[]){ r->same_as ? "twin" :
						       r->old     ? "gains" :
								    "new",
						       r->card->id, evidence, rows, from.ptr });
	}
	if (l->n)
		kl_table_print(&table);
	print_notes(l);
	printf("%zu lineage%s, %zu transition%s, %zu of them in %zu card%s that change\n",
	       t->lineages.n, t->lineages.n == 1 ? "" : "s", t->n, t->n == 1 ? "" : "s", l->used,
	       l->n, l->n == 1 ? "" : "s");
}

static void print_cards(const struct kl_lift *l)
{
	for (size_t i = 0; i < l->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

		if (l->v[i].same_as)
			continue;
		kl_card_write(&b, l->v[i].card);
		printf("---\n%s", b.ptr);
	}
}

static int load_lineages(struct kl_transitions *t, struct kl_repo *r, int argc, char **argv)
{
	int err = argc ? 0 : kl_transitions_load(t, r, NULL);

	for (int i = 0; !err && i < argc; i++)
		err = kl_transitions_load(t, r, argv[i]);
	if (!err && !t->lineages.n)
		return kl_error_hint(
			kl_error(KL_ENOTFOUND, "there is no lineage in this repository yet"),
			"'git klineage deopt' makes one; a directory of exported ones will do");
	return err;
}

/* --- a model's words ----------------------------------------------------------- */

struct speaker {
	struct kl_deopt_model model;
	char *workload; /* whose conversation is open */
};

static void speaker_release(struct speaker *s)
{
	kl_deopt_model_release(&s->model);
	free(s->workload);
}

/* each workload has a ledger of its own */
static int open_session(struct kl_session **out, const char *workload, void *payload)
{
	struct speaker *s = payload;

	if (s->workload && strcmp(s->workload, workload)) {
		kl_session_free(s->model.session);
		s->model.session = NULL;
	}
	free(s->workload);
	s->workload = kl_strdup(workload);
	return kl_deopt_model_look(out, &s->model, workload);
}

static int check_speaker(const struct options *o, const struct kl_deopt_model *m)
{
	const char *said = m->exec     ? "--exec" :
			   m->model    ? "--model" :
			   m->budget   ? "--budget" :
			   o->estimate ? "--estimate" :
					 NULL;

	if (o->words && strcmp(o->words, "chat") && strcmp(o->words, "exec"))
		return kl_error(KL_EUSAGE, "--words takes chat or exec, not '%s'", o->words);
	if (o->estimate && kl_listing_asked(&o->out) && !o->out.json)
		return kl_opt_usage(synopsis, "--porcelain lists cards; --estimate has --json");
	if (o->cards && kl_listing_asked(&o->out) && !o->out.json)
		return kl_opt_usage(synopsis, "--cards or --porcelain, not both");
	if (said && !o->words)
		return kl_error(KL_EUSAGE,
				"%s is for cards that a model words: --words chat or exec", said);
	if (m->exec && strcmp(o->words, "exec"))
		return kl_error(KL_EUSAGE, "--exec is the command of '--words exec'");
	return 0;
}

static void print_estimate_json(const struct kl_wording_estimate *e)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();

	kl_json_set_str(j, "schema", "klineage.lift-estimate/1");
	kl_json_set_int(j, "cards", e->cards);
	kl_json_set(j, "requests", kl_estimate_say_ends(e->requests));
	kl_json_set(j, "nano", kl_estimate_say_ends(e->nano));
	kl_listing_put(j);
}

static void print_estimate_text(const struct kl_wording_estimate *e)
{
	char least[KL_MONEY_TEXT], most[KL_MONEY_TEXT];

	printf("%lld new card%s", (long long)e->cards, e->cards == 1 ? "" : "s");
	if (e->nano[1]) {
		kl_money_text(least, e->nano[0]);
		kl_money_text(most, e->nano[1]);
		printf(": %s to %s to word", least, most);
	}
	printf(", %lld to %lld requests%s; nothing was sent\n", (long long)e->requests[0],
	       (long long)e->requests[1], e->nano[1] ? "" : "; the model is not metered");
}

/* the other mode takes cards, and asks no model */
static int check_witness(const struct options *o)
{
	const char *said = o->words ? "--words" : o->cards ? "--cards" : NULL;

	if (o->witness && said)
		return kl_error(KL_EUSAGE, "%s and --witness do not go together", said);
	if (o->runs && !o->witness)
		return kl_error(KL_EUSAGE, "--runs is the limit of --witness");
	return 0;
}

static int print_estimate(struct kl_wording *w, bool json)
{
	struct kl_wording_estimate e;
	int err = kl_wording_estimate(&e, w);

	if (err < 0)
		return err;
	if (json)
		print_estimate_json(&e);
	else
		print_estimate_text(&e);
	return 0;
}

/* one card after the other: what is worded and put is safe, whatever comes */
static int word_and_put(struct kl_lift *l, struct kl_library *lib, struct speaker *s,
			const struct options *o)
{
	KL_AUTO(kl_wording_release) struct kl_wording w = { 0 };
	const struct kl_wording_opts opts = {
		.repo = s->model.repo,
		.who = o->words,
		.open = open_session,
		.payload = s,
	};
	int err = o->words ? kl_wording_open(&w, l, &opts) : 0;

	if (err < 0 || o->estimate)
		return err < 0 ? err : print_estimate(&w, o->out.json);
	for (size_t i = 0; !err && i < l->n; i++) {
		if (o->words && !o->dry && kl_wording_wants(&w, i))
			err = kl_wording_do(&w, i);
		if (!err && !o->dry)
			err = kl_lift_put(l, i, lib);
	}
	return err;
}

static int lift_all(struct kl_lift *l, struct kl_transitions *t, struct speaker *s,
		    const struct options *o)
{
	KL_AUTO(kl_library_freep) struct kl_library *lib = NULL;
	const char *who;
	int err;

	if (!o->dry && (err = kl_repo_identity(&who, s->model.repo)) < 0)
		return err;
	if ((err = kl_library_open(&lib, s->model.repo)) < 0 || (err = kl_lift_run(l, t, lib)) < 0)
		return err;
	return word_and_put(l, lib, s, o);
}

int cmd_lift(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_transitions_release) struct kl_transitions t = { 0 };
	KL_AUTO(kl_lift_release) struct kl_lift l = { 0 };
	KL_AUTO(speaker_release) struct speaker s = { .model.repo = ctx->repo };
	struct options o = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "words", &o.words, "<model>",
			   "let chat or exec write the texts of new cards"),
		KL_OPT_STR('\0', "exec", &s.model.exec, "<command>", "run this command for exec"),
		KL_OPT_STR('\0', "model", &s.model.model, "<name>",
			   "use this model for chat and exec (default: klineage.chat.model)"),
		KL_OPT_STR('\0', "budget", &s.model.budget, "<usd>",
			   "limit what a workload's walks and lifts may cost (default: "
			   "klineage.budget.induce)"),
		KL_OPT_BOOL('\0', "estimate", &o.estimate,
			    "estimate the cost of the texts; send nothing"),
		KL_OPT_BOOL('\0', "witness", &o.witness,
			    "judge kernels for which an assumed condition is false"),
		KL_OPT_INT('\0', "runs", &o.runs, "<n>",
			   "with --witness, run the gate at most this often (default: 64)"),
		KL_OPT_BOOL('q', "quiet", &o.quiet, "with --witness, show no progress"),
		KL_OPT_BOOL('\0', "cards", &o.cards, "print the cards instead of a table"),
		KL_OPT_BOOL('n', "dry-run", &o.dry,
			    "show what would be done; write nothing, run neither model nor gate"),
		KL_OPT_LISTING(&o.out),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	o.dry |= o.estimate;
	if ((err = kl_listing_check(&o.out, synopsis)) < 0 ||
	    (err = check_speaker(&o, &s.model)) < 0 || (err = check_witness(&o)) < 0)
		return err;
	if (o.witness)
		return kl_lift_witness(ctx->repo, argc, argv,
				       &(struct kl_lift_witness){
					       .out = o.out,
					       .dry = o.dry,
					       .quiet = o.quiet,
					       .runs = o.runs,
				       });
	s.model.who = o.words ? kl_strdup(o.words) : NULL;
	if ((err = load_lineages(&t, ctx->repo, argc, argv)) < 0 ||
	    (err = lift_all(&l, &t, &s, &o)) < 0 || o.estimate)
		return err;
	if (kl_listing_asked(&o.out))
		print_listing(&o.out, &l, &t, o.dry);
	else if (o.cards)
		print_cards(&l);
	else
		print_table(&l, &t);
	return 0;
}
