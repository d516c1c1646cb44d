/* SPDX-License-Identifier: Apache-2.0 */
#include "card/library.h"

#include <string.h>

#include "base/error.h"
#include "card/library_parts.h"
#include "event/event.h"
#include "repo/notes.h"
#include "repo/refs.h"

#define MAX_CARDS 1000000
#define MAX_EVENT (1u << 20)

void kl_library_forget(struct kl_library *library)
{
	kl_blobs_release(&library->cards);
	library->tip = library->tree = kl_oid_none;
}

void kl_library_free(struct kl_library *library)
{
	if (!library)
		return;
	kl_library_forget(library);
	kl_strvec_release(&library->ids);
	free(library->ref);
	free(library);
}

/* --- opening a library ------------------------------------------------------------------------ */

/*
 * Return true if `path` is "<id>.yaml", and set *n to the id's length. Other files are left to
 * fsck.
 */
static bool is_card_path(const char *path, size_t *n)
{
	const char *dot = strrchr(path, '.');

	if (!dot || dot == path || strcmp(dot, ".yaml") || strchr(path, '/'))
		return false;
	*n = dot - path;
	return true;
}

static int read_tree(struct kl_library *library)
{
	git_oid cards;
	size_t n = 0;
	int err = kl_repo_subtree(&cards, library->repo, &library->tree, "cards");

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0 ||
	    (err = kl_repo_tree_list(&library->cards, library->repo, &cards, MAX_CARDS)) < 0)
		return kl_error_in(err, "%s", library->ref);
	for (size_t i = 0; i < library->cards.n; i++) {
		struct kl_blob *blob = &library->cards.b[i];
		size_t len;

		if (!is_card_path(blob->path, &len)) {
			free(blob->path);
			continue;
		}
		kl_strvec_take(&library->ids, kl_strndup(blob->path, len));
		library->cards.b[n++] = *blob;
	}
	library->cards.n = n;
	return 0;
}

int kl_library_read(struct kl_library *library, const git_oid *commit)
{
	int err;

	kl_library_forget(library);
	kl_strvec_release(&library->ids);
	library->ids = (struct kl_strvec)KL_STRVEC_INIT;
	if (git_oid_is_zero(commit))
		return 0;
	library->tip = *commit;
	err = kl_repo_tree_of(&library->tree, library->repo, commit);
	return err < 0 ? err : read_tree(library);
}

static int new_library(struct kl_library **out, struct kl_repo *repo)
{
	const char *ref = kl_repo_config(repo, "klineage.skillsRef");

	if (!ref)
		ref = KL_LIBRARY_REF;
	if (strncmp(ref, "refs/heads/", 11) || !ref[11])
		return kl_error(KL_EINVALID,
				"klineage.skillsRef must be a branch (refs/heads/...), not '%s'",
				ref);
	*out = kl_calloc(1, sizeof(**out));
	(*out)->repo = repo;
	(*out)->ref = kl_strdup(ref);
	return 0;
}

int kl_library_open(struct kl_library **out, struct kl_repo *repo)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	git_oid tip = kl_oid_none;
	int err;

	if ((err = new_library(&library, repo)) < 0)
		return err;
	err = kl_refs_get(&tip, repo, library->ref);
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		err = 0;
	}
	if (err < 0 || (err = kl_library_read(library, &tip)) < 0)
		return err;
	*out = kl_steal(&library);
	return 0;
}

int kl_library_open_at(struct kl_library **out, struct kl_repo *repo, const git_oid *commit)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	int err;

	if ((err = new_library(&library, repo)) < 0 || (err = kl_library_read(library, commit)) < 0)
		return err;
	library->fixed = true;
	*out = kl_steal(&library);
	return 0;
}

int kl_library_open_tree(struct kl_library **out, struct kl_repo *repo, const git_oid *tree)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	int err;

	if ((err = new_library(&library, repo)) < 0)
		return err;
	library->tree = *tree;
	library->fixed = true;
	if ((err = read_tree(library)) < 0)
		return err;
	*out = kl_steal(&library);
	return 0;
}

const char *kl_library_ref(const struct kl_library *library)
{
	return library->ref;
}

const git_oid *kl_library_tip(const struct kl_library *library)
{
	return &library->tip;
}

const git_oid *kl_library_tree(const struct kl_library *library)
{
	return &library->tree;
}

size_t kl_library_count(const struct kl_library *library)
{
	return library->ids.n;
}

const char *kl_library_id(const struct kl_library *library, size_t i)
{
	return library->ids.v[i];
}

const git_oid *kl_library_blob(const struct kl_library *library, size_t i)
{
	return &library->cards.b[i].oid;
}

/* --- finding and reading a card --------------------------------------------------------------- */

static int not_found(const struct kl_library *library, const char *id)
{
	size_t hints = 0;
	int err;

	if (!library->ids.n) {
		err = kl_error(KL_ENOTFOUND, "there is no card '%s': the library is empty", id);
		return kl_error_hint(err,
				     "create cards with 'git klineage lift', or import them with "
				     "'git klineage skills import'");
	}
	err = kl_error(KL_ENOTFOUND, "there is no card '%s'", id);
	for (size_t i = 0; i < library->ids.n && hints < 10; i++)
		if (strstr(library->ids.v[i], id)) {
			kl_error_hint(err, "%s", library->ids.v[i]);
			hints++;
		}
	return err;
}

int kl_library_find(size_t *out, const struct kl_library *library, const char *id)
{
	size_t n = strlen(id), found = 0, at = 0;

	for (size_t i = 0; i < library->ids.n; i++) {
		if (!strcmp(library->ids.v[i], id)) {
			*out = i;
			return 0;
		}
		if (n && !strncmp(library->ids.v[i], id, n)) {
			at = i;
			found++;
		}
	}
	if (found != 1)
		return found ? kl_error(KL_ENOTFOUND,
					"'%s' is ambiguous: the ids of %zu cards begin with it", id,
					found) :
			       not_found(library, id);
	*out = at;
	return 0;
}

int kl_library_text(struct kl_buf *out, struct kl_library *library, size_t i)
{
	return kl_repo_blob_read(out, library->repo, &library->cards.b[i].oid, KL_CARD_MAX_BYTES);
}

int kl_library_card_at(struct kl_card **out, struct kl_library *library, size_t i)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("cards/%s.yaml", library->ids.v[i]);
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if ((err = kl_library_text(&text, library, i)) < 0)
		return kl_error_in(err, "%s", name);
	if ((err = kl_card_parse(&card, name, text.ptr, text.len)) < 0)
		return err;
	if (strcmp(card->id, library->ids.v[i]))
		return kl_error(KL_EINVALID,
				"%s contains the card '%s', but is named after another card", name,
				card->id);
	*out = kl_steal(&card);
	return 0;
}

int kl_library_card(struct kl_card **out, struct kl_library *library, const char *id)
{
	size_t i;
	int err = kl_library_find(&i, library, id);

	return err < 0 ? err : kl_library_card_at(out, library, i);
}

/* --- reading events --------------------------------------------------------------------------- */

void kl_library_event_path(char path[96], const char *id)
{
	snprintf(path, 96, "evidence/%.2s/%.64s.json", id, id);
}

int kl_library_event(struct kl_event **out, struct kl_library *library, const char *id)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	char path[96];
	git_oid blob;
	int err;

	kl_library_event_path(path, id);
	if (git_oid_is_zero(&library->tree))
		return kl_error(KL_ENOTFOUND, "the library has no file '%s'", path);
	if ((err = kl_repo_tree_entry(&blob, NULL, library->repo, &library->tree, path)) < 0 ||
	    (err = kl_repo_blob_read(&text, library->repo, &blob, MAX_EVENT)) < 0)
		return err;
	kl_buf_rtrim(&text);
	if ((err = kl_event_parse(&event, text.ptr, text.len)) < 0)
		return kl_error_in(err, "%s", path);
	if (strcmp(event->id, id))
		return kl_error(KL_EINVALID,
				"%s contains event %.12s, but is named after another event", path,
				event->id);
	*out = kl_steal(&event);
	return 0;
}

/*
 * Add the event to `events`, which takes ownership. Of two copies of an event, keep a signed one.
 */
static void keep_event(struct kl_map *events, struct kl_event *event)
{
	const struct kl_event *old = kl_map_get(events, event->id);

	if (old && (*old->sig || !*event->sig))
		kl_event_free(event);
	else
		kl_map_put(events, event->id, event);
}

static int on_note(const git_oid *commit, const char *text, size_t len, void *payload)
{
	for (const char *line = text, *end = text + len; line < end;) {
		const char *newline = memchr(line, '\n', end - line);
		size_t n = (size_t)((newline ? newline : end) - line);
		struct kl_event *event = NULL;

		if (n && !kl_event_parse(&event, line, n))
			keep_event(payload, event);
		else
			kl_error_clear();
		line += n + 1;
	}
	return 0;
}

int kl_library_all_events(struct kl_map *out, struct kl_library *library)
{
	struct kl_blobs blobs = { 0 };
	git_oid tree;
	int err;

	out->free_value = kl_event_free_value;
	err = kl_notes_each(library->repo, KL_NOTES_GATE, on_note, out);
	if (err == KL_ENOTFOUND)
		err = 0;
	if (!err && !git_oid_is_zero(&library->tree))
		err = kl_repo_subtree(&tree, library->repo, &library->tree, "evidence");
	if (!err && !git_oid_is_zero(&library->tree))
		err = kl_repo_tree_list(&blobs, library->repo, &tree, MAX_CARDS * 10);
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		err = 0;
	}
	for (size_t i = 0; !err && i < blobs.n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		struct kl_event *event = NULL;

		if ((err = kl_repo_blob_read(&text, library->repo, &blobs.b[i].oid, MAX_EVENT)) < 0)
			break;
		kl_buf_rtrim(&text);
		if (!kl_event_parse(&event, text.ptr, text.len))
			keep_event(out, event);
		else
			kl_error_clear();
	}
	kl_blobs_release(&blobs);
	return err;
}
