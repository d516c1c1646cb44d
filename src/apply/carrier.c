/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/carrier.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/cocci.h"
#include "rewrite/rewriter.h"

#define MAX_FILE (4u << 20)

const struct kl_card_carrier *kl_carrier_mechanical(const struct kl_card *c, const char *language)
{
	for (size_t i = 0; i < c->carriers.n; i++)
		if (!strcmp(c->carriers.v[i].language, language) &&
		    kl_carrier_is_mechanical(&c->carriers.v[i]))
			return &c->carriers.v[i];
	return NULL;
}

struct edits {
	struct kl_file *v;
	size_t n, alloc;
};

static void edits_release(struct edits *e)
{
	kl_edits_free(e->v, e->n);
}

static void add_edit(struct edits *e, const char *path, struct kl_buf *text)
{
	KL_GROW(e->v, e->n + 1, e->alloc);
	e->v[e->n] = (struct kl_file){ .path = kl_strdup(path), .len = text->len };
	e->v[e->n++].data = kl_buf_detach(text);
}

static bool same_text(const struct kl_file *f, const struct kl_buf *text)
{
	return f->len == text->len && (!f->len || !memcmp(f->data, text->ptr, f->len));
}

/* --- diffs: which file is which ------------------------------------------------------ */

/* paths of the "diff --git a/x b/x" lines; no line inside a hunk begins so */
static int diff_paths(struct kl_strvec *out, const char *diff)
{
	static const char head[] = "diff --git a/";

	for (const char *s = diff; *s;) {
		size_t n = strcspn(s, "\n"), half;
		KL_AUTO(kl_freep) char *path = NULL;

		if (n > sizeof(head) + 3 && !strncmp(s, head, sizeof(head) - 1)) {
			half = (n - strlen("diff --git ") - 1) / 2; /* "a/x", as long as "b/x" */
			path = kl_strndup(s + strlen("diff --git a/"), half - 2);
			if (!kl_fs_path_ok(path))
				return kl_error(KL_ENO,
						"a path that leads out of the directory: '%s'",
						path);
			kl_strvec_push(out, path);
		}
		s += n + (s[n] == '\n');
	}
	return out->n ? 0 : kl_error(KL_ENO, "its diff names no file by 'diff --git'");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *file_kind(const char *path)
{
	const char *dot = strrchr(base_name(path), '.');

	return dot ? dot : "";
}

/* the only source that `same` holds of, or NULL */
static const struct kl_file *only_file(const struct kl_surface *s, const char *path,
				       const char *(*part)(const char *path))
{
	const struct kl_file *found = NULL;

	for (size_t i = 0; i < s->nfile; i++) {
		if (strcmp(part(s->file[i].path), part(path)))
			continue;
		if (found)
			return NULL;
		found = &s->file[i];
	}
	return found;
}

static const struct kl_file *source_for(const struct kl_surface *s, const char *path, bool alone)
{
	const struct kl_file *f = NULL;

	for (size_t i = 0; i < s->nfile; i++)
		if (!strcmp(s->file[i].path, path))
			return &s->file[i];
	f = only_file(s, path, base_name);
	return f || !alone ? f : only_file(s, path, file_kind);
}

/* --- diffs: applied ---------------------------------------------------------------------- */

/* what the diff makes of one file that stands alone in a tree */
static int patch_text(struct kl_buf *out, struct kl_repo *r, const git_oid *tree, const char *path,
		      const char *diff)
{
	git_oid made, blob;
	int err = kl_repo_apply(&made, r, tree, "", diff, strlen(diff));

	if (!err)
		err = kl_repo_tree_entry(&blob, NULL, r, &made, path);
	if (err == KL_ENOTFOUND)
		return kl_error(KL_ENO, "it removes '%s'", path);
	return err ? err : kl_repo_blob_read(out, r, &blob, MAX_FILE);
}

/* the state that the carrier was taken from, where the library's repository has it */
static int base_tree(git_oid *out, const struct kl_carrier_try *t, const struct kl_card_carrier *c)
{
	git_oid commit;

	for (size_t i = 0; c->of && t->library && i < t->card->evidence.n; i++) {
		const struct kl_card_evidence *e = &t->card->evidence.v[i];

		if (!strcmp(e->event, c->of) && !kl_oid_parse(&commit, e->before))
			return kl_repo_tree_of(out, t->library, &commit);
	}
	return KL_ENOTFOUND;
}

static int merge_file(struct kl_buf *out, const struct kl_carrier_try *t, const git_oid *base,
		      const char *path, const struct kl_file *f, const char *diff)
{
	KL_AUTO(kl_buf_release) struct kl_buf was = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf here = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf becomes = KL_BUF_INIT;
	git_oid blob;
	int err = kl_repo_tree_entry(&blob, NULL, t->library, base, path);

	if (!err)
		err = kl_repo_blob_read(&was, t->library, &blob, MAX_FILE);
	if (!err)
		err = patch_text(&becomes, t->library, base, path, diff);
	if (err)
		return err;
	kl_buf_add(&here, f->data, f->len);
	return kl_repo_merge_text(out, t->repo, &was, &here, &becomes);
}

/* one file of the diff; the whole diff is applied to a tree in which only its files stand */
struct mapped {
	struct kl_strvec paths;
	const struct kl_file **file;
};

static void mapped_release(struct mapped *m)
{
	kl_strvec_release(&m->paths);
	free(m->file);
}

static int map_files(struct mapped *m, const struct kl_carrier_try *t, const char *diff)
{
	int err = diff_paths(&m->paths, diff);

	if (err)
		return err;
	m->file = kl_calloc(m->paths.n, sizeof(*m->file));
	for (size_t i = 0; i < m->paths.n; i++) {
		m->file[i] = source_for(t->state, m->paths.v[i], m->paths.n == 1);
		if (!m->file[i])
			return kl_error(KL_ENO,
					"it changes '%s', and no source of '%s' answers to that",
					m->paths.v[i], t->state->contract->workload);
		for (size_t k = 0; k < i; k++)
			if (m->file[k] == m->file[i])
				return kl_error(KL_ENO, "it changes '%s' twice", m->paths.v[i]);
	}
	return 0;
}

static int merge_all(struct edits *out, const struct kl_carrier_try *t, const struct mapped *m,
		     const git_oid *base, const char *diff)
{
	for (size_t i = 0; i < m->paths.n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		int err = merge_file(&text, t, base, m->paths.v[i], m->file[i], diff);

		if (err)
			return err;
		if (!same_text(m->file[i], &text))
			add_edit(out, m->file[i]->path, &text);
	}
	return 0;
}

static int patch_all(struct edits *out, const struct kl_carrier_try *t, const struct mapped *m,
		     const char *diff)
{
	struct kl_tree_edit *e = kl_calloc(m->paths.n, sizeof(*e));
	git_oid tree;
	int err;

	for (size_t i = 0; i < m->paths.n; i++)
		e[i] = (struct kl_tree_edit){ .path = m->paths.v[i],
					      .data = m->file[i]->data,
					      .len = m->file[i]->len };
	err = kl_repo_tree_edit(&tree, t->repo, NULL, e, m->paths.n);
	free(e);
	for (size_t i = 0; !err && i < m->paths.n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

		err = patch_text(&text, t->repo, &tree, m->paths.v[i], diff);
		if (!err && !same_text(m->file[i], &text))
			add_edit(out, m->file[i]->path, &text);
	}
	return err;
}

static int apply_diff(struct edits *out, const char **how, const struct kl_carrier_try *t,
		      const struct kl_card_carrier *c)
{
	KL_AUTO(mapped_release) struct mapped m = { 0 };
	git_oid base;
	int err = map_files(&m, t, c->text);

	if (err)
		return err;
	*how = "merged three-way";
	err = base_tree(&base, t, c);
	if (!err)
		err = merge_all(out, t, &m, &base, c->text);
	if (!err || err == KL_EINTR || err == KL_EIO)
		return err;
	kl_error_clear(); /* the base is not here, or both changed the same lines */
	edits_release(out);
	*out = (struct edits){ 0 };
	*how = "applied as a patch";
	return patch_all(out, t, &m, c->text);
}

/* --- semantic patches ----------------------------------------------------------------------- */

static int apply_cocci(struct edits *out, const struct kl_carrier_try *t,
		       const struct kl_card_carrier *c)
{
	const char *const *suffixes = t->state->contract->language->spatch;

	if (!suffixes)
		return kl_error(KL_ENO, "Coccinelle reads no kernels in %s", c->language);
	if (!t->jail)
		return kl_error(KL_ENO, "there is no jail to run it in");
	for (size_t i = 0; i < t->state->nfile; i++) {
		const struct kl_file *f = &t->state->file[i];
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		bool changed = false;
		int err;

		if (!kl_suffix_in(f->path, suffixes))
			continue;
		err = kl_cocci_run(&text, &changed, t->jail, t->card->id, c->text, strlen(c->text),
				   f->data, f->len);
		if (err)
			return err;
		if (changed)
			add_edit(out, f->path, &text);
	}
	return out->n ? 0 : kl_error(KL_ENO, "it matches nothing here");
}

/* --- both ------------------------------------------------------------------------------------- */

/* whatever is wrong with a card's own text is an answer about the card */
static int as_answer(int err)
{
	switch (err) {
	case KL_EINVALID:
	case KL_ECANNOT:
	case KL_ETIMEOUT:
	case KL_ENOTFOUND:
		return KL_ENO;
	default:
		return err;
	}
}

int kl_carrier_apply(struct kl_surface **out, const char **how, const struct kl_carrier_try *t)
{
	const char *language = t->state->contract->language->name;
	const struct kl_card_carrier *c = kl_carrier_mechanical(t->card, language);
	KL_AUTO(edits_release) struct edits e = { 0 };
	int err;

	*how = "";
	if (!c)
		return kl_error(KL_ENO, "it has no diff and no semantic patch for %s", language);
	if (c->form == KL_CARRIER_COCCI) {
		*how = "by its semantic patch";
		err = apply_cocci(&e, t, c);
	} else {
		err = apply_diff(&e, how, t, c);
	}
	if (!err && !e.n)
		return kl_error(KL_ENO, "it changes nothing here");
	if (!err)
		err = kl_surface_with(out, t->state, e.v, e.n);
	return as_answer(err);
}
