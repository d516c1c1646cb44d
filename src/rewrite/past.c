/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/past.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/rewriter.h"
#include "rewrite/token_digest.h"

#define MAX_SOURCE (4u << 20)
/* maximum number of entries between two equal states for what lies between them to be a detour */
#define MAX_DETOUR 1000
#define MAX_ERAS 100 /* maximum number of commits whose renames are followed */

void kl_past_free(struct kl_past *past)
{
	if (!past)
		return;
	kl_strvec_release(&past->names);
	for (size_t i = 0; i < past->nera; i++)
		kl_strvec_release(&past->era[i].paths);
	free(past->era);
	kl_map_release(&past->states);
	kl_map_release(&past->blobs);
	free(past->e);
	free(past);
}

/* Begin an era with the paths of the last one; without one, with no paths. */
static struct kl_strvec *begin_era(struct kl_past *past)
{
	struct kl_past_era *era;

	KL_GROW(past->era, past->nera + 1, past->era_alloc);
	era = &past->era[past->nera++];
	*era = (struct kl_past_era){ .paths = KL_STRVEC_INIT };
	if (past->nera > 1)
		kl_strvec_copy(&era->paths, &past->era[past->nera - 2].paths);
	return &era->paths;
}

/*
 * Begin a new era if one of the sources was renamed by this commit, which created it under its
 * present path. Sets *before to the commit's first parent.
 */
static int find_renames(bool *found, git_oid *before, struct kl_past *past, const git_oid *commit)
{
	const struct kl_strvec *now = &past->era[past->nera - 1].paths;
	KL_AUTO(kl_strvec_release) struct kl_strvec former = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) git_oid *parent = NULL;
	git_oid old_tree, new_tree, blob;
	struct kl_strvec *paths;
	size_t n;
	int err;

	*found = false;
	if ((err = kl_repo_parents(&parent, &n, past->repo, commit)) < 0 || !n ||
	    (err = kl_repo_tree_of(&old_tree, past->repo, &parent[0])) < 0 ||
	    (err = kl_repo_tree_of(&new_tree, past->repo, commit)) < 0)
		return err;
	*before = parent[0];
	for (size_t i = 0; i < now->n; i++) {
		char *path = NULL;

		err = kl_repo_tree_entry(&blob, NULL, past->repo, &old_tree, now->v[i]);
		if (err == KL_ENOTFOUND)
			err = kl_repo_former_path(&path, past->repo, &old_tree, &new_tree,
						  now->v[i]);
		if (err < 0)
			return err;
		*found = *found || path;
		kl_strvec_take(&former, path ? path : kl_strdup(now->v[i]));
	}
	kl_error_clear();
	if (!*found)
		return 0;
	paths = begin_era(past);
	kl_strvec_release(paths);
	*paths = former;
	former = (struct kl_strvec)KL_STRVEC_INIT;
	return 0;
}

/*
 * Append the commits of the last era, from `from` on. If a commit among them renamed a source, they
 * end with that commit: *found becomes true, a new era begins, and *from is the commit to go on
 * with.
 */
static int add_era(bool *found, struct kl_past *past, git_oid *from)
{
	size_t era = past->nera - 1, n, ncreating, next = 0;
	const struct kl_strvec *paths = &past->era[era].paths;
	KL_AUTO(kl_freep) git_oid *line = NULL, *creating = NULL;
	int err;

	*found = false;
	if ((err = kl_repo_line(&line, &n, past->repo, from, (const char *const *)paths->v,
				paths->n)) < 0 ||
	    (err = kl_repo_creating(&creating, &ncreating, past->repo, from,
				    (const char *const *)paths->v, paths->n)) < 0)
		return err;
	for (size_t i = 0; i < n && !*found; i++) {
		KL_GROW(past->e, past->n + 1, past->alloc);
		past->e[past->n++] = (struct kl_past_entry){ .commit = line[i], .era = era };
		for (next = 0; next < ncreating; next++)
			if (!memcmp(&creating[next], &line[i], sizeof(line[i])))
				break;
		if (next < ncreating && (err = find_renames(found, from, past, &line[i])) < 0)
			return err;
	}
	return 0;
}

int kl_past_load(struct kl_past **out, struct kl_repo *repo, const git_oid *expert,
		 const struct kl_surface *surface)
{
	struct kl_past *past = kl_calloc(1, sizeof(*past));
	struct kl_strvec *paths = begin_era(past);
	git_oid from = *expert;
	bool more = true;
	int err = 0;

	past->repo = repo;
	past->states.free_value = past->blobs.free_value = free;
	for (size_t i = 0; i < surface->nfile; i++) {
		kl_strvec_push(&past->names, surface->file[i].path);
		kl_strvec_take(paths, *surface->dir ?
					      kl_fs_join(surface->dir, surface->file[i].path) :
					      kl_strdup(surface->file[i].path));
	}
	while (!err && more && past->nera <= MAX_ERAS)
		err = add_era(&more, past, &from);
	if (err < 0)
		kl_past_free(past);
	else
		*out = past;
	return err;
}

void kl_past_say_renames(struct kl_buf *out, const struct kl_past *past, size_t i)
{
	const struct kl_strvec *now = &past->era[0].paths;
	const struct kl_strvec *then = &past->era[past->e[i].era].paths;

	for (size_t k = 0; k < now->n; k++)
		if (strcmp(now->v[k], then->v[k]) != 0)
			kl_buf_addf(out, "\n%s was %s", now->v[k], then->v[k]);
}

size_t kl_past_find(const struct kl_past *past, const char *hex)
{
	git_oid commit;
	size_t i = past->n;

	if (strlen(hex) != KL_OID_HEX - 1 || kl_oid_parse(&commit, hex) < 0) {
		kl_error_clear();
		return past->n;
	}
	for (i = 0; i < past->n && memcmp(&past->e[i].commit, &commit, sizeof(commit)); i++)
		;
	return i;
}

/* Find a source in a tree. KL_ENOTFOUND: there is no regular file of that path. */
static int find_source(git_oid *blob, struct kl_past *past, const git_oid *tree, const char *path)
{
	uint32_t mode;
	int err = kl_repo_tree_entry(blob, &mode, past->repo, tree, path);

	if (!err && (mode & 0170000) != 0100000)
		err = KL_ENOTFOUND;
	return err;
}

/* Get the token digest of a blob; borrowed. NULL: the blob is larger than a source may be. */
static int blob_tokens(const char **out, struct kl_past *past, const git_oid *blob)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char hex[KL_OID_HEX], digest[KL_DIGEST_HEX];
	size_t size;
	int err;

	kl_oid_hex(hex, blob);
	if ((*out = kl_map_get(&past->blobs, hex)))
		return 0;
	if ((err = kl_repo_object_size(&size, past->repo, blob)) < 0 || size > MAX_SOURCE ||
	    (err = kl_repo_blob_read(&text, past->repo, blob, MAX_SOURCE)) < 0)
		return err;
	kl_token_digest_file(digest, text.ptr, text.len);
	kl_map_put(&past->blobs, hex, kl_strdup(digest));
	*out = kl_map_get(&past->blobs, hex);
	return 0;
}

/* Compute the token digest of an entry's state; "": it has no state. */
static int digest_state(char hex[KL_DIGEST_HEX], struct kl_past *past, size_t i)
{
	struct kl_digest *digest = kl_digest_new();
	size_t have = 0;
	const struct kl_strvec *paths = &past->era[past->e[i].era].paths;
	git_oid tree;
	int err = kl_repo_tree_of(&tree, past->repo, &past->e[i].commit);

	for (size_t k = 0; !err && k < paths->n; k++) {
		const char *tokens = "-";
		git_oid blob;

		err = find_source(&blob, past, &tree, paths->v[k]);
		if (!err)
			err = blob_tokens(&tokens, past, &blob);
		have += !err && tokens && *tokens != '-';
		if (!err && !tokens) {
			have = 0;
			break;
		}
		if (err == KL_ENOTFOUND) {
			kl_error_clear();
			err = 0;
		}
		kl_token_digest_add(digest, past->names.v[k], tokens);
	}
	kl_digest_end(digest, hex);
	if (!have)
		*hex = '\0';
	return err;
}

/* Return the one copy of a token digest. */
static const char *intern_state(struct kl_past *past, const char *hex)
{
	for (;;) {
		const char *state = kl_map_get(&past->states, hex);

		if (state)
			return state;
		kl_map_put(&past->states, hex, kl_strdup(hex));
	}
}

int kl_past_state(const char **out, struct kl_past *past, size_t i)
{
	char hex[KL_DIGEST_HEX];
	int err;

	if (!past->e[i].state) {
		if ((err = digest_state(hex, past, i)) < 0)
			return err;
		past->e[i].state = *hex ? intern_state(past, hex) : "";
	}
	*out = past->e[i].state;
	return 0;
}

int kl_past_next(size_t *out, struct kl_past *past, size_t i)
{
	const char *state, *other;
	size_t last = i;
	int err = kl_past_state(&state, past, i);

	for (size_t k = i + 1; !err && *state && k < past->n && k <= i + MAX_DETOUR; k++) {
		err = kl_past_state(&other, past, k);
		if (!err && other == state)
			last = k;
	}
	*out = last + 1;
	return err;
}

int kl_past_read(struct kl_file **edit, size_t *n, struct kl_past *past, size_t i,
		 const struct kl_surface *surface)
{
	struct kl_file *list = kl_calloc(surface->nfile + 1, sizeof(*list));
	size_t have = 0;
	const struct kl_strvec *paths = &past->era[past->e[i].era].paths;
	git_oid tree, blob;
	int err = kl_repo_tree_of(&tree, past->repo, &past->e[i].commit);

	for (size_t k = 0; !err && k < surface->nfile && k < paths->n; k++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

		err = find_source(&blob, past, &tree, paths->v[k]);
		if (!err)
			err = kl_repo_blob_read(&text, past->repo, &blob, MAX_SOURCE);
		if (err == KL_ENOTFOUND) {
			kl_error_clear();
			err = 0;
			continue;
		}
		if (err < 0)
			break;
		list[have].path = kl_strdup(surface->file[k].path);
		/* keep the mode: changing it is no simplification */
		list[have].mode = surface->file[k].mode;
		list[have].len = text.len;
		list[have++].data = kl_buf_detach(&text);
	}
	if (err < 0) {
		kl_edits_free(list, have);
		return err;
	}
	*edit = list;
	*n = have;
	return 0;
}
