/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_skills - git klineage skills: lists, shows, retracts, exports, imports and merges cards */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "card/card_merge.h"
#include "card/exchange.h"
#include "card/status.h"
#include "cmd/cmd.h"
#include "cmd/opt.h"
#include "cmd/skills.h"
#include "cmd/table.h"

static const char synopsis[] =
	"skills list [--status <status>] [--json | --porcelain | -z]\n"
	"skills show [--json] <card>\n"
	"skills lint [--fix] [--json | --porcelain | -z] [<file or directory>...]\n"
	"skills retract --reason <why> <card>\n"
	"skills export [--format yaml|json|skill-md] [--output <directory>] [<card>...]\n"
	"skills import (--shipped | <file or directory>...)\n"
	"skills install-merge [--undo]\n"
	"skills merge-driver <base> <ours> <theirs>";

struct args {
	struct kl_repo *repo;
	int argc;
	char **argv;
	struct kl_listing out;
	bool fix, undo, shipped;
	const char *status, *reason, *format, *output;
};

/* --- list, show ---------------------------------------------------------------------- */

static size_t verified_rows(const struct kl_card *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->rows.n; i++)
		n += kl_card_row_is_verified(c, &c->rows.v[i]);
	return n;
}

static json_t *strings_json(const struct kl_strvec *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(list, json_string(v->v[i]));
	return list;
}

static json_t *card_json(const struct kl_card *c)
{
	json_t *j = json_object();
	size_t passed, trials;

	kl_status_count(&passed, &trials, c);
	kl_json_set_str(j, "id", c->id);
	kl_json_set_str(j, "status", kl_card_status_name(c->status));
	kl_json_set_str(j, "intent", c->intent);
	kl_json_set_str(j, "mechanism", c->mechanism);
	kl_json_set_str(j, "action", c->action);
	kl_json_set(j, "cases", strings_json(&c->scope.cases));
	kl_json_set(j, "languages", strings_json(&c->scope.languages));
	kl_json_set_int(j, "evidence", (int64_t)c->evidence.n);
	kl_json_set_int(j, "rows", (int64_t)c->rows.n);
	kl_json_set_int(j, "verified", (int64_t)verified_rows(c));
	kl_json_set_int(j, "passed", (int64_t)passed);
	kl_json_set_int(j, "trials", (int64_t)trials);
	return j;
}

static void card_row(struct kl_table *t, const struct kl_card *c)
{
	size_t passed, trials, n = verified_rows(c);
	KL_AUTO(kl_freep) char *evidence = kl_asprintf("%zu", c->evidence.n);
	KL_AUTO(kl_freep) char *rows = kl_asprintf("%zu/%zu", n, c->rows.n);
	KL_AUTO(kl_freep) char *trial = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf languages = KL_BUF_INIT;

	kl_status_count(&passed, &trials, c);
	trial = kl_asprintf("%zu/%zu", passed, trials);
	for (size_t i = 0; i < c->scope.languages.n; i++)
		kl_buf_addf(&languages, "%s%s", i ? "," : "", c->scope.languages.v[i]);
	kl_table_row(t, (const char *[]){ c->id, kl_card_status_name(c->status), evidence, rows,
					  trial, languages.len ? languages.ptr : "-" });
}

static int list_cards(const struct args *a)
{
	KL_AUTO(kl_library_freep) struct kl_library *l = NULL;
	KL_AUTO(kl_table_release) struct kl_table t = { .columns = 6 };
	KL_AUTO(json_decrefp) json_t *cards = json_array();
	int bad = 0, err;

	if (a->argc)
		return kl_opt_usage(synopsis, "list takes no argument");
	if ((err = kl_library_open(&l, a->repo)) < 0)
		return err;
	kl_table_row(&t, (const char *[]){ "card", "status", "evidence", "verified", "passed",
					   "languages" });
	for (size_t i = 0; i < kl_library_count(l); i++) {
		KL_AUTO(kl_card_freep) struct kl_card *c = NULL;

		if (kl_library_card_at(&c, l, i) < 0) {
			fprintf(stderr, "git-klineage: %s\n", kl_error_last());
			kl_error_clear();
			bad = 1;
			continue;
		}
		if (a->status && strcmp(a->status, kl_card_status_name(c->status)))
			continue;
		if (kl_listing_asked(&a->out))
			json_array_append_new(cards, card_json(c));
		else
			card_row(&t, c);
	}
	if (kl_listing_asked(&a->out))
		kl_skills_print_list(&a->out, l, cards);
	else if (t.cells.n > t.columns)
		kl_table_print(&t);
	else
		fprintf(stderr, "no cards here%s; 'git klineage lift' makes some\n",
			a->status ? " with that status" : "");
	return bad;
}

static int show_card(const struct args *a)
{
	KL_AUTO(kl_library_freep) struct kl_library *l = NULL;
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *j = NULL;
	size_t i;
	int err;

	if (a->argc != 1)
		return kl_opt_usage(synopsis, "say which card to show");
	if ((err = kl_library_open(&l, a->repo)) < 0 ||
	    (err = kl_library_find(&i, l, a->argv[0])) < 0)
		return err;
	if (!a->out.json) {
		if ((err = kl_library_text(&text, l, i)) < 0)
			return err;
		fputs(text.ptr, stdout);
		return 0;
	}
	if ((err = kl_library_card_at(&c, l, i)) < 0)
		return err;
	j = kl_card_to_json(c);
	kl_json_decimal(&text, j, false);
	puts(text.ptr);
	return 0;
}

/* --- retract ---------------------------------------------------------------------------- */

static int retract_card(const struct args *a)
{
	KL_AUTO(kl_library_freep) struct kl_library *l = NULL;
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
	KL_AUTO(kl_freep) char *subject = NULL;
	struct kl_library_change change = { 0 };
	const char *who;
	char now[21];
	int err;

	if (a->argc != 1)
		return kl_opt_usage(synopsis, "say which card to retract");
	if (!a->reason || !*a->reason)
		return kl_opt_usage(synopsis, "say why: --reason <why>");
	if ((err = kl_repo_identity(&who, a->repo)) < 0 ||
	    (err = kl_library_open(&l, a->repo)) < 0 ||
	    (err = kl_library_card(&c, l, a->argv[0])) < 0)
		return err;
	if (c->status == KL_CARD_RETRACTED)
		return kl_error(KL_EEXISTS, "'%s' is retracted already", c->id);
	kl_clock_iso(now);
	kl_card_retract(c, a->reason, who, now);
	subject = kl_asprintf("skills: retract %s", c->id);
	change = (struct kl_library_change){ .card = c, .subject = subject, .body = a->reason };
	if ((err = kl_skills_check_line(a->reason)) < 0 || (err = kl_library_put(l, &change)) < 0)
		return err;
	printf("%s is retracted\n", c->id);
	return 0;
}

/* --- export, import ---------------------------------------------------------------------- */

static int export_to_stdout(struct kl_library *l, const char *id, enum kl_format format)
{
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
	KL_AUTO(kl_map_release) struct kl_map events = KL_MAP_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if ((err = kl_library_card(&c, l, id)) < 0)
		return err;
	if (format == KL_FORMAT_JSON && (err = kl_exchange_events(&events, l, c)) < 0)
		return err;
	kl_exchange_write(&text, c, &events, format);
	fputs(text.ptr, stdout);
	return 0;
}

static int export_cards(const struct args *a)
{
	KL_AUTO(kl_library_freep) struct kl_library *l = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	enum kl_format format = KL_FORMAT_YAML;
	size_t files, at;
	int err = a->format ? kl_format_parse(&format, a->format) : 0;

	if (err < 0 || (err = kl_library_open(&l, a->repo)) < 0)
		return err;
	for (int i = 0; i < a->argc; i++) {
		if ((err = kl_library_find(&at, l, a->argv[i])) < 0)
			return err;
		kl_strvec_push(&ids, kl_library_id(l, at));
	}
	for (size_t i = 0; !a->argc && i < kl_library_count(l); i++)
		kl_strvec_push(&ids, kl_library_id(l, i));
	if (!a->output && ids.n == 1)
		return export_to_stdout(l, ids.v[0], format);
	if (!a->output)
		return ids.n ? kl_opt_usage(synopsis,
					    "%zu cards need a directory: --output <directory>",
					    ids.n) :
			       kl_error(KL_ENOTFOUND, "there is no card to export");
	if ((err = kl_exchange_export(&files, l, &ids, a->output, format)) < 0)
		return err;
	printf("%zu card%s, %zu files in %s\n", ids.n, ids.n == 1 ? "" : "s", files, a->output);
	return 0;
}

static void print_refused(const char *path, void *payload)
{
	const char *why = kl_error_last();

	/* a reader's own message begins with the place */
	if (strncmp(why, path, strlen(path)))
		fprintf(stderr, "git-klineage: refused %s: %s\n", path, why);
	else
		fprintf(stderr, "git-klineage: refused %s\n", why);
}

static int import_cards(const struct args *a)
{
	KL_AUTO(kl_library_freep) struct kl_library *l = NULL;
	KL_AUTO(kl_freep) char *shipped = NULL;
	struct kl_exchange_result r = { 0 };
	const char *who;
	int err;

	if (a->shipped == (a->argc > 0))
		return kl_opt_usage(synopsis,
				    "say what to import: files, directories, or --shipped");
	if ((a->shipped && (err = kl_fs_share(&shipped, "skills")) < 0) ||
	    (err = kl_repo_identity(&who, a->repo)) < 0 || (err = kl_library_open(&l, a->repo)) < 0)
		return err;
	if (shipped)
		err = kl_exchange_import(&r, l, shipped, print_refused, NULL);
	for (int i = 0; !err && i < a->argc; i++)
		err = kl_exchange_import(&r, l, a->argv[i], print_refused, NULL);
	if (err < 0)
		return err;
	printf("%zu new card%s, %zu merged, %zu the same", r.added, r.added == 1 ? "" : "s",
	       r.merged, r.same);
	if (r.refused)
		printf(", %zu refused", r.refused);
	puts("");
	if (!r.refused)
		return 0;
	return kl_error(KL_EINVALID, "%zu refused: no card, or only part of one", r.refused);
}

/* --- merging -------------------------------------------------------------------------------- */

static int install_merge(const struct args *a)
{
	static const char key[] = "merge.klineage-card.driver";
	int err;

	if (a->argc)
		return kl_opt_usage(synopsis, "install-merge takes no argument");
	err = kl_repo_config_set(a->repo, "merge.klineage-card.name",
				 a->undo ? NULL : "cards of git-klineage, field by field");
	if (!err)
		err = kl_repo_config_set(
			a->repo, key, a->undo ? NULL : "git klineage skills merge-driver %O %A %B");
	if (err < 0)
		return err;
	if (a->undo)
		puts("git merges cards as text again");
	else
		printf("git merges cards field by field: %s\n", key);
	return 0;
}

static int merge_driver(const struct args *a)
{
	KL_AUTO(kl_buf_release) struct kl_buf base = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf ours = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf theirs = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	int err, conflict;

	if (a->argc != 3)
		return kl_opt_usage(synopsis, "merge-driver takes three files");
	if ((err = kl_fs_read(&base, a->argv[0], KL_CARD_MAX_BYTES)) < 0 ||
	    (err = kl_fs_read(&ours, a->argv[1], KL_CARD_MAX_BYTES)) < 0 ||
	    (err = kl_fs_read(&theirs, a->argv[2], KL_CARD_MAX_BYTES)) < 0)
		return err;
	conflict = kl_card_merge_text(&out, "card", &base, &ours, &theirs);
	if (conflict && conflict != KL_ENO)
		return conflict;
	if ((err = kl_fs_put(a->argv[1], out.ptr, out.len, 0644)) < 0)
		return err;
	if (conflict)
		kl_error_hint(conflict,
			      "one of the texts was kept: look, edit, and 'git add' the file");
	return conflict;
}

/* --- the verb --------------------------------------------------------------------------------- */

static bool of_files(const struct args *a)
{
	return a->argc > 0;
}

static int lint_cards(const struct args *a)
{
	return kl_skills_lint(a->repo, a->argc, a->argv, a->fix, &a->out);
}

struct part {
	const char *name;
	int (*run)(const struct args *a);
	bool lists;
	bool (*anywhere)(const struct args *a); /* does it do without a repository? NULL: no */
};

static const struct part parts[] = {
	{ "list", list_cards, true, NULL },
	{ "show", show_card, false, NULL },
	{ "lint", lint_cards, true, of_files },
	{ "retract", retract_card, false, NULL },
	{ "export", export_cards, false, NULL },
	{ "import", import_cards, false, NULL },
	{ "install-merge", install_merge, false, NULL },
	{ "merge-driver", merge_driver, false, of_files },
};

static int run_part(const struct part *p, struct args *a, struct kl_cmd_ctx *ctx)
{
	int err = 0;

	if ((a->out.porcelain || a->out.nul) && !p->lists)
		return kl_opt_usage(synopsis, "--porcelain goes with list and lint");
	if (!p->anywhere || !p->anywhere(a))
		err = kl_repo_open(&ctx->repo);
	a->repo = ctx->repo;
	return err < 0 ? err : p->run(a);
}

int cmd_skills(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct args a = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "fix", &a.fix, "lint: rewrite the files in canonical form"),
		KL_OPT_STR('\0', "format", &a.format, "<format>",
			   "export: write yaml (default), json or skill-md"),
		KL_OPT_LISTING(&a.out),
		KL_OPT_STR('o', "output", &a.output, "<directory>",
			   "export: write the files to this directory"),
		KL_OPT_STR('\0', "reason", &a.reason, "<why>",
			   "retract: give the reason, in one line"),
		KL_OPT_BOOL('\0', "shipped", &a.shipped,
			    "import: import the cards that come with git-klineage"),
		KL_OPT_STR('\0', "status", &a.status, "<status>",
			   "list: print only hypothesis, provisional, admitted or retracted"),
		KL_OPT_BOOL('\0', "undo", &a.undo, "install-merge: remove the configuration"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = kl_listing_check(&a.out, synopsis)) < 0)
		return err;
	if (!argc)
		return kl_opt_usage(synopsis, "say what to do");
	a.argc = argc - 1;
	a.argv = argv + 1;
	for (size_t i = 0; i < KL_ARRAY_SIZE(parts); i++)
		if (!strcmp(parts[i].name, argv[0]))
			return run_part(&parts[i], &a, ctx);
	return kl_opt_usage(synopsis, "'%s' is nothing that skills can do", argv[0]);
}
