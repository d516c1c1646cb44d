/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/past.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/rewriter.h"
#include "rewrite/source/inclusion.h"

#define MAX_SOURCE (4u << 20)
/* maximum number of entries between two equal states that are skipped as a detour */
#define MAX_DETOUR 1000
#define MAX_ERAS 100                 /* maximum number of commits whose renames are followed */
#define MAX_BLOBS ((size_t)64 << 20) /* bytes of blobs that are kept in memory */

void kl_past_free(struct kl_past *past)
{
	if (!past)
		return;
	kl_strvec_release(&past->names);
	for (size_t i = 0; i < past->nera; i++)
		kl_strvec_release(&past->era[i].paths);
	free(past->era);
	kl_surface_free(past->expert);
	kl_token_scope_release(&past->scope);
	kl_map_release(&past->left);
	kl_map_release(&past->states);
	kl_map_release(&past->blobs);
	free(past->e);
	free(past);
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

/* Find a source in a tree. Return KL_ENOTFOUND if there is no regular file of that path. */
static int find_source(git_oid *blob, struct kl_past *past, const git_oid *tree, const char *path)
{
	uint32_t mode;
	int err = kl_repo_tree_entry(blob, &mode, past->repo, tree, path);

	if (!err && (mode & 0170000) != 0100000)
		err = KL_ENOTFOUND;
	return err;
}

static struct kl_inclusion inclusion_of(const struct kl_past *past, size_t era, const git_oid *tree)
{
	return (struct kl_inclusion){
		.repo = past->repo,
		.contract = past->expert->contract,
		.dir = past->expert->dir,
		.tree = tree,
		.now = &past->era[0].paths,
		.then = &past->era[era].paths,
		.left = &past->left,
	};
}

/* The facts about a blob as the source of one path. */
struct blob {
	struct kl_token_file *tokens;
	bool open; /* the source includes files that are not among the sources */
};

static void free_blob(void *data)
{
	struct blob *blob = data;

	kl_token_file_free(blob->tokens);
	free(blob);
}

static void forget_blobs(struct kl_past *past)
{
	kl_map_release(&past->blobs);
	past->blobs = (struct kl_map){ .free_value = free_blob };
	past->bytes = 0;
}

static bool is_open(const struct kl_past *past, size_t era, size_t source,
		    const struct kl_buf *text)
{
	KL_AUTO(kl_map_release) struct kl_map names = KL_MAP_INIT;
	const struct kl_inclusion inclusion = inclusion_of(past, era, NULL);

	if (kl_inclusion_open(&names, &inclusion, source, text->ptr, text->len))
		return true;
	for (size_t i = 0; i < names.n; i++)
		if (!kl_map_get(&past->left, names.e[i].key))
			return true;
	return era > 0 && names.n;
}

/* Read a blob as source `source`; *out is borrowed. Return NULL if it is too large for a source. */
static int look_at_blob(const struct blob **out, struct kl_past *past, const git_oid *oid,
			size_t era, size_t source)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *key = NULL;
	char hex[KL_OID_HEX];
	struct blob *blob;
	size_t size;
	int err;

	kl_oid_hex(hex, oid);
	key = kl_asprintf("%s:%zu:%zu", hex, era, source);
	if ((*out = kl_map_get(&past->blobs, key)))
		return 0;
	if ((err = kl_repo_object_size(&size, past->repo, oid)) < 0 || size > MAX_SOURCE ||
	    (err = kl_repo_blob_read(&text, past->repo, oid, MAX_SOURCE)) < 0)
		return err;
	blob = kl_calloc(1, sizeof(*blob));
	blob->tokens = kl_token_file_read(&past->scope, text.ptr, text.len);
	past->bytes += kl_token_file_bytes(blob->tokens);
	blob->open = is_open(past, era, source, &text);
	kl_map_put(&past->blobs, key, blob);
	*out = blob;
	return 0;
}

/* Append the text of a source of an older commit, completed by kl_inclusion_complete(). */
static int read_source(struct kl_buf *out, struct kl_strvec *inlined, struct kl_past *past,
		       size_t i, size_t source, const git_oid *tree, const git_oid *blob)
{
	const struct kl_inclusion inclusion = inclusion_of(past, past->e[i].era, tree);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_repo_blob_read(&text, past->repo, blob, MAX_SOURCE);

	return err < 0 ?
		       err :
		       kl_inclusion_complete(out, inlined, &inclusion, source, text.ptr, text.len);
}

/* The tokens of one source of a state. */
struct source {
	const struct kl_token_file *tokens; /* NULL if the commit does not have the source */
	struct kl_token_file *own;          /* the same, if it is not in kl_past.blobs */
	bool large;                         /* the file is too large for a source */
};

static int read_tokens(struct source *out, struct kl_past *past, size_t i, size_t source,
		       const git_oid *tree)
{
	const size_t era = past->e[i].era;
	KL_AUTO(kl_strvec_release) struct kl_strvec inlined = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct blob *blob;
	git_oid oid;
	int err = find_source(&oid, past, tree, past->era[era].paths.v[source]);

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0 || (err = look_at_blob(&blob, past, &oid, era, source)) < 0)
		return err;
	out->large = !blob;
	out->tokens = blob ? blob->tokens : NULL;
	if (!blob || !blob->open)
		return 0;
	err = read_source(&text, &inlined, past, i, source, tree, &oid);
	if (!err && inlined.n)
		out->tokens = out->own = kl_token_file_read(&past->scope, text.ptr, text.len);
	return err;
}

/* Compute the token digests of an entry's state. They are "" if the entry has no state. */
static int digest_state(struct kl_token_digests *out, struct kl_past *past, size_t i)
{
	struct source *source = kl_calloc(past->names.n + 1, sizeof(*source));
	const struct kl_token_file **tokens = kl_calloc(past->names.n + 1,
							sizeof(const struct kl_token_file *));
	size_t have = 0;
	bool whole = true;
	git_oid tree;
	int err = kl_repo_tree_of(&tree, past->repo, &past->e[i].commit);

	if (past->bytes > MAX_BLOBS)
		forget_blobs(past);
	for (size_t k = 0; !err && whole && k < past->names.n; k++) {
		err = read_tokens(&source[k], past, i, k, &tree);
		tokens[k] = source[k].tokens;
		have += tokens[k] != NULL;
		whole = !err && !source[k].large;
	}
	*out->reached = *out->whole = '\0';
	if (!err && have && whole)
		kl_token_state(out, &past->scope, &past->names, tokens);
	for (size_t k = 0; k < past->names.n; k++)
		kl_token_file_free(source[k].own);
	free(source);
	free(tokens);
	return err;
}

/* Note the headers that the sources of the expert include but the contract does not list. */
static int leave_names(struct kl_past *past, const git_oid *expert)
{
	const struct kl_inclusion inclusion = inclusion_of(past, 0, NULL);
	const struct kl_strvec *paths = &past->era[0].paths;
	git_oid tree, blob;
	int err = kl_repo_tree_of(&tree, past->repo, expert);

	for (size_t k = 0; !err && k < paths->n; k++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

		err = find_source(&blob, past, &tree, paths->v[k]);
		if (!err)
			err = kl_repo_blob_read(&text, past->repo, &blob, MAX_SOURCE);
		if (!err)
			kl_inclusion_open(&past->left, &inclusion, k, text.ptr, text.len);
		if (err == KL_ENOTFOUND) {
			kl_error_clear();
			err = 0;
		}
	}
	return err;
}

/* Begin an era. The caller adds its paths to the returned list. */
static struct kl_strvec *begin_era(struct kl_past *past)
{
	struct kl_past_era *era;

	KL_GROW(past->era, past->nera + 1, past->era_alloc);
	era = &past->era[past->nera++];
	*era = (struct kl_past_era){ .paths = KL_STRVEC_INIT };
	return &era->paths;
}

/*
 * Return true if two paths have the same suffix. A header that became a unit was not just renamed.
 */
static bool same_suffix(const char *a, const char *b)
{
	const char *dot_a = strrchr(a, '.'), *dot_b = strrchr(b, '.');

	return dot_a && dot_b ? !strcmp(dot_a, dot_b) : dot_a == dot_b;
}

/*
 * Begin a new era if this commit, which created sources under their present paths, renamed one of
 * them. Set *before to the commit's first parent.
 */
static int find_renames(bool *found, git_oid *before, struct kl_past *past, const git_oid *commit)
{
	const struct kl_strvec *now = &past->era[past->nera - 1].paths;
	KL_AUTO(kl_strvec_release) struct kl_strvec former = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) git_oid *parent = NULL;
	git_oid old_tree, new_tree, blob;
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
		if (path && !same_suffix(path, now->v[i]))
			kl_freep(&path);
		*found = *found || path;
		kl_strvec_take(&former, path ? path : kl_strdup(now->v[i]));
	}
	kl_error_clear();
	if (!*found)
		return 0;
	*begin_era(past) = former;
	former = (struct kl_strvec)KL_STRVEC_INIT;
	return 0;
}

/*
 * Append the commits of the last era, beginning at `from`. If one of them renamed a source, stop
 * after it: *found becomes true, a new era begins, and *from becomes the commit to continue with.
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
	past->states.free_value = free;
	forget_blobs(past);
	for (size_t i = 0; i < surface->nfile; i++) {
		kl_strvec_push(&past->names, surface->file[i].path);
		kl_strvec_take(paths, *surface->dir ?
					      kl_fs_join(surface->dir, surface->file[i].path) :
					      kl_strdup(surface->file[i].path));
	}
	if (!(err = kl_surface_with(&past->expert, surface, NULL, 0))) {
		kl_token_scope_of(&past->scope, past->expert);
		err = leave_names(past, expert);
	}
	while (!err && more && past->nera <= MAX_ERAS)
		err = add_era(&more, past, &from);
	if (err < 0)
		kl_past_free(past);
	else
		*out = past;
	return err;
}

/* Return the pointer that equal token digests share. */
static const char *intern_state(struct kl_past *past, const char *hex)
{
	char *state = kl_map_get(&past->states, hex);

	if (!state) {
		state = kl_strdup(hex);
		kl_map_put(&past->states, hex, state);
	}
	return state;
}

static int read_state(struct kl_past *past, size_t i)
{
	struct kl_past_entry *entry = &past->e[i];
	struct kl_token_digests digests;
	int err;

	if (entry->state)
		return 0;
	if ((err = digest_state(&digests, past, i)) < 0)
		return err;
	entry->state = *digests.reached ? intern_state(past, digests.reached) : "";
	entry->whole = *digests.whole ? intern_state(past, digests.whole) : "";
	return 0;
}

int kl_past_state(const char **out, struct kl_past *past, size_t i)
{
	int err = read_state(past, i);

	*out = past->e[i].state;
	return err;
}

int kl_past_whole(const char **out, struct kl_past *past, size_t i)
{
	int err = read_state(past, i);

	*out = past->e[i].whole;
	return err;
}

int kl_past_next(size_t *out, struct kl_past *past, size_t i, bool failed)
{
	int (*get)(const char **out, struct kl_past *past, size_t i) = failed ? kl_past_whole :
										kl_past_state;
	const char *state, *other;
	size_t last = i;
	int err = get(&state, past, i);

	for (size_t k = i + 1; !err && *state && k < past->n && k <= i + MAX_DETOUR; k++) {
		err = get(&other, past, k);
		if (!err && other == state)
			last = k;
	}
	*out = last + 1;
	return err;
}

void kl_past_files_release(struct kl_past_files *files)
{
	kl_edits_free(files->edit, files->n);
	kl_strvec_release(&files->inlined);
	kl_strvec_release(&files->absent);
}

int kl_past_read(struct kl_past_files *out, struct kl_past *past, size_t i,
		 const struct kl_surface *surface, bool without)
{
	const struct kl_strvec *paths = &past->era[past->e[i].era].paths;
	git_oid tree, blob;
	int err = kl_repo_tree_of(&tree, past->repo, &past->e[i].commit);

	*out = (struct kl_past_files){ .edit = kl_calloc(surface->nfile + 1, sizeof(*out->edit)) };
	for (size_t k = 0; !err && k < surface->nfile && k < paths->n; k++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		bool absent;

		err = find_source(&blob, past, &tree, paths->v[k]);
		absent = err == KL_ENOTFOUND;
		if (!err)
			err = read_source(&text, &out->inlined, past, i, k, &tree, &blob);
		if (absent) {
			kl_error_clear();
			kl_strvec_push(&out->absent, surface->file[k].path);
			err = 0;
		}
		if (err < 0)
			return err;
		if (absent && !without)
			continue;
		out->edit[out->n].path = kl_strdup(surface->file[k].path);
		/* Keep the mode, because changing it simplifies nothing. */
		out->edit[out->n].mode = surface->file[k].mode;
		out->edit[out->n].len = text.len;
		out->edit[out->n++].data = kl_buf_detach(&text);
	}
	return err;
}
