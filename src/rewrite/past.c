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

void kl_past_free(struct kl_past *past)
{
	if (!past)
		return;
	kl_strvec_release(&past->names);
	kl_strvec_release(&past->paths);
	kl_map_release(&past->states);
	kl_map_release(&past->blobs);
	free(past->e);
	free(past);
}

int kl_past_load(struct kl_past **out, struct kl_repo *repo, const git_oid *expert,
		 const struct kl_surface *surface)
{
	struct kl_past *past = kl_calloc(1, sizeof(*past));
	KL_AUTO(kl_freep) git_oid *oid = NULL;
	int err;

	past->repo = repo;
	past->states.free_value = past->blobs.free_value = free;
	for (size_t i = 0; i < surface->nfile; i++) {
		kl_strvec_push(&past->names, surface->file[i].path);
		kl_strvec_take(&past->paths,
			       *surface->dir ? kl_fs_join(surface->dir, surface->file[i].path) :
					       kl_strdup(surface->file[i].path));
	}
	err = kl_repo_line(&oid, &past->n, repo, expert, (const char *const *)past->paths.v,
			   past->paths.n);
	if (err < 0) {
		kl_past_free(past);
		return err;
	}
	past->e = kl_calloc(past->n + 1, sizeof(*past->e));
	for (size_t i = 0; i < past->n; i++)
		past->e[i].commit = oid[i];
	*out = past;
	return 0;
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
	git_oid tree;
	int err = kl_repo_tree_of(&tree, past->repo, &past->e[i].commit);

	for (size_t k = 0; !err && k < past->paths.n; k++) {
		const char *tokens = "-";
		git_oid blob;

		err = find_source(&blob, past, &tree, past->paths.v[k]);
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
	git_oid tree, blob;
	int err = kl_repo_tree_of(&tree, past->repo, &past->e[i].commit);

	for (size_t k = 0; !err && k < surface->nfile && k < past->paths.n; k++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

		err = find_source(&blob, past, &tree, past->paths.v[k]);
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
