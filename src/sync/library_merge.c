/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/library_merge.h"

#include <string.h>

#include "base/error.h"
#include "card/card_merge.h"
#include "card/library_parts.h"
#include "event/event.h"

#define MAX_EVENTS 10000000
#define MAX_EVENT (1u << 20)

struct merge {
	struct kl_repo *r;
	struct kl_library *base, *ours, *theirs;
	struct kl_map seen; /* ids of the events in `theirs` that have been checked */
	struct kl_tree_edit *edit;
	size_t n, alloc;
	struct kl_strvec keep; /* owns the paths and texts of the edits */
	struct kl_library_merged *done;
};

static void merge_release(struct merge *merge)
{
	kl_library_free(merge->base);
	kl_library_free(merge->ours);
	kl_library_free(merge->theirs);
	kl_map_release(&merge->seen);
	kl_strvec_release(&merge->keep);
	free(merge->edit);
}

void kl_library_merged_release(struct kl_library_merged *merged)
{
	kl_strvec_release(&merged->both);
	*merged = (struct kl_library_merged){ 0 };
}

/* Add a file to the edits; takes ownership of `path` and `text`. */
static void put_file(struct merge *merge, char *path, char *text, size_t len)
{
	kl_strvec_take(&merge->keep, path);
	kl_strvec_take(&merge->keep, text);
	KL_GROW(merge->edit, merge->n + 1, merge->alloc);
	merge->edit[merge->n++] = (struct kl_tree_edit){
		.path = path, .data = text, .len = len, .mode = 0100644
	};
}

/* --- checking and merging events -------------------------------------------------- */

/*
 * Check an event of theirs, unless it has been checked already. Append to `ids` the events from
 * which it was computed.
 */
static int check_event(struct kl_strvec *ids, struct merge *merge, const char *id)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	int err;

	if (kl_map_get(&merge->seen, id))
		return 0;
	kl_map_put(&merge->seen, id, merge);
	err = kl_library_event(&event, merge->theirs, id);
	if (err == KL_ENOTFOUND)
		err = kl_error(KL_EINVALID, "event %.12s is missing", id);
	if (!err && event->inverse.there) {
		kl_strvec_push(ids, event->inverse.state);
		kl_strvec_push(ids, event->inverse.pair);
	}
	return err;
}

/*
 * Check that every event that a card of theirs cites is present and valid, as well as the events
 * from which it was computed.
 */
static int check_events(struct merge *merge, const struct kl_card *card)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	int err = 0;

	kl_card_events(&ids, card);
	for (size_t i = 0; !err && i < ids.n; i++)
		err = check_event(&ids, merge, ids.v[i]);
	return err < 0 ? kl_error_in(err, "card '%s'", card->id) : 0;
}

static int list_events(struct kl_blobs *out, struct kl_library *library)
{
	git_oid tree;
	int err = git_oid_is_zero(&library->tree) ?
			  KL_ENOTFOUND :
			  kl_repo_subtree(&tree, library->repo, &library->tree, "evidence");

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	return err < 0 ? err : kl_repo_tree_list(out, library->repo, &tree, MAX_EVENTS);
}

/* Return true if the path, relative to evidence/, is that of an event: "<xx>/<id>.json". */
static bool is_event_path(const char *path)
{
	return strlen(path) == 72 && strspn(path, "0123456789abcdef") == 2 && path[2] == '/' &&
	       strspn(path + 3, "0123456789abcdef") == 64 && !strcmp(path + 67, ".json") &&
	       !strncmp(path, path + 3, 2);
}

/*
 * Take an event of theirs. If we have no copy of it (`ours` is NULL), add theirs. If our copy
 * differs, for example because only one is signed, merge the two.
 */
static int take_event(struct merge *merge, const struct kl_blob *theirs, const struct kl_blob *ours)
{
	KL_AUTO(kl_buf_release) struct kl_buf their_text = KL_BUF_INIT, our_text = KL_BUF_INIT,
					      merged = KL_BUF_INIT;
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	char id[65];
	int err;

	if (!is_event_path(theirs->path))
		return 0; /* not the path of an event, so readers ignore the file */
	snprintf(id, sizeof(id), "%.64s", theirs->path + 3);
	if ((err = kl_library_event(&event, merge->theirs, id)) < 0)
		return err;
	if ((err = kl_repo_blob_read(&their_text, merge->r, &theirs->oid, MAX_EVENT)) < 0)
		return err;
	if (!ours) {
		size_t n = their_text.len;

		put_file(merge, kl_asprintf("evidence/%s", theirs->path),
			 kl_buf_detach(&their_text), n);
		return 0;
	}
	if ((err = kl_repo_blob_read(&our_text, merge->r, &ours->oid, MAX_EVENT)) < 0 ||
	    (err = kl_card_merge_text(&merged, theirs->path, NULL, &our_text, &their_text)) < 0)
		return err;
	if (merged.len != our_text.len || memcmp(merged.ptr, our_text.ptr, our_text.len)) {
		size_t n = merged.len;

		put_file(merge, kl_asprintf("evidence/%s", theirs->path), kl_buf_detach(&merged),
			 n);
	}
	return 0;
}

static int take_events(struct merge *merge)
{
	KL_AUTO(kl_blobs_release) struct kl_blobs ours = { 0 }, theirs = { 0 };
	size_t i = 0;
	int err = list_events(&ours, merge->ours);

	if (!err)
		err = list_events(&theirs, merge->theirs);
	for (size_t k = 0; !err && k < theirs.n; k++) {
		while (i < ours.n && strcmp(ours.b[i].path, theirs.b[k].path) < 0)
			i++;
		if (i == ours.n || strcmp(ours.b[i].path, theirs.b[k].path))
			err = take_event(merge, &theirs.b[k], NULL);
		else if (memcmp(&ours.b[i].oid, &theirs.b[k].oid, sizeof(git_oid)))
			err = take_event(merge, &theirs.b[k], &ours.b[i]);
	}
	return err;
}

/* --- merging cards ---------------------------------------------------------------------- */

/*
 * Return the index of the card with this path, found by binary search; -1 if there is no such card.
 */
static int64_t card_index(const struct kl_library *library, const char *path)
{
	size_t lo = 0, hi = library->cards.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = strcmp(library->cards.b[mid].path, path);

		if (!order)
			return (int64_t)mid;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

static int read_theirs(struct kl_card **out, struct merge *merge, size_t i)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	int err = kl_library_card_at(&card, merge->theirs, i);

	if (err < 0 || (err = check_events(merge, card)) < 0)
		return err;
	*out = kl_steal(&card);
	return 0;
}

/* Record which fields of a card both sides changed in different ways. */
static void note_both(struct merge *merge, const char *id, const struct kl_strvec *fields)
{
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;

	for (size_t i = 0; i < fields->n; i++)
		kl_buf_addf(&names, "%s%s", i ? ", " : "", fields->v[i]);
	if (fields->n)
		kl_strvec_pushf(&merge->done->both, "%s: %s", id, names.ptr);
}

/* Merge a card that both sides have in different versions. */
static int unite_card(struct merge *merge, const struct kl_card *theirs, const char *path,
		      size_t at)
{
	KL_AUTO(kl_card_freep) struct kl_card *ours = NULL, *base = NULL, *merged = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec fields = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf our_text = KL_BUF_INIT, text = KL_BUF_INIT;
	int64_t in_base = card_index(merge->base, path);
	int err;

	if ((err = kl_library_card_at(&ours, merge->ours, at)) < 0)
		return kl_error_in(err, "our library");
	if (in_base >= 0 && kl_library_card_at(&base, merge->base, (size_t)in_base) < 0)
		/* if the common version cannot be read, merge as if there were none */
		kl_error_clear();
	if ((err = kl_card_merge(&merged, &fields, base, ours, theirs)) < 0 ||
	    (err = kl_library_text(&our_text, merge->ours, at)) < 0)
		return err;
	kl_card_write(&text, merged);
	note_both(merge, theirs->id, &fields);
	if (text.len != our_text.len || memcmp(text.ptr, our_text.ptr, our_text.len)) {
		size_t n = text.len;

		merge->done->changed++;
		put_file(merge, kl_asprintf("cards/%s", path), kl_buf_detach(&text), n);
	}
	return 0;
}

static int take_card(struct merge *merge, size_t i)
{
	KL_AUTO(kl_card_freep) struct kl_card *theirs = NULL;
	const struct kl_blob *blob = &merge->theirs->cards.b[i];
	int64_t at = card_index(merge->ours, blob->path),
		in_base = card_index(merge->base, blob->path);
	struct kl_buf text = KL_BUF_INIT;
	size_t n;
	int err;

	if (at >= 0 && !memcmp(&merge->ours->cards.b[at].oid, &blob->oid, sizeof(git_oid)))
		return 0;
	/* they have not changed the card since the common version, so keep ours */
	if (at >= 0 && in_base >= 0 &&
	    !memcmp(&merge->base->cards.b[in_base].oid, &blob->oid, sizeof(git_oid)))
		return 0;
	if ((err = read_theirs(&theirs, merge, i)) < 0)
		return err;
	if (at >= 0)
		return unite_card(merge, theirs, blob->path, (size_t)at);
	if ((err = kl_library_text(&text, merge->theirs, i)) < 0)
		return err;
	merge->done->added++;
	n = text.len;
	put_file(merge, kl_asprintf("cards/%s", blob->path), kl_buf_detach(&text), n);
	return 0;
}

/* --- making the merge commit ----------------------------------------------------------------- */

static int open_three(struct merge *merge, const git_oid *ours, const git_oid *theirs)
{
	bool there = false;
	git_oid root, base;
	int err;

	if ((err = kl_library_root(&root, merge->r)) < 0 ||
	    (err = kl_repo_is_ancestor(&there, merge->r, &root, theirs)) < 0)
		return err;
	if (!there)
		return kl_error(
			KL_EINVALID,
			"not a skills library: it does not start at the common root commit");
	if ((err = kl_library_open_at(&merge->theirs, merge->r, theirs)) < 0 ||
	    (err = kl_library_open_at(&merge->ours, merge->r, ours)) < 0)
		return err;
	base = kl_oid_none;
	if (!git_oid_is_zero(ours) && (err = kl_repo_merge_base(&base, merge->r, ours, theirs)) < 0)
		return err;
	return kl_library_open_at(&merge->base, merge->r, &base);
}

static int commit_merge(git_oid *tip, struct merge *merge, const git_oid *ours,
			const git_oid *theirs)
{
	git_oid parent[2] = { *ours, *theirs };
	KL_AUTO(kl_freep) char *message = kl_asprintf(
		"merge: %zu card%s, %zu of them new\n", merge->done->added + merge->done->changed,
		merge->done->added + merge->done->changed == 1 ? "" : "s", merge->done->added);
	struct kl_commit_spec spec = { .message = message, .parent = parent, .nparent = 2 };
	bool none = git_oid_is_zero(ours), forward = none;
	int err = kl_repo_tree_edit(&spec.tree, merge->r, none ? NULL : &merge->ours->tree,
				    merge->edit, merge->n);

	if (!err && !none)
		err = kl_repo_is_ancestor(&forward, merge->r, ours, theirs);
	if (err < 0)
		return err;
	if (none) {
		spec.parent = parent + 1;
		spec.nparent = 1;
	}
	if (forward && !memcmp(&spec.tree, &merge->theirs->tree, sizeof(git_oid))) {
		*tip = *theirs;
		return 0;
	}
	return kl_repo_commit_write(tip, merge->r, &spec);
}

/* Take their .gitattributes if there is no library here yet. */
static int take_attributes(struct merge *merge)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	git_oid blob;
	size_t n;
	int err = !git_oid_is_zero(&merge->ours->tree) ?
			  KL_EEXISTS :
			  kl_repo_tree_entry(&blob, NULL, merge->r, &merge->theirs->tree,
					     ".gitattributes");

	if (err == KL_ENOTFOUND || err == KL_EEXISTS) {
		kl_error_clear();
		return 0;
	}
	if (err < 0 || (err = kl_repo_blob_read(&text, merge->r, &blob, 1 << 16)) < 0)
		return err;
	n = text.len;
	put_file(merge, kl_strdup(".gitattributes"), kl_buf_detach(&text), n);
	return 0;
}

int kl_library_merge(git_oid *tip, struct kl_library_merged *done, struct kl_repo *repo,
		     const git_oid *ours, const git_oid *theirs)
{
	KL_AUTO(merge_release) struct merge merge = { .r = repo, .done = done };
	bool have = false;
	int err = kl_repo_is_ancestor(&have, repo, theirs, ours);

	*done = (struct kl_library_merged){ 0 };
	if (err < 0)
		return err;
	if (have) {
		*tip = *ours;
		return 0;
	}
	if ((err = open_three(&merge, ours, theirs)) < 0)
		return err;
	for (size_t i = 0; !err && i < merge.theirs->cards.n; i++)
		err = take_card(&merge, i);
	if (!err)
		err = take_events(&merge);
	if (!err)
		err = take_attributes(&merge);
	return err ? err : commit_merge(tip, &merge, ours, theirs);
}
