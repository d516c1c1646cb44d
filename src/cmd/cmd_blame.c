/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_blame - git klineage blame: shows the step of a lineage that added each line of a file */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "card/library.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "contract/contract.h"
#include "contract/surface.h"
#include "lineage/view.h"
#include "repo/blame.h"
#include "report/content.h"
#include "text/json.h"

static const char synopsis[] = "blame [<options>] <file>";

#define MAX_TEXT ((size_t)4 << 20) /* maximum size of a source file, in bytes */
#define OUTSIDE SIZE_MAX           /* the line is not in any state of the lineage */

/* The file to blame, the lineage whose steps are searched, and the result. */
struct subject {
	char *file;         /* path of the file from the top; in a bare repository, as given */
	char *path;         /* path of the file in the lineage */
	char *workload;     /* workload of the file's contract; NULL: no contract was found */
	struct kl_buf text; /* the file in the worktree; if it is not there, the file in K* */
	bool there;         /* the file exists in the worktree */
	struct kl_view view;
	size_t *step; /* for each line, the index of the step that added it, or OUTSIDE */
	struct kl_strvec lines;
	struct kl_card **card; /* owned; cards with a step of this lineage as evidence */
	size_t ncard, alloc;
};

static void subject_release(struct subject *subject)
{
	free(subject->file);
	free(subject->path);
	free(subject->workload);
	kl_buf_release(&subject->text);
	kl_view_release(&subject->view);
	free(subject->step);
	kl_strvec_release(&subject->lines);
	for (size_t i = 0; i < subject->ncard; i++)
		kl_card_free(subject->card[i]);
	free(subject->card);
}

/* --- the file and its workload ------------------------------------------------- */

static int read_workload(char **out, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;
	int err = kl_fs_read(&text, path, KL_CONTRACT_MAX_BYTES);

	if (!err)
		err = kl_contract_parse(&contract, path, text.ptr, text.len);
	if (!err)
		*out = kl_strdup(contract->workload);
	return err;
}

/* Return true if `lineage` ("<workload>[/<name>]") belongs to this workload or is NULL. */
static bool may_be_of(const char *workload, const char *lineage)
{
	size_t n = strlen(workload);

	return !lineage || (!strncmp(lineage, workload, n) && (!lineage[n] || lineage[n] == '/'));
}

/*
 * Read a contract of the index. Set *out to NULL if the contract does not name the file or cannot
 * be read.
 */
static int read_named(struct kl_surface **out, const struct subject *subject, struct kl_repo *repo,
		      const git_oid *tree, const char *place)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;
	int err = kl_surface_bare(out, repo, tree, place);

	if (err == KL_EINTR || err == KL_EIO)
		return err;
	kl_error_clear();
	if (!err)
		kl_surface_paths(&paths, *out);
	if (!kl_strvec_has(&paths, subject->file)) {
		kl_surface_free(*out);
		*out = NULL;
	}
	return 0;
}

/*
 * Find the contract of the index that names the file. With `paths: repository`, the contract can be
 * in any directory. If several contracts name the file, take the one in the innermost directory.
 */
static int find_named(struct subject *subject, struct kl_repo *repo, const char *lineage)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec places = KL_STRVEC_INIT;
	size_t longest = 0, found = 0;
	git_oid tree;
	int err = kl_repo_staged_tree(&tree, repo);

	if (err < 0 && err != KL_EINTR) { /* the index has conflicts */
		kl_error_clear();
		return 0;
	}
	if (!err)
		err = kl_surface_places(&places, repo, &tree);
	for (size_t i = 0; !err && i < places.n; i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
		KL_AUTO(kl_freep) char *dir = kl_contract_place_dir(places.v[i]);
		size_t n = strlen(dir);

		err = read_named(&surface, subject, repo, &tree, places.v[i]);
		if (err < 0 || !surface || !may_be_of(surface->contract->workload, lineage) ||
		    (found && n < longest))
			continue;
		found = found && n == longest ? found + 1 : 1;
		longest = n;
		free(subject->workload);
		free(subject->path);
		subject->workload = kl_strdup(surface->contract->workload);
		subject->path = kl_strdup(subject->file +
					  (*surface->dir ? strlen(surface->dir) + 1 : 0));
	}
	if (err < 0 || found < 2)
		return err;
	kl_error(KL_EUSAGE, "more than one contract lists the file '%s'", subject->file);
	return kl_error_hint(KL_EUSAGE, "choose a workload with --lineage");
}

/* Find the innermost klineage.yaml of the worktree whose directory contains the file. */
static int find_above(struct subject *subject, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *dir = kl_strdup(subject->file);

	for (size_t n = strlen(dir); n;) {
		KL_AUTO(kl_freep) char *at = NULL;
		KL_AUTO(kl_freep) char *contract = NULL;

		while (n && dir[n - 1] != '/')
			n--;
		dir[n] = '\0';
		at = kl_fs_join(kl_repo_worktree(repo), dir);
		contract = kl_fs_join(at, KL_CONTRACT_FILE);
		if (kl_fs_exists(contract)) {
			subject->path = kl_strdup(subject->file + n);
			return read_workload(&subject->workload, contract);
		}
		n -= n > 0;
	}
	return 0;
}

/*
 * Find the file's contract: a contract that names the file or, if there is none, the contract of
 * the innermost directory that contains it.
 */
static int find_contract(struct subject *subject, struct kl_repo *repo, const char *file,
			 const char *lineage)
{
	int err;

	if (!kl_repo_worktree(repo)) {
		subject->file = kl_strdup(file);
		subject->path = kl_strdup(file);
		return 0;
	}
	err = kl_repo_path(&subject->file, repo, file);
	if (!err)
		err = find_named(subject, repo, lineage);
	if (!err && !subject->path)
		err = find_above(subject, repo);
	if (!err && !subject->path)
		subject->path = kl_strdup(subject->file);
	return err;
}

static int read_text(struct subject *subject, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *path = NULL;

	if (!kl_repo_worktree(repo))
		return 0;
	path = kl_fs_join(kl_repo_worktree(repo), subject->file);
	subject->there = kl_fs_exists(path);
	return subject->there ? kl_fs_read(&subject->text, path, MAX_TEXT) : 0;
}

static int open_lineage(struct subject *subject, struct kl_repo *repo, const char *lineage)
{
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *name = NULL;
	int err = kl_view_pick(&workload, &name, repo, lineage ? lineage : subject->workload);

	if (err == KL_EUSAGE)
		return kl_error_hint(err, "choose a lineage with --lineage");
	return err < 0 ? err : kl_view_load(&subject->view, repo, workload, name);
}

/* --- the step of each line --------------------------------------------------------- */

static size_t step_of(const struct kl_view *view, const git_oid *commit)
{
	for (size_t i = 0; i < view->n; i++)
		if (!memcmp(&view->step[i].commit, commit, sizeof(*commit)))
			return i;
	return OUTSIDE;
}

/* Split a text into lines, without their newlines. */
static void split_lines(struct kl_strvec *out, const char *text)
{
	for (const char *at = text; *at;) {
		size_t n = strcspn(at, "\n");

		kl_strvec_take(out, kl_strndup(at, n));
		at += n + (at[n] == '\n');
	}
}

static int blame_subject(struct subject *subject, struct kl_repo *repo)
{
	KL_AUTO(kl_blame_release) struct kl_blame blame = { 0 };
	const git_oid *tip = &subject->view.step[subject->view.n - 1].commit;
	git_oid tree, blob;
	int err = kl_repo_blame(&blame, repo, tip, subject->path,
				subject->there ? &subject->text : NULL);

	if (!err && !subject->there) {
		err = kl_repo_tree_of(&tree, repo, tip);
		if (!err)
			err = kl_repo_tree_entry(&blob, NULL, repo, &tree, subject->path);
		if (!err)
			err = kl_repo_blob_read(&subject->text, repo, &blob, MAX_TEXT);
	}
	if (err < 0)
		return kl_error_in(err, "%s/%s", subject->view.workload, subject->view.name);
	split_lines(&subject->lines, subject->text.ptr);
	if (subject->lines.n != blame.n)
		return kl_error(KL_EIO, "git blame returned %zu lines for '%s', which has %zu",
				blame.n, subject->path, subject->lines.n);
	subject->step = kl_calloc(blame.n + 1, sizeof(*subject->step));
	for (size_t i = 0; i < blame.n; i++)
		subject->step[i] = step_of(&subject->view, &blame.line[i]);
	return 0;
}

/* --- the cards of each step ------------------------------------------------------------- */

/*
 * Load the cards learned from this lineage. Skip cards that cannot be read, because fsck reports
 * them.
 */
static int load_cards(struct subject *subject, struct kl_repo *repo)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	int err = kl_library_open(&library, repo);

	for (size_t i = 0; !err && i < kl_library_count(library); i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
		bool any = false;

		if (kl_library_card_at(&card, library, i) < 0) {
			kl_error_clear();
			continue;
		}
		for (size_t k = 1; k < subject->view.n && !any; k++)
			any = kl_report_is_evidence(card, &subject->view, k);
		if (!any)
			continue;
		KL_GROW(subject->card, subject->ncard + 1, subject->alloc);
		subject->card[subject->ncard++] = kl_steal(&card);
	}
	return err;
}

/* --- printing ------------------------------------------------------------------------------ */

static void format_effect(char out[32], const struct kl_ratio *ratio)
{
	snprintf(out, 32, ratio->ppm > 0 ? "%.2fx" : "", (double)ratio->ppm / 1e6);
}

static const char *describe_subject(const struct subject *subject, size_t k)
{
	return k == OUTSIDE ? "(not in it)" :
	       !k           ? "(simplest)" :
			      kl_view_step_name(&subject->view.step[k]);
}

static void print_lines(const struct subject *subject, const struct kl_term *term)
{
	size_t width = 0, last = OUTSIDE - 1;

	for (size_t i = 0; i < subject->lines.n; i++)
		if (strlen(describe_subject(subject, subject->step[i])) > width)
			width = strlen(describe_subject(subject, subject->step[i]));
	for (size_t i = 0; i < subject->lines.n; i++) {
		size_t k = subject->step[i];
		const struct kl_view_step *step = k == OUTSIDE ? NULL : &subject->view.step[k];
		char state[24] = "", by[32] = "";
		const char *what = "";

		/* label only the first of consecutive lines that one step added */
		if (k != last) {
			snprintf(state, sizeof(state), k == OUTSIDE ? "-" : "K_%zu", k);
			what = describe_subject(subject, k);
			if (step)
				format_effect(by, &step->prev);
		}
		last = k;
		printf("%s%-6s %-*s %9s%s %5zu) %s\n",
		       k == OUTSIDE ? kl_paint(term, KL_PAINT_WARN) : kl_paint(term, KL_PAINT_FRAG),
		       state, (int)width, what, by, kl_paint(term, KL_PAINT_RESET), i + 1,
		       subject->lines.v[i]);
	}
}

static void print_card(const struct kl_card *card)
{
	printf("        card %s\n", card->id);
	for (size_t i = 0; i < card->sound.n; i++)
		if (kl_card_pre_counts(&card->sound.v[i]))
			printf("          sound if   %s\n",
			       card->sound.v[i].text ? card->sound.v[i].text : card->sound.v[i].id);
	for (size_t i = 0; i < card->useful.n; i++)
		printf("          useful if  %s\n",
		       card->useful.v[i].text ? card->useful.v[i].text : card->useful.v[i].id);
}

/*
 * Describe each step that has lines in the file: its place, its speedup, the features gained, and
 * the preconditions of its cards.
 */
static void print_steps(const struct subject *subject, const struct kl_term *term)
{
	for (size_t k = 0; k < subject->view.n; k++) {
		const struct kl_view_step *step = &subject->view.step[k];
		size_t lines = 0;

		for (size_t i = 0; i < subject->lines.n; i++)
			lines += subject->step[i] == k;
		if (!lines)
			continue;
		printf("\n%sK_%zu%s, %zu line%s: %s\n", kl_paint(term, KL_PAINT_HEAD), k,
		       kl_paint(term, KL_PAINT_RESET), lines, lines == 1 ? "" : "s",
		       step->step.text);
		if (!k)
			continue;
		printf("        undone by %s in %s; %s\n",
		       step->step.action ? step->step.action : "?",
		       step->step.locus ? step->step.locus : "?",
		       step->step.derivation ? step->step.derivation : "?");
		if (step->prev.ppm > 0)
			printf("        %.3fx [%.3f, %.3f] against K_%zu\n",
			       (double)step->prev.ppm / 1e6, (double)step->prev.lo / 1e6,
			       (double)step->prev.hi / 1e6, k - 1);
		kl_out_words("        gained", &step->gained);
		for (size_t i = 0; i < subject->ncard; i++)
			if (kl_report_is_evidence(subject->card[i], &subject->view, k))
				print_card(subject->card[i]);
	}
}

/* --- output for programs ---------------------------------------------------------------------- */

static json_t *texts_json(const struct kl_card_pre *pre, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		if (kl_card_pre_counts(&pre[i]))
			json_array_append_new(list,
					      json_string(pre[i].text ? pre[i].text : pre[i].id));
	return list;
}

static json_t *cards_json(const struct subject *subject, size_t step)
{
	json_t *list = json_array();

	for (size_t i = 0; i < subject->ncard; i++) {
		json_t *object;

		if (!kl_report_is_evidence(subject->card[i], &subject->view, step))
			continue;
		object = json_object();
		kl_json_set_str(object, "id", subject->card[i]->id);
		kl_json_set(object, "sound",
			    texts_json(subject->card[i]->sound.v, subject->card[i]->sound.n));
		kl_json_set(object, "useful",
			    texts_json(subject->card[i]->useful.v, subject->card[i]->useful.n));
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *step_json(const struct subject *subject, size_t k)
{
	const struct kl_view_step *step = &subject->view.step[k];
	json_t *object = kl_view_step_json(step, k);

	kl_json_set_int(object, "ratio_ppm", step->prev.ppm);
	kl_json_set_int(object, "lo_ppm", step->prev.lo);
	kl_json_set_int(object, "hi_ppm", step->prev.hi);
	kl_json_set(object, "cards", cards_json(subject, k));
	return object;
}

/* Return the rows of --porcelain: one row per line of the file. */
static json_t *rows_json(const struct subject *subject, json_t *steps)
{
	json_t *list = json_array();

	for (size_t i = 0; i < subject->lines.n; i++) {
		json_t *step = json_array_get(steps, subject->step[i]),
		       *object = step ? json_copy(step) : json_object();
		json_t *cards = json_array(), *card;
		size_t k;

		json_array_foreach(json_object_get(step, "cards"), k, card)
			json_array_append(cards, json_object_get(card, "id"));
		kl_json_set_int(object, "line", (int64_t)i + 1);
		kl_json_set_str(object, "text", subject->lines.v[i]);
		kl_json_set(object, "cards", cards);
		json_array_append_new(list, object);
	}
	return list;
}

static void print_listing(const struct kl_listing *out, const struct subject *subject)
{
	static const char *const fields[] = { "line",      "step",      "commit", "action",
					      "mechanism", "ratio_ppm", "lo_ppm", "hi_ppm",
					      "cards",     "text",      NULL };
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *lines = json_array(), *steps = json_array();

	kl_json_set_str(value, "schema", "klineage.blame/1");
	kl_json_set_str(value, "workload", subject->view.workload);
	kl_json_set_str(value, "name", subject->view.name);
	kl_json_set_str(value, "path", subject->path);
	for (size_t i = 0; i < subject->lines.n; i++)
		json_array_append_new(lines, subject->step[i] == OUTSIDE ?
						     json_null() :
						     json_integer((json_int_t)subject->step[i]));
	kl_json_set(value, "lines", lines);
	for (size_t k = 0; k < subject->view.n; k++)
		json_array_append_new(steps, step_json(subject, k));
	kl_json_set(value, "steps", steps);
	if (!out->json)
		kl_json_set(value, "rows", rows_json(subject, steps));
	kl_listing_print(out, value, "rows", fields);
}

/* --- the verb --------------------------------------------------------------------------------- */

int cmd_blame(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(subject_release) struct subject subject = { .text = KL_BUF_INIT };
	const char *lineage = NULL;
	struct kl_listing out = { 0 };
	bool steps = true;
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "lineage", &lineage, "<workload>[/<name>]",
			   "use this lineage (default: that of the file's contract)"),
		KL_OPT_BOOL('\0', "steps", &steps, "describe the steps below the lines (default)"),
		KL_OPT_LISTING(&out), KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc != 1)
		return kl_opt_usage(synopsis,
				    argc ? "only one file can be given" : "no file given");
	if ((err = kl_listing_check(&out, synopsis)) < 0 ||
	    (err = find_contract(&subject, ctx->repo, argv[0], lineage)) < 0 ||
	    (err = read_text(&subject, ctx->repo)) < 0 ||
	    (err = open_lineage(&subject, ctx->repo, lineage)) < 0 ||
	    (err = blame_subject(&subject, ctx->repo)) < 0 ||
	    (err = load_cards(&subject, ctx->repo)) < 0)
		return err;
	if (kl_listing_asked(&out)) {
		print_listing(&out, &subject);
		return 0;
	}
	print_lines(&subject, &ctx->term);
	if (steps)
		print_steps(&subject, &ctx->term);
	return 0;
}
