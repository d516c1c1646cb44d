/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/skills.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/par.h"
#include "cmd/opt.h"

void kl_skills_print_list(const struct kl_listing *out, struct kl_library *l, json_t *cards)
{
	static const char *const fields[] = { "id",        "status", "mechanism", "action",
					      "languages", "cases",  "evidence",  "rows",
					      "verified",  "passed", "trials",    "intent",
					      NULL };
	KL_AUTO(json_decrefp) json_t *j = json_object();
	char tip[KL_OID_HEX];

	kl_oid_hex(tip, kl_library_tip(l));
	kl_json_set_str(j, "schema", "klineage.skills/1");
	kl_json_set_str(j, "ref", kl_library_ref(l));
	kl_json_set_str(j, "tip", strspn(tip, "0") == strlen(tip) ? NULL : tip);
	json_object_set(j, "cards", cards);
	kl_listing_print(out, j, "cards", fields);
}

int kl_skills_check_line(const char *text)
{
	for (const unsigned char *s = (const unsigned char *)text; *s; s++)
		if (*s < 0x20 || *s == 0x7f)
			return kl_error(KL_EINVALID, "the reason must be one line");
	return strlen(text) <= 2000 ? 0 : kl_error(KL_EINVALID, "the reason is too long");
}

/* --- lint --------------------------------------------------------------------------------- */

struct linter {
	json_t *list; /* NULL: print */
	bool fix;
	size_t cards, errors, warnings, fixed;
	struct kl_map ids; /* id -> where it was, owned */
};

static void note_finding(struct linter *x, bool error, const char *where, const char *what)
{
	json_t *j;

	*(error ? &x->errors : &x->warnings) += 1;
	if (!x->list) {
		/* the reader's own messages begin with the place */
		if (!strncmp(what, where, strlen(where)))
			printf("%s: %s\n", error ? "error" : "warning", what);
		else
			printf("%s: %s: %s\n", error ? "error" : "warning", where, what);
		return;
	}
	j = json_object();
	kl_json_set_str(j, "severity", error ? "error" : "warning");
	kl_json_set_str(j, "where", where);
	kl_json_set_str(j, "what", what);
	json_array_append_new(x->list, j);
}

/* one card, read: whatever processor did it */
struct read_card {
	char *where;      /* "cards/x.yaml" */
	const char *path; /* of a file on disk, NULL: of the library */
	struct kl_buf text;
	char *id, *error; /* the one or the other */
	int line;         /* where it is not canonical, 0: it is */
	char *fixed;      /* canonical, if asked for */
};

static void read_card_release(struct read_card *r)
{
	free(r->where);
	kl_buf_release(&r->text);
	free(r->id);
	free(r->error);
	free(r->fixed);
}

static void read_card(struct read_card *r, bool fix)
{
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
	struct kl_buf fixed = KL_BUF_INIT;

	if (kl_card_parse(&c, r->where, r->text.ptr, r->text.len) < 0) {
		r->error = kl_strdup(kl_error_last());
		kl_error_clear();
		return;
	}
	r->id = kl_strdup(c->id);
	r->line = kl_card_canonical_line(c, r->text.ptr, r->text.len);
	if (!fix || !r->line)
		return;
	kl_card_write(&fixed, c);
	r->fixed = kl_buf_detach(&fixed);
}

static int report_card(struct linter *x, const struct read_card *r)
{
	const char *slash = strrchr(r->where, '/'), *leaf = slash ? slash + 1 : r->where;
	KL_AUTO(kl_freep) char *what = NULL;
	size_t n;

	x->cards++;
	if (r->error) {
		note_finding(x, true, r->where, r->error);
		return 0;
	}
	n = strlen(r->id);
	if (strncmp(leaf, r->id, n) || strcmp(leaf + n, ".yaml")) {
		what = kl_asprintf("it holds the card '%s', which belongs into %s.yaml", r->id,
				   r->id);
		note_finding(x, true, r->where, what);
	}
	if (kl_map_get(&x->ids, r->id)) {
		kl_freep(&what);
		what = kl_asprintf("the card '%s' is in %s, too", r->id,
				   (char *)kl_map_get(&x->ids, r->id));
		note_finding(x, true, r->where, what);
	}
	kl_map_put(&x->ids, r->id, kl_strdup(r->where));
	if (r->fixed) {
		x->fixed++;
		return kl_fs_write(r->path, r->fixed, strlen(r->fixed));
	}
	if (r->line) {
		kl_freep(&what);
		what = kl_asprintf("not canonical from line %d on%s", r->line,
				   r->path ? "; --fix writes it so" : "");
		note_finding(x, false, r->where, what);
	}
	return 0;
}

static int lint_file(struct linter *x, const char *path)
{
	KL_AUTO(read_card_release) struct read_card r = {
		.where = kl_strdup(path),
		.path = path,
		.text = KL_BUF_INIT,
	};
	int err = kl_fs_read(&r.text, path, KL_CARD_MAX_BYTES);

	if (err < 0)
		return err;
	read_card(&r, x->fix);
	return report_card(x, &r);
}

static int lint_path(struct linter *x, const char *path)
{
	KL_AUTO(kl_freep) char *cards = kl_fs_join(path, "cards");
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	const char *dir = kl_fs_is_dir(cards) ? cards : path;
	int err;

	if (!kl_fs_is_dir(path))
		return lint_file(x, path);
	err = kl_fs_list(&names, dir);
	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_freep) char *file = kl_fs_join(dir, names.v[i]);
		size_t n = strlen(file);

		if (n > 5 && !strcmp(file + n - 5, ".yaml"))
			err = lint_file(x, file);
	}
	return err;
}

/* --- the library: objects are read by one, cards by all processors ----------------------- */

#define BATCH 2048

static void read_some(void *ctx, size_t from, size_t to)
{
	struct read_card *r = ctx;

	for (size_t i = from; i < to; i++)
		read_card(&r[i], false);
}

static int lint_batch(struct linter *x, struct kl_library *l, size_t from, size_t n)
{
	KL_AUTO(kl_freep) struct read_card *r = kl_calloc(n, sizeof(*r));
	int err = 0;

	for (size_t i = 0; i < n; i++)
		r[i] = (struct read_card){
			.where = kl_asprintf("cards/%s.yaml", kl_library_id(l, from + i)),
			.text = KL_BUF_INIT,
		};
	for (size_t i = 0; !err && i < n; i++)
		err = kl_library_text(&r[i].text, l, from + i);
	if (!err)
		kl_par_for(n, 64, read_some, r);
	for (size_t i = 0; i < n; i++) {
		if (!err)
			err = report_card(x, &r[i]);
		read_card_release(&r[i]);
	}
	return err;
}

static int lint_library(struct linter *x, struct kl_repo *r)
{
	KL_AUTO(kl_library_freep) struct kl_library *l = NULL;
	int err = kl_library_open(&l, r);

	for (size_t i = 0; !err && i < kl_library_count(l); i += BATCH) {
		size_t left = kl_library_count(l) - i;

		err = lint_batch(x, l, i, left < BATCH ? left : BATCH);
	}
	return err;
}

static void print_listing(const struct kl_listing *out, struct linter *x)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();

	kl_json_set_str(j, "schema", "klineage.lint/1");
	kl_json_set_int(j, "cards", (int64_t)x->cards);
	kl_json_set_int(j, "errors", (int64_t)x->errors);
	kl_json_set_int(j, "warnings", (int64_t)x->warnings);
	kl_json_set_int(j, "fixed", (int64_t)x->fixed);
	kl_json_set(j, "findings", x->list);
	kl_listing_print(out, j, "findings",
			 (const char *const[]){ "severity", "where", "what", NULL });
}

int kl_skills_statuses(unsigned *out, const char *synopsis, const char *text)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;

	*out = 0;
	kl_strvec_split(&words, text, ",");
	for (size_t i = 0; i < words.n; i++) {
		int s;

		for (s = KL_CARD_HYPOTHESIS; s <= KL_CARD_ADMITTED; s++)
			if (!strcmp(words.v[i], kl_card_status_name((enum kl_card_status)s)))
				break;
		if (s > KL_CARD_ADMITTED)
			return kl_opt_usage(synopsis,
					    "'%s' is no status to ask for: hypothesis, "
					    "provisional, admitted",
					    words.v[i]);
		*out |= 1u << s;
	}
	return *out ? 0 : kl_opt_usage(synopsis, "--status wants a status");
}

int kl_skills_lint(struct kl_repo *r, int argc, char **argv, bool fix, const struct kl_listing *out)
{
	struct linter x = { .fix = fix, .ids = { .free_value = free } };
	int err = 0;

	if (fix && !argc)
		return kl_error(
			KL_EUSAGE,
			"--fix needs files: the library's own cards are written canonically");
	if (kl_listing_asked(out))
		x.list = json_array();
	if (!argc)
		err = lint_library(&x, r);
	for (int i = 0; !err && i < argc; i++)
		err = lint_path(&x, argv[i]);
	kl_map_release(&x.ids);
	if (err < 0) {
		json_decref(x.list);
		return err;
	}
	if (kl_listing_asked(out))
		print_listing(out, &x);
	else
		printf("%zu card%s: %zu error%s, %zu warning%s%s\n", x.cards,
		       x.cards == 1 ? "" : "s", x.errors, x.errors == 1 ? "" : "s", x.warnings,
		       x.warnings == 1 ? "" : "s",
		       x.fixed ? "; written anew where it was not canonical" : "");
	return x.errors || x.warnings ? 1 : 0;
}
