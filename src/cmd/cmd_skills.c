/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_skills - git klineage skills: lists, shows, retracts, exports, imports and merges cards */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/prefix.h"
#include "card/card_merge.h"
#include "card/exchange.h"
#include "card/status.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "cmd/skills.h"
#include "cmd/skills_page.h"
#include "cmd/skills_try.h"

static const char synopsis[] =
	"skills list [--status <status>] [--json | --porcelain | -z]\n"
	"skills show [--raw | --json] <card>\n"
	"skills credit [--json] [<card>]\n"
	"skills lint [--fix] [--json | --porcelain | -z] [<file or directory>...]\n"
	"skills retract --reason <why> <card>\n"
	"skills export [--format yaml|json|skill-md] [--output <directory>] [<card>...]\n"
	"skills import (--shipped | <file or directory>...)\n"
	"skills try [-n] [-q] [--seconds <n>] [<workload>]\n"
	"skills install-merge [--undo]\n"
	"skills merge-driver <base> <ours> <theirs>";

struct args {
	struct kl_repo *repo;
	int argc;
	char **argv;
	struct kl_listing out;
	bool fix, undo, shipped, raw, dry, quiet;
	int64_t seconds;
	const char *status, *reason, *format, *output;
};

/* --- list, show ---------------------------------------------------------------------- */

static size_t verified_rows(const struct kl_card *card)
{
	size_t n = 0;

	for (size_t i = 0; i < card->rows.n; i++)
		n += kl_card_row_is_verified(card, &card->rows.v[i]);
	return n;
}

static json_t *strings_json(const struct kl_strvec *names)
{
	json_t *list = json_array();

	for (size_t i = 0; i < names->n; i++)
		json_array_append_new(list, json_string(names->v[i]));
	return list;
}

static json_t *card_json(const struct kl_card *card)
{
	json_t *value = json_object();
	size_t passed, trials;

	kl_status_count(&passed, &trials, card);
	kl_json_set_str(value, "id", card->id);
	kl_json_set_str(value, "status", kl_card_status_name(card->status));
	kl_json_set_str(value, "intent", card->intent);
	kl_json_set_str(value, "mechanism", card->mechanism);
	kl_json_set_str(value, "action", card->action);
	kl_json_set(value, "cases", strings_json(&card->scope.cases));
	kl_json_set(value, "languages", strings_json(&card->scope.languages));
	kl_json_set_int(value, "evidence", (int64_t)card->evidence.n);
	kl_json_set_int(value, "rows", (int64_t)card->rows.n);
	kl_json_set_int(value, "verified", (int64_t)verified_rows(card));
	kl_json_set_int(value, "passed", (int64_t)passed);
	kl_json_set_int(value, "trials", (int64_t)trials);
	return value;
}

static void card_row(struct kl_table *table, const struct kl_card *card)
{
	size_t passed, trials, n = verified_rows(card);
	KL_AUTO(kl_freep) char *evidence = kl_asprintf("%zu", card->evidence.n);
	KL_AUTO(kl_freep) char *rows = kl_asprintf("%zu/%zu", n, card->rows.n);
	KL_AUTO(kl_freep) char *trial = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf languages = KL_BUF_INIT;

	kl_status_count(&passed, &trials, card);
	trial = kl_asprintf("%zu/%zu", passed, trials);
	for (size_t i = 0; i < card->scope.languages.n; i++)
		kl_buf_addf(&languages, "%s%s", i ? "," : "", card->scope.languages.v[i]);
	kl_table_row(table, (const char *[]){ card->id, kl_card_status_name(card->status), evidence,
					      rows, trial, languages.len ? languages.ptr : "-" });
}

static int list_cards(const struct args *args)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = 6 };
	KL_AUTO(json_decrefp) json_t *cards = json_array();
	int bad = 0, err;

	if (args->argc)
		return kl_opt_usage(synopsis, "'list' takes no arguments");
	if ((err = kl_library_open(&library, args->repo)) < 0)
		return err;
	kl_table_row(&table, (const char *[]){ "card", "status", "evidence", "verified", "passed",
					       "languages" });
	for (size_t i = 0; i < kl_library_count(library); i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;

		if (kl_library_card_at(&card, library, i) < 0) {
			fprintf(stderr, "git-klineage: %s\n", kl_error_last());
			kl_error_clear();
			bad = 1;
			continue;
		}
		if (args->status && strcmp(args->status, kl_card_status_name(card->status)))
			continue;
		if (kl_listing_asked(&args->out))
			json_array_append_new(cards, card_json(card));
		else
			card_row(&table, card);
	}
	if (kl_listing_asked(&args->out))
		kl_skills_print_list(&args->out, library, cards);
	else if (table.cells.n > table.columns)
		kl_table_print(&table);
	else
		fprintf(stderr, "no cards%s; create some with 'git klineage lift'\n",
			args->status ? " with that status" : "");
	return bad;
}

static int show_card(const struct args *args)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *value = NULL;
	size_t i;
	int err;

	if (args->argc != 1)
		return kl_opt_usage(synopsis, "'show' needs one card");
	if (args->raw && args->out.json)
		return kl_opt_usage(synopsis, "--raw and --json cannot be used together");
	if ((err = kl_library_open(&library, args->repo)) < 0 ||
	    (err = kl_library_find(&i, library, args->argv[0])) < 0)
		return err;
	if (args->raw) {
		if ((err = kl_library_text(&text, library, i)) < 0)
			return err;
		fputs(text.ptr, stdout);
		return 0;
	}
	if ((err = kl_library_card_at(&card, library, i)) < 0)
		return err;
	if (!args->out.json) {
		kl_skills_page(card);
		return 0;
	}
	value = kl_card_to_json(card);
	kl_json_decimal(&text, value, false);
	kl_listing_line(&text);
	return 0;
}

static int show_credit(const struct args *args)
{
	if (args->argc > 1)
		return kl_opt_usage(synopsis, "'credit' takes at most one card");
	return kl_skills_credit(args->repo, args->argc ? args->argv[0] : NULL, &args->out);
}

/* --- retract ---------------------------------------------------------------------------- */

static int retract_card(const struct args *args)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	KL_AUTO(kl_freep) char *subject = NULL;
	struct kl_library_change change = { 0 };
	const char *who;
	char now[21];
	int err;

	if (args->argc != 1)
		return kl_opt_usage(synopsis, "'retract' needs one card");
	if (!args->reason || !*args->reason)
		return kl_opt_usage(synopsis, "'retract' needs --reason <why>");
	if ((err = kl_repo_identity(&who, args->repo)) < 0 ||
	    (err = kl_library_open(&library, args->repo)) < 0 ||
	    (err = kl_library_card(&card, library, args->argv[0])) < 0)
		return err;
	if (card->status == KL_CARD_RETRACTED)
		return kl_error(KL_EEXISTS, "'%s' is already retracted", card->id);
	kl_clock_iso(now);
	kl_card_retract(card, args->reason, who, now);
	subject = kl_asprintf("skills: retract %s", card->id);
	change = (struct kl_library_change){ .card = card,
					     .subject = subject,
					     .body = args->reason };
	if ((err = kl_skills_check_line(args->reason)) < 0 ||
	    (err = kl_library_put(library, &change)) < 0)
		return err;
	printf("%s is retracted\n", card->id);
	return 0;
}

/* --- export, import ---------------------------------------------------------------------- */

static int export_to_stdout(struct kl_library *library, const char *id, enum kl_format format)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	KL_AUTO(kl_map_release) struct kl_map events = KL_MAP_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if ((err = kl_library_card(&card, library, id)) < 0)
		return err;
	if (format == KL_FORMAT_JSON && (err = kl_exchange_events(&events, library, card)) < 0)
		return err;
	kl_exchange_write(&text, card, &events, format);
	kl_out_exact(text.ptr, text.len);
	return 0;
}

static int export_cards(const struct args *args)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	enum kl_format format = KL_FORMAT_YAML;
	size_t files, at;
	int err = args->format ? kl_format_parse(&format, args->format) : 0;

	if (err < 0 || (err = kl_library_open(&library, args->repo)) < 0)
		return err;
	for (int i = 0; i < args->argc; i++) {
		if ((err = kl_library_find(&at, library, args->argv[i])) < 0)
			return err;
		kl_strvec_push(&ids, kl_library_id(library, at));
	}
	for (size_t i = 0; !args->argc && i < kl_library_count(library); i++)
		kl_strvec_push(&ids, kl_library_id(library, i));
	if (!args->output && ids.n == 1)
		return export_to_stdout(library, ids.v[0], format);
	if (!args->output)
		return ids.n ? kl_opt_usage(synopsis,
					    "exporting %zu cards needs --output <directory>",
					    ids.n) :
			       kl_error(KL_ENOTFOUND, "no cards to export");
	if ((err = kl_exchange_export(&files, library, &ids, args->output, format)) < 0)
		return err;
	printf("%zu card%s, %zu files in %s\n", ids.n, ids.n == 1 ? "" : "s", files, args->output);
	return 0;
}

static void print_refused(const char *path, void *payload)
{
	const char *why = kl_error_last();

	/* the message of a parse error already starts with the path */
	if (!kl_prefix_has(why, path))
		fprintf(stderr, "git-klineage: refused %s: %s\n", path, why);
	else
		fprintf(stderr, "git-klineage: refused %s\n", why);
}

static int import_cards(const struct args *args)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	KL_AUTO(kl_freep) char *shipped = NULL;
	struct kl_exchange_result result = { 0 };
	const char *who;
	int err;

	if (args->shipped == (args->argc > 0))
		return kl_opt_usage(synopsis, "'import' needs either files and directories, or "
					      "--shipped");
	if ((args->shipped && (err = kl_fs_share(&shipped, "skills")) < 0) ||
	    (err = kl_repo_identity(&who, args->repo)) < 0 ||
	    (err = kl_library_open(&library, args->repo)) < 0)
		return err;
	if (shipped)
		err = kl_exchange_import(&result, library, shipped, print_refused, NULL);
	for (int i = 0; !err && i < args->argc; i++)
		err = kl_exchange_import(&result, library, args->argv[i], print_refused, NULL);
	if (err < 0)
		return err;
	printf("%zu new card%s, %zu merged, %zu unchanged", result.added,
	       result.added == 1 ? "" : "s", result.merged, result.same);
	if (result.refused)
		printf(", %zu refused", result.refused);
	puts("");
	if (args->shipped)
		kl_skills_hint(args->repo);
	if (!result.refused)
		return 0;
	return kl_error(KL_EINVALID,
			"%zu files were refused because they are not valid, complete cards",
			result.refused);
}

/* --- try -------------------------------------------------------------------------------------- */

static int try_cards(const struct args *args)
{
	if (args->argc > 1)
		return kl_opt_usage(synopsis, "'try' takes one workload");
	if (args->seconds < 0 || args->seconds > 1000000)
		return kl_opt_usage(synopsis, "--seconds must be 0 to 1000000");
	return kl_skills_try(args->repo, &(struct kl_skills_try){
						 .workload = args->argc ? args->argv[0] : NULL,
						 .seconds = args->seconds,
						 .quiet = args->quiet,
						 .dry = args->dry,
					 });
}

/* --- merging -------------------------------------------------------------------------------- */

static int install_merge(const struct args *args)
{
	static const char key[] = "merge.klineage-card.driver";
	int err;

	if (args->argc)
		return kl_opt_usage(synopsis, "'install-merge' takes no arguments");
	err = kl_repo_config_set(args->repo, "merge.klineage-card.name",
				 args->undo ? NULL : "cards of git-klineage, field by field");
	if (!err)
		err = kl_repo_config_set(args->repo, key,
					 args->undo ? NULL :
						      "git klineage skills merge-driver %O %A %B");
	if (err < 0)
		return err;
	if (args->undo)
		puts("git merges cards as text again");
	else
		printf("git merges cards field by field: %s\n", key);
	return 0;
}

static int merge_driver(const struct args *args)
{
	KL_AUTO(kl_buf_release) struct kl_buf base = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf ours = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf theirs = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	int err, conflict;

	if (args->argc != 3)
		return kl_opt_usage(synopsis, "'merge-driver' takes three files");
	if ((err = kl_fs_read(&base, args->argv[0], KL_CARD_MAX_BYTES)) < 0 ||
	    (err = kl_fs_read(&ours, args->argv[1], KL_CARD_MAX_BYTES)) < 0 ||
	    (err = kl_fs_read(&theirs, args->argv[2], KL_CARD_MAX_BYTES)) < 0)
		return err;
	conflict = kl_card_merge_text(&out, "card", &base, &ours, &theirs);
	if (conflict && conflict != KL_ENO)
		return conflict;
	if ((err = kl_fs_put(args->argv[1], out.ptr, out.len, 0644)) < 0)
		return err;
	if (conflict)
		kl_error_hint(conflict, "one side's text was kept; check and edit the file, then "
					"'git add' it");
	return conflict;
}

/* --- the verb --------------------------------------------------------------------------------- */

static bool has_files(const struct args *args)
{
	return args->argc > 0;
}

static int lint_cards(const struct args *args)
{
	return kl_skills_lint(args->repo, args->argc, args->argv, args->fix, &args->out);
}

struct part {
	const char *name;
	int (*run)(const struct args *args);
	bool lists;
	/*
	 * Return true if no repository is needed for these arguments. NULL: a repository is always
	 * needed
	 */
	bool (*anywhere)(const struct args *args);
};

static const struct part parts[] = {
	{ "list", list_cards, true, NULL },
	{ "show", show_card, false, NULL },
	{ "credit", show_credit, false, NULL },
	{ "lint", lint_cards, true, has_files },
	{ "retract", retract_card, false, NULL },
	{ "export", export_cards, false, NULL },
	{ "import", import_cards, false, NULL },
	{ "try", try_cards, false, NULL },
	{ "install-merge", install_merge, false, NULL },
	{ "merge-driver", merge_driver, false, has_files },
};

static int run_part(const struct part *part, struct args *args, struct kl_cmd_ctx *ctx)
{
	int err = 0;

	if ((args->out.porcelain || args->out.nul) && !part->lists)
		return kl_opt_usage(synopsis, "--porcelain and -z need 'list' or 'lint'");
	if (!part->anywhere || !part->anywhere(args))
		err = kl_repo_open(&ctx->repo);
	args->repo = ctx->repo;
	return err < 0 ? err : part->run(args);
}

int cmd_skills(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct args args = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "fix", &args.fix, "lint: rewrite the files in canonical form"),
		KL_OPT_STR('\0', "format", &args.format, "<format>",
			   "export: write yaml (default), json or skill-md"),
		KL_OPT_LISTING(&args.out),
		KL_OPT_BOOL('n', "dry-run", &args.dry,
			    "try: show which cards would be tried, and whether they apply"),
		KL_OPT_STR('o', "output", &args.output, "<directory>",
			   "export: write the files to this directory"),
		KL_OPT_BOOL('q', "quiet", &args.quiet, "try: show no progress"),
		KL_OPT_BOOL('\0', "raw", &args.raw, "show: print the file of the card"),
		KL_OPT_STR('\0', "reason", &args.reason, "<why>",
			   "retract: give the reason, in one line"),
		KL_OPT_INT('\0', "seconds", &args.seconds, "<n>",
			   "try: begin no further edit after this time (default: no limit)"),
		KL_OPT_BOOL('\0', "shipped", &args.shipped,
			    "import: import the cards that come with git-klineage"),
		KL_OPT_STR('\0', "status", &args.status, "<status>",
			   "list: print only hypothesis, provisional, admitted or retracted"),
		KL_OPT_BOOL('\0', "undo", &args.undo, "install-merge: remove the configuration"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = kl_listing_check(&args.out, synopsis)) < 0)
		return err;
	if (!argc)
		return kl_opt_usage(synopsis, "missing subcommand");
	args.argc = argc - 1;
	args.argv = argv + 1;
	for (size_t i = 0; i < KL_ARRAY_SIZE(parts); i++)
		if (!strcmp(parts[i].name, argv[0]))
			return run_part(&parts[i], &args, ctx);
	return kl_opt_usage(synopsis, "unknown subcommand '%s'", argv[0]);
}
