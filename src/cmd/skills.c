/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/skills.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/par.h"
#include "base/prefix.h"
#include "cmd/cli/opt.h"

void kl_skills_print_list(const struct kl_listing *out, struct kl_library *library, json_t *cards)
{
	static const char *const fields[] = { "id",        "status", "mechanism", "action",
					      "languages", "cases",  "evidence",  "rows",
					      "verified",  "passed", "trials",    "intent",
					      NULL };
	KL_AUTO(json_decrefp) json_t *value = json_object();
	char tip[KL_OID_HEX];

	kl_oid_hex(tip, kl_library_tip(library));
	kl_json_set_str(value, "schema", "klineage.skills/1");
	kl_json_set_str(value, "ref", kl_library_ref(library));
	kl_json_set_str(value, "tip", strspn(tip, "0") == strlen(tip) ? NULL : tip);
	json_object_set(value, "cards", cards);
	kl_listing_print(out, value, "cards", fields);
}

int kl_skills_check_line(const char *text)
{
	for (const unsigned char *bytes = (const unsigned char *)text; *bytes; bytes++)
		if (*bytes < 0x20 || *bytes == 0x7f)
			return kl_error(KL_EINVALID, "the reason must be one line");
	return strlen(text) <= 2000 ? 0 : kl_error(KL_EINVALID, "the reason is too long");
}

/* --- lint --------------------------------------------------------------------------------- */

struct linter {
	json_t *list; /* gets the findings as JSON; NULL: print them as text */
	bool fix;
	size_t cards, errors, warnings, fixed;
	struct kl_map ids; /* card id -> where the card is stored ("cards/x.yaml"); values owned */
};

static void note_finding(struct linter *linter, bool error, const char *where, const char *what)
{
	json_t *value;

	*(error ? &linter->errors : &linter->warnings) += 1;
	if (!linter->list) {
		/* the message of a parse error already starts with `where` */
		if (kl_prefix_has(what, where))
			printf("%s: %s\n", error ? "error" : "warning", what);
		else
			printf("%s: %s: %s\n", error ? "error" : "warning", where, what);
		return;
	}
	value = json_object();
	kl_json_set_str(value, "severity", error ? "error" : "warning");
	kl_json_set_str(value, "where", where);
	kl_json_set_str(value, "what", what);
	json_array_append_new(linter->list, value);
}

/* The result of reading and checking one card in a thread. */
struct read_card {
	char *where;      /* "cards/x.yaml" */
	const char *path; /* path of the file; NULL: the card is in the library */
	struct kl_buf text;
	char *id, *error; /* the card's id, or why the card is invalid; one of the two is NULL */
	int line;         /* first line that is not canonical; 0: none */
	char *fixed;      /* with --fix, the canonical text; NULL: `text` is canonical */
};

static void read_card_release(struct read_card *card)
{
	free(card->where);
	kl_buf_release(&card->text);
	free(card->id);
	free(card->error);
	free(card->fixed);
}

static void read_card(struct read_card *card, bool fix)
{
	KL_AUTO(kl_card_freep) struct kl_card *parsed = NULL;
	struct kl_buf fixed = KL_BUF_INIT;

	if (kl_card_parse(&parsed, card->where, card->text.ptr, card->text.len) < 0) {
		card->error = kl_strdup(kl_error_last());
		kl_error_clear();
		return;
	}
	card->id = kl_strdup(parsed->id);
	card->line = kl_card_canonical_line(parsed, card->text.ptr, card->text.len);
	if (!fix || !card->line)
		return;
	kl_card_write(&fixed, parsed);
	card->fixed = kl_buf_detach(&fixed);
}

static int report_card(struct linter *linter, const struct read_card *card)
{
	const char *slash = strrchr(card->where, '/'), *leaf = slash ? slash + 1 : card->where;
	KL_AUTO(kl_freep) char *what = NULL;
	size_t n;

	linter->cards++;
	if (card->error) {
		note_finding(linter, true, card->where, card->error);
		return 0;
	}
	n = strlen(card->id);
	if (strncmp(leaf, card->id, n) || strcmp(leaf + n, ".yaml")) {
		what = kl_asprintf("contains the card '%s', which belongs in %s.yaml", card->id,
				   card->id);
		note_finding(linter, true, card->where, what);
	}
	if (kl_map_get(&linter->ids, card->id)) {
		kl_freep(&what);
		what = kl_asprintf("the card '%s' is also in %s", card->id,
				   (char *)kl_map_get(&linter->ids, card->id));
		note_finding(linter, true, card->where, what);
	}
	kl_map_put(&linter->ids, card->id, kl_strdup(card->where));
	if (card->fixed) {
		linter->fixed++;
		return kl_fs_write(card->path, card->fixed, strlen(card->fixed));
	}
	if (card->line) {
		kl_freep(&what);
		what = kl_asprintf("not canonical from line %d on%s", card->line,
				   card->path ? "; --fix rewrites it" : "");
		note_finding(linter, false, card->where, what);
	}
	return 0;
}

static int lint_file(struct linter *linter, const char *path)
{
	KL_AUTO(read_card_release) struct read_card card = {
		.where = kl_strdup(path),
		.path = path,
		.text = KL_BUF_INIT,
	};
	int err = kl_fs_read(&card.text, path, KL_CARD_MAX_BYTES);

	if (err < 0)
		return err;
	read_card(&card, linter->fix);
	return report_card(linter, &card);
}

static int lint_path(struct linter *linter, const char *path)
{
	KL_AUTO(kl_freep) char *cards = kl_fs_join(path, "cards");
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	const char *dir = kl_fs_is_dir(cards) ? cards : path;
	int err;

	if (!kl_fs_is_dir(path))
		return lint_file(linter, path);
	err = kl_fs_list(&names, dir);
	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_freep) char *file = kl_fs_join(dir, names.v[i]);
		size_t n = strlen(file);

		if (n > 5 && !strcmp(file + n - 5, ".yaml"))
			err = lint_file(linter, file);
	}
	return err;
}

/* --- the library: one thread reads objects, all threads parse cards ----------------------- */

#define BATCH 2048

static void read_some(void *ctx, size_t from, size_t to)
{
	struct read_card *card = ctx;

	for (size_t i = from; i < to; i++)
		read_card(&card[i], false);
}

static int lint_batch(struct linter *linter, struct kl_library *library, size_t from, size_t n)
{
	KL_AUTO(kl_freep) struct read_card *card = kl_calloc(n, sizeof(*card));
	int err = 0;

	for (size_t i = 0; i < n; i++)
		card[i] = (struct read_card){
			.where = kl_asprintf("cards/%s.yaml", kl_library_id(library, from + i)),
			.text = KL_BUF_INIT,
		};
	for (size_t i = 0; !err && i < n; i++)
		err = kl_library_text(&card[i].text, library, from + i);
	if (!err)
		kl_par_for(n, 64, read_some, card);
	for (size_t i = 0; i < n; i++) {
		if (!err)
			err = report_card(linter, &card[i]);
		read_card_release(&card[i]);
	}
	return err;
}

static int lint_library(struct linter *linter, struct kl_repo *repo)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	int err = kl_library_open(&library, repo);

	for (size_t i = 0; !err && i < kl_library_count(library); i += BATCH) {
		size_t left = kl_library_count(library) - i;

		err = lint_batch(linter, library, i, left < BATCH ? left : BATCH);
	}
	return err;
}

static void print_listing(const struct kl_listing *out, struct linter *linter)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();

	kl_json_set_str(value, "schema", "klineage.lint/1");
	kl_json_set_int(value, "cards", (int64_t)linter->cards);
	kl_json_set_int(value, "errors", (int64_t)linter->errors);
	kl_json_set_int(value, "warnings", (int64_t)linter->warnings);
	kl_json_set_int(value, "fixed", (int64_t)linter->fixed);
	kl_json_set(value, "findings", linter->list);
	kl_listing_print(out, value, "findings",
			 (const char *const[]){ "severity", "where", "what", NULL });
}

int kl_skills_statuses(unsigned *out, const char *synopsis, const char *text)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;

	*out = 0;
	kl_strvec_split(&words, text, ",");
	for (size_t i = 0; i < words.n; i++) {
		int status;

		for (status = KL_CARD_HYPOTHESIS; status <= KL_CARD_ADMITTED; status++)
			if (!strcmp(words.v[i], kl_card_status_name((enum kl_card_status)status)))
				break;
		if (status > KL_CARD_ADMITTED)
			return kl_opt_usage(synopsis,
					    "invalid status '%s' (expected hypothesis, "
					    "provisional or admitted)",
					    words.v[i]);
		*out |= 1u << status;
	}
	return *out ? 0 : kl_opt_usage(synopsis, "--status requires a status");
}

int kl_skills_lint(struct kl_repo *repo, int argc, char **argv, bool fix,
		   const struct kl_listing *out)
{
	struct linter linter = { .fix = fix, .ids = { .free_value = free } };
	int err = 0;

	if (fix && !argc)
		return kl_error(KL_EUSAGE,
				"--fix needs files; the library's own cards are always canonical");
	if (kl_listing_asked(out))
		linter.list = json_array();
	if (!argc)
		err = lint_library(&linter, repo);
	for (int i = 0; !err && i < argc; i++)
		err = lint_path(&linter, argv[i]);
	kl_map_release(&linter.ids);
	if (err < 0) {
		json_decref(linter.list);
		return err;
	}
	if (kl_listing_asked(out))
		print_listing(out, &linter);
	else
		printf("%zu card%s: %zu error%s, %zu warning%s%s\n", linter.cards,
		       linter.cards == 1 ? "" : "s", linter.errors, linter.errors == 1 ? "" : "s",
		       linter.warnings, linter.warnings == 1 ? "" : "s",
		       linter.fixed ? "; rewrote those that were not canonical" : "");
	return linter.errors || linter.warnings ? 1 : 0;
}
