/* SPDX-License-Identifier: Apache-2.0 */
/* carrier_diff - applies the diff of a card */
#include <stdlib.h>
#include <string.h>

#include "apply/carrier_parts.h"
#include "base/error.h"
#include "base/fs.h"
#include "rewrite/rewriter.h"
#include "text/line_ends.h"

#define MAX_FILE (4u << 20)

/*
 * The texts of a card have LF (docs/formats.md, "Carriers"). Where sources have CR LF, their copies
 * with LF are patched, and the result gets CR LF again.
 */
static void restore_ends(struct kl_buf *text, const struct kl_file *like)
{
	char *ends;

	if (!kl_line_ends_are_crlf(like->data, like->len))
		return;
	ends = kl_line_ends_to_crlf(text->ptr, text->len);
	kl_buf_clear(text);
	kl_buf_adds(text, ends);
	free(ends);
}

/* --- matching files --------------------------------------------------------------------------- */

/*
 * Collect the paths of the "diff --git a/x b/x" lines. No line within a hunk can begin with "diff",
 * because its first character is ' ', '+', '-' or '\'.
 */
static int diff_paths(struct kl_strvec *out, const char *diff)
{
	static const char head[] = "diff --git a/";

	for (const char *at = diff; *at;) {
		size_t n = strcspn(at, "\n"), half;
		KL_AUTO(kl_freep) char *path = NULL;

		if (n > sizeof(head) + 3 && !strncmp(at, head, sizeof(head) - 1)) {
			half = (n - strlen("diff --git ") - 1) / 2; /* "a/x" and "b/x" */
			path = kl_strndup(at + strlen("diff --git a/"), half - 2);
			if (!kl_fs_path_ok(path))
				return kl_error(
					KL_ENO,
					"the card's diff has a path outside the directory: '%s'",
					path);
			kl_strvec_push(out, path);
		}
		at += n + (at[n] == '\n');
	}
	return out->n ? 0 : kl_error(KL_ENO, "the card's diff has no 'diff --git' line");
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

/*
 * Find the only source whose `part` (name or suffix) is the same as that of `path`. Return NULL if
 * there is none, or if there are several.
 */
static const struct kl_file *only_file(const struct kl_surface *surface, const char *path,
				       const char *(*part)(const char *path))
{
	const struct kl_file *found = NULL;

	for (size_t i = 0; i < surface->nfile; i++) {
		if (strcmp(part(surface->file[i].path), part(path)))
			continue;
		if (found)
			return NULL;
		found = &surface->file[i];
	}
	return found;
}

static const struct kl_file *source_for(const struct kl_surface *surface, const char *path,
					bool alone)
{
	const struct kl_file *file = NULL;

	for (size_t i = 0; i < surface->nfile; i++)
		if (!strcmp(surface->file[i].path, path))
			return &surface->file[i];
	file = only_file(surface, path, base_name);
	return file || !alone ? file : only_file(surface, path, file_kind);
}

/* --- how well a diff fits --------------------------------------------------------------------- */

/* Append the text's line without blanks at both ends, unless nothing but brackets would be left. */
static void add_line(struct kl_strvec *out, const char *text, size_t n)
{
	while (n && strchr(" \t\r", text[n - 1]))
		n--;
	while (n && strchr(" \t", *text)) {
		text++;
		n--;
	}
	if (strspn(text, "{}();/* ") < n)
		kl_strvec_take(out, kl_strndup(text, n));
}

/* List the distinct lines of the sources, sorted. */
static void source_lines(struct kl_strvec *out, const struct kl_surface *state)
{
	for (size_t i = 0; i < state->nfile; i++) {
		const char *at = state->file[i].data, *end = at + state->file[i].len;

		while (at < end) {
			const char *stop = memchr(at, '\n', (size_t)(end - at));

			add_line(out, at, (size_t)((stop ? stop : end) - at));
			at = stop ? stop + 1 : end;
		}
	}
	kl_strvec_uniq(out);
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* List the lines that the sources have before the diff: those of its hunks that it does not add. */
static void lines_before(struct kl_strvec *out, const char *diff)
{
	bool hunk = false;

	for (const char *at = diff; *at;) {
		size_t n = strcspn(at, "\n");

		if (*at == '@')
			hunk = true;
		else if (*at == 'd')
			hunk = false;
		else if (hunk && n && (*at == ' ' || *at == '-'))
			add_line(out, at + 1, n - 1);
		at += n + (at[n] == '\n');
	}
}

void kl_carrier_fit_diffs(int64_t *fit, const struct kl_surface *state,
			  const struct kl_card_carrier *const *diff, size_t n)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec have = KL_STRVEC_INIT;

	source_lines(&have, state);
	for (size_t i = 0; i < n; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec want = KL_STRVEC_INIT;
		int64_t found = 0;

		lines_before(&want, diff[i]->text);
		for (size_t k = 0; have.n && k < want.n; k++)
			found += bsearch(&want.v[k], have.v, have.n, sizeof(*have.v), by_text) !=
				 NULL;
		fit[i] = want.n ? found * 1000000 / (int64_t)want.n : 0;
	}
}

/* --- applying --------------------------------------------------------------------------------- */

/* Apply the diff to a tree, and read the file `path` from the patched tree. */
static int patch_text(struct kl_buf *out, struct kl_repo *repo, const git_oid *tree,
		      const char *path, const char *diff)
{
	git_oid patched, blob;
	int err = kl_repo_apply(&patched, repo, tree, "", diff, strlen(diff));

	if (!err)
		err = kl_repo_tree_entry(&blob, NULL, repo, &patched, path);
	if (err == KL_ENOTFOUND)
		return kl_error(KL_ENO, "the card's diff removes '%s'", path);
	return err ? err : kl_repo_blob_read(out, repo, &blob, MAX_FILE);
}

/* Make a copy of a tree in which the files of the diff have LF. */
static int tree_with_lf(git_oid *out, struct kl_repo *repo, const git_oid *tree,
			const struct kl_strvec *paths)
{
	struct kl_tree_edit *edit = kl_calloc(paths->n + 1, sizeof(*edit));
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; !err && i < paths->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		git_oid blob;

		err = kl_repo_tree_entry(&blob, NULL, repo, tree, paths->v[i]);
		if (err == KL_ENOTFOUND) { /* the diff adds the file */
			kl_error_clear();
			err = 0;
			continue;
		}
		if (!err)
			err = kl_repo_blob_read(&text, repo, &blob, MAX_FILE);
		kl_strvec_take(&texts, kl_line_ends_to_lf(text.ptr, text.len));
		edit[n++] = (struct kl_tree_edit){ .path = paths->v[i],
						   .data = texts.v[texts.n - 1],
						   .len = strlen(texts.v[texts.n - 1]) };
	}
	if (!err)
		err = kl_repo_tree_edit(out, repo, tree, edit, n);
	free(edit);
	return err;
}

/*
 * Get the tree that the carrier's diff was made from. Return KL_ENOTFOUND if the tree is not
 * recorded or is missing here.
 */
static int base_tree(git_oid *out, const struct kl_carrier_try *try,
		     const struct kl_card_carrier *carrier)
{
	git_oid commit;

	for (size_t i = 0; carrier->of && try->library && i < try->card->evidence.n; i++) {
		const struct kl_card_evidence *evidence = &try->card->evidence.v[i];

		if (!strcmp(evidence->event, carrier->of) &&
		    !kl_oid_parse(&commit, evidence->before))
			return kl_repo_tree_of(out, try->library, &commit);
	}
	return KL_ENOTFOUND;
}

static int merge_file(struct kl_buf *out, const struct kl_carrier_try *try, const git_oid *base,
		      const char *path, const struct kl_file *file, const char *diff)
{
	KL_AUTO(kl_buf_release) struct kl_buf base_text = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf current = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf patched = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *plain = NULL;
	git_oid blob;
	int err = kl_repo_tree_entry(&blob, NULL, try->library, base, path);

	if (!err)
		err = kl_repo_blob_read(&base_text, try->library, &blob, MAX_FILE);
	if (!err)
		err = patch_text(&patched, try->library, base, path, diff);
	if (err)
		return err;
	plain = kl_line_ends_to_lf(file->data, file->len);
	kl_buf_adds(&current, plain);
	if ((err = kl_repo_merge_text(out, try->repo, &base_text, &current, &patched)))
		return err;
	restore_ends(out, file);
	return 0;
}

/* The files of a diff, and the source that matches each of them. */
struct mapped {
	struct kl_strvec paths;
	const struct kl_file **file;
};

static void mapped_release(struct mapped *mapped)
{
	kl_strvec_release(&mapped->paths);
	free(mapped->file);
}

static int map_files(struct mapped *mapped, const struct kl_carrier_try *try, const char *diff)
{
	int err = diff_paths(&mapped->paths, diff);

	if (err)
		return err;
	mapped->file = kl_calloc(mapped->paths.n, sizeof(*mapped->file));
	for (size_t i = 0; i < mapped->paths.n; i++) {
		mapped->file[i] = source_for(try->state, mapped->paths.v[i], mapped->paths.n == 1);
		if (!mapped->file[i])
			return kl_error(
				KL_ENO,
				"the card's diff changes '%s', which matches no source of '%s'",
				mapped->paths.v[i], try->state->contract->workload);
		for (size_t k = 0; k < i; k++)
			if (mapped->file[k] == mapped->file[i])
				return kl_error(KL_ENO, "the card's diff changes '%s' twice",
						mapped->paths.v[i]);
	}
	return 0;
}

static int merge_all(struct kl_carrier_edits *out, const struct kl_carrier_try *try,
		     const struct mapped *mapped, const git_oid *recorded, const char *diff)
{
	git_oid base;
	int err = tree_with_lf(&base, try->library, recorded, &mapped->paths);

	for (size_t i = 0; !err && i < mapped->paths.n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

		err = merge_file(&text, try, &base, mapped->paths.v[i], mapped->file[i], diff);
		if (!err)
			kl_carrier_add_edit(out, mapped->file[i], &text);
	}
	return err;
}

static int patch_all(struct kl_carrier_edits *out, const struct kl_carrier_try *try,
		     const struct mapped *mapped, const char *diff)
{
	struct kl_tree_edit *edit = kl_calloc(mapped->paths.n, sizeof(*edit));
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	git_oid tree;
	int err;

	for (size_t i = 0; i < mapped->paths.n; i++) {
		const struct kl_file *file = mapped->file[i];

		kl_strvec_take(&texts, kl_line_ends_to_lf(file->data, file->len));
		edit[i] = (struct kl_tree_edit){ .path = mapped->paths.v[i],
						 .data = texts.v[i],
						 .len = strlen(texts.v[i]) };
	}
	err = kl_repo_tree_edit(&tree, try->repo, NULL, edit, mapped->paths.n);
	free(edit);
	for (size_t i = 0; !err && i < mapped->paths.n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

		err = patch_text(&text, try->repo, &tree, mapped->paths.v[i], diff);
		restore_ends(&text, mapped->file[i]);
		if (!err)
			kl_carrier_add_edit(out, mapped->file[i], &text);
	}
	return err;
}

int kl_carrier_apply_diff(struct kl_carrier_edits *out, const char **how,
			  const struct kl_carrier_try *try, const struct kl_card_carrier *carrier)
{
	KL_AUTO(mapped_release) struct mapped mapped = { 0 };
	git_oid base;
	int err = map_files(&mapped, try, carrier->text);

	if (err)
		return err;
	*how = "merged three-way";
	err = base_tree(&base, try, carrier);
	if (!err)
		err = merge_all(out, try, &mapped, &base, carrier->text);
	if (!err || err == KL_EINTR || err == KL_EIO)
		return err;
	/* there is no base tree, or the merge conflicts: apply the diff as a patch instead */
	kl_error_clear();
	kl_edits_free(out->v, out->n);
	*out = (struct kl_carrier_edits){ 0 };
	*how = "applied as a patch";
	return patch_all(out, try, &mapped, carrier->text);
}
