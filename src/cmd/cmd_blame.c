/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_blame - git klineage blame: the step of a lineage that each line of a file comes from */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "card/library.h"
#include "cmd/cmd.h"
#include "cmd/listing.h"
#include "cmd/opt.h"
#include "cmd/table.h"
#include "contract/contract.h"
#include "contract/surface.h"
#include "lineage/view.h"
#include "repo/blame.h"
#include "text/json.h"

static const char synopsis[] = "blame [<options>] <file>";

#define MAX_TEXT ((size_t)4 << 20) /* of a source */
#define OUTSIDE SIZE_MAX           /* a line that no state of the lineage has */

/* What is asked about: a file, the lineage that it is looked for in, and what its lines say. */
struct subject {
	char *path;         /* in the contract's directory */
	char *workload;     /* of the contract around it; NULL: none was found */
	struct kl_buf text; /* as it lies in the worktree */
	bool there;         /* it does */
	struct kl_view view;
	size_t *step; /* of each line; OUTSIDE */
	struct kl_strvec lines;
	struct kl_card **card; /* those that have a step of this lineage as evidence */
	size_t ncard, alloc;
};

static void subject_release(struct subject *s)
{
	free(s->path);
	free(s->workload);
	kl_buf_release(&s->text);
	kl_view_release(&s->view);
	free(s->step);
	kl_strvec_release(&s->lines);
	for (size_t i = 0; i < s->ncard; i++)
		kl_card_free(s->card[i]);
	free(s->card);
}

/* --- which file, of which workload --------------------------------------------- */

static int read_workload(char **out, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_contract_freep) struct kl_contract *c = NULL;
	int err = kl_fs_read(&text, path, KL_CONTRACT_MAX_BYTES);

	if (!err)
		err = kl_contract_parse(&c, path, text.ptr, text.len);
	if (!err)
		*out = kl_strdup(c->workload);
	return err;
}

/* The innermost contract around the file: paths of a lineage begin there. */
static int find_contract(struct subject *s, struct kl_repo *r, const char *file)
{
	KL_AUTO(kl_freep) char *full = kl_asprintf("%s%s", kl_repo_prefix(r), file);
	KL_AUTO(kl_freep) char *dir = kl_strdup(full);
	const char *top = kl_repo_worktree(r);

	s->path = kl_strdup(full);
	for (size_t n = strlen(dir); top && n;) {
		KL_AUTO(kl_freep) char *at = NULL;
		KL_AUTO(kl_freep) char *contract = NULL;

		while (n && dir[n - 1] != '/')
			n--;
		dir[n] = '\0';
		at = kl_fs_join(top, dir);
		contract = kl_fs_join(at, KL_CONTRACT_FILE);
		if (kl_fs_exists(contract)) {
			free(s->path);
			s->path = kl_strdup(full + n);
			return read_workload(&s->workload, contract);
		}
		n -= n > 0;
	}
	return 0;
}

static int read_text(struct subject *s, struct kl_repo *r, const char *file)
{
	KL_AUTO(kl_freep) char *full = kl_asprintf("%s%s", kl_repo_prefix(r), file);
	KL_AUTO(kl_freep) char *path = NULL;

	if (!kl_repo_worktree(r))
		return 0;
	path = kl_fs_join(kl_repo_worktree(r), full);
	s->there = kl_fs_exists(path);
	return s->there ? kl_fs_read(&s->text, path, MAX_TEXT) : 0;
}

static int open_lineage(struct subject *s, struct kl_repo *r, const char *lineage)
{
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *name = NULL;
	int err = kl_view_pick(&workload, &name, r, lineage ? lineage : s->workload);

	if (err == KL_EUSAGE)
		return kl_error_hint(err, "say it with --lineage");
	return err < 0 ? err : kl_view_load(&s->view, r, workload, name);
}

/* --- which step -------------------------------------------------------------------- */

static size_t step_of(const struct kl_view *v, const git_oid *commit)
{
	for (size_t i = 0; i < v->n; i++)
		if (!memcmp(&v->step[i].commit, commit, sizeof(*commit)))
			return i;
	return OUTSIDE;
}

/* Each line of a text, without its end. */
static void split_lines(struct kl_strvec *out, const char *text)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\n");

		kl_strvec_take(out, kl_strndup(p, n));
		p += n + (p[n] == '\n');
	}
}

static int blame_subject(struct subject *s, struct kl_repo *r)
{
	KL_AUTO(kl_blame_release) struct kl_blame b = { 0 };
	const git_oid *tip = &s->view.step[s->view.n - 1].commit;
	git_oid tree, blob;
	int err = kl_repo_blame(&b, r, tip, s->path, s->there ? &s->text : NULL);

	if (!err && !s->there) {
		err = kl_repo_tree_of(&tree, r, tip);
		if (!err)
			err = kl_repo_tree_entry(&blob, NULL, r, &tree, s->path);
		if (!err)
			err = kl_repo_blob_read(&s->text, r, &blob, MAX_TEXT);
	}
	if (err < 0)
		return kl_error_in(err, "%s/%s", s->view.workload, s->view.name);
	split_lines(&s->lines, s->text.ptr);
	if (s->lines.n != b.n)
		return kl_error(KL_EIO, "git blame knows %zu lines of '%s', which has %zu", b.n,
				s->path, s->lines.n);
	s->step = kl_calloc(b.n + 1, sizeof(*s->step));
	for (size_t i = 0; i < b.n; i++)
		s->step[i] = step_of(&s->view, &b.line[i]);
	return 0;
}

/* --- which cards ------------------------------------------------------------------------ */

static bool is_evidence(const struct kl_card *c, const struct kl_view *v, size_t step)
{
	KL_AUTO(kl_freep) char *lineage = kl_asprintf("%s/%s", v->workload, v->name);
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &v->step[step].commit);
	for (size_t i = 0; i < c->evidence.n; i++) {
		const struct kl_card_evidence *e = &c->evidence.v[i];

		if ((e->after && !strcmp(e->after, hex)) ||
		    (e->lineage && !strcmp(e->lineage, lineage) && e->step == (int64_t)step))
			return true;
	}
	return false;
}

/* The library's cards on this lineage; a card that cannot be read is fsck's business. */
static int load_cards(struct subject *s, struct kl_repo *r)
{
	KL_AUTO(kl_library_freep) struct kl_library *l = NULL;
	int err = kl_library_open(&l, r);

	for (size_t i = 0; !err && i < kl_library_count(l); i++) {
		KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
		bool any = false;

		if (kl_library_card_at(&c, l, i) < 0) {
			kl_error_clear();
			continue;
		}
		for (size_t k = 1; k < s->view.n && !any; k++)
			any = is_evidence(c, &s->view, k);
		if (!any)
			continue;
		KL_GROW(s->card, s->ncard + 1, s->alloc);
		s->card[s->ncard++] = kl_steal(&c);
	}
	return err;
}

/* --- printing ------------------------------------------------------------------------------ */

static void format_effect(char out[32], const struct kl_ratio *r)
{
	snprintf(out, 32, r->ppm > 0 ? "%.2fx" : "", (double)r->ppm / 1e6);
}

/* What a step is about, in a word: what it brings, else the backward step that takes it away. */
static const char *describe_subject(const struct subject *s, size_t k)
{
	const struct kl_step *step = k == OUTSIDE ? NULL : &s->view.step[k].step;

	return !step           ? "not of it" :
	       !k              ? "(simplest)" :
	       step->mechanism ? step->mechanism :
	       step->action    ? step->action :
				 "?";
}

static void print_lines(const struct subject *s, const struct kl_term *t)
{
	size_t width = 0, last = OUTSIDE - 1;

	for (size_t i = 0; i < s->lines.n; i++)
		if (strlen(describe_subject(s, s->step[i])) > width)
			width = strlen(describe_subject(s, s->step[i]));
	for (size_t i = 0; i < s->lines.n; i++) {
		size_t k = s->step[i];
		const struct kl_view_step *v = k == OUTSIDE ? NULL : &s->view.step[k];
		char state[24] = "", by[32] = "";
		const char *what = "";

		/* a run of lines says it once */
		if (k != last) {
			snprintf(state, sizeof(state), k == OUTSIDE ? "-" : "K_%zu", k);
			what = describe_subject(s, k);
			if (v)
				format_effect(by, &v->prev);
		}
		last = k;
		printf("%s%-6s %-*s %9s%s %5zu) %s\n",
		       k == OUTSIDE ? kl_paint(t, KL_PAINT_WARN) : kl_paint(t, KL_PAINT_FRAG),
		       state, (int)width, what, by, kl_paint(t, KL_PAINT_RESET), i + 1,
		       s->lines.v[i]);
	}
}

static void print_card(const struct kl_card *c)
{
	printf("        card %s\n", c->id);
	for (size_t i = 0; i < c->sound.n; i++)
		printf("          sound if   %s\n",
		       c->sound.v[i].text ? c->sound.v[i].text : c->sound.v[i].id);
	for (size_t i = 0; i < c->useful.n; i++)
		printf("          useful if  %s\n",
		       c->useful.v[i].text ? c->useful.v[i].text : c->useful.v[i].id);
}

/*
 * Each step that has a line here: what it is, where, what it brought, what is known of when it is
 * sound.
 */
static void print_steps(const struct subject *s, const struct kl_term *t)
{
	for (size_t k = 0; k < s->view.n; k++) {
		const struct kl_view_step *v = &s->view.step[k];
		size_t lines = 0;

		for (size_t i = 0; i < s->lines.n; i++)
			lines += s->step[i] == k;
		if (!lines)
			continue;
		printf("\n%sK_%zu%s, %zu line%s: %s\n", kl_paint(t, KL_PAINT_HEAD), k,
		       kl_paint(t, KL_PAINT_RESET), lines, lines == 1 ? "" : "s", v->step.text);
		if (!k)
			continue;
		printf("        undone by %s in %s; %s\n", v->step.action ? v->step.action : "?",
		       v->step.locus ? v->step.locus : "?",
		       v->step.derivation ? v->step.derivation : "?");
		if (v->prev.ppm > 0)
			printf("        %.3fx [%.3f, %.3f] against K_%zu\n",
			       (double)v->prev.ppm / 1e6, (double)v->prev.lo / 1e6,
			       (double)v->prev.hi / 1e6, k - 1);
		if (v->gained.n)
			printf("        brought");
		for (size_t i = 0; i < v->gained.n; i++)
			printf(" %s%s", v->gained.v[i], i + 1 == v->gained.n ? "\n" : "");
		for (size_t i = 0; i < s->ncard; i++)
			if (is_evidence(s->card[i], &s->view, k))
				print_card(s->card[i]);
	}
}

/* --- for programs ----------------------------------------------------------------------------- */

static json_t *texts_json(const struct kl_card_pre *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(v[i].text ? v[i].text : v[i].id));
	return list;
}

static json_t *cards_json(const struct subject *s, size_t step)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->ncard; i++) {
		json_t *o;

		if (!is_evidence(s->card[i], &s->view, step))
			continue;
		o = json_object();
		kl_json_set_str(o, "id", s->card[i]->id);
		kl_json_set(o, "sound", texts_json(s->card[i]->sound.v, s->card[i]->sound.n));
		kl_json_set(o, "useful", texts_json(s->card[i]->useful.v, s->card[i]->useful.n));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *step_json(const struct subject *s, size_t k)
{
	const struct kl_view_step *v = &s->view.step[k];
	json_t *o = kl_view_step_json(v, k);

	kl_json_set_int(o, "ratio_ppm", v->prev.ppm);
	kl_json_set_int(o, "lo_ppm", v->prev.lo);
	kl_json_set_int(o, "hi_ppm", v->prev.hi);
	kl_json_set(o, "cards", cards_json(s, k));
	return o;
}

/* One for each line, where a program wants lines. */
static json_t *rows_json(const struct subject *s, json_t *steps)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->lines.n; i++) {
		json_t *step = json_array_get(steps, s->step[i]),
		       *o = step ? json_copy(step) : json_object();
		json_t *cards = json_array(), *card;
		size_t k;

		json_array_foreach(json_object_get(step, "cards"), k, card)
			json_array_append(cards, json_object_get(card, "id"));
		kl_json_set_int(o, "line", (int64_t)i + 1);
		kl_json_set_str(o, "text", s->lines.v[i]);
		kl_json_set(o, "cards", cards);
		json_array_append_new(list, o);
	}
	return list;
}

static void print_listing(const struct kl_listing *out, const struct subject *s)
{
	static const char *const fields[] = { "line",      "step",      "commit", "action",
					      "mechanism", "ratio_ppm", "lo_ppm", "hi_ppm",
					      "cards",     "text",      NULL };
	KL_AUTO(json_decrefp) json_t *j = json_object();
	json_t *lines = json_array(), *steps = json_array();

	kl_json_set_str(j, "schema", "klineage.blame/1");
	kl_json_set_str(j, "workload", s->view.workload);
	kl_json_set_str(j, "name", s->view.name);
	kl_json_set_str(j, "path", s->path);
	for (size_t i = 0; i < s->lines.n; i++)
		json_array_append_new(lines, s->step[i] == OUTSIDE ?
						     json_null() :
						     json_integer((json_int_t)s->step[i]));
	kl_json_set(j, "lines", lines);
	for (size_t k = 0; k < s->view.n; k++)
		json_array_append_new(steps, step_json(s, k));
	kl_json_set(j, "steps", steps);
	if (!out->json)
		kl_json_set(j, "rows", rows_json(s, steps));
	kl_listing_print(out, j, "rows", fields);
}

/* --- the verb --------------------------------------------------------------------------------- */

int cmd_blame(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(subject_release) struct subject s = { .text = KL_BUF_INIT };
	const char *lineage = NULL;
	struct kl_listing out = { 0 };
	bool steps = true;
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "lineage", &lineage, "<workload>[/<name>]",
			   "use this lineage (default: that of the contract around the file)"),
		KL_OPT_BOOL('\0', "steps", &steps, "describe the steps below the lines (default)"),
		KL_OPT_LISTING(&out), KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc != 1)
		return kl_opt_usage(synopsis, argc ? "one file at a time" : "which file?");
	if ((err = kl_listing_check(&out, synopsis)) < 0 ||
	    (err = find_contract(&s, ctx->repo, argv[0])) < 0 ||
	    (err = read_text(&s, ctx->repo, argv[0])) < 0 ||
	    (err = open_lineage(&s, ctx->repo, lineage)) < 0 ||
	    (err = blame_subject(&s, ctx->repo)) < 0 || (err = load_cards(&s, ctx->repo)) < 0)
		return err;
	if (kl_listing_asked(&out)) {
		print_listing(&out, &s);
		return 0;
	}
	print_lines(&s, &ctx->term);
	if (steps)
		print_steps(&s, &ctx->term);
	return 0;
}
