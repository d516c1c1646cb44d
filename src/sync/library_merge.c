/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/library_merge.h"

#include <string.h>

#include "base/error.h"
#include "card/card_merge.h"
#include "card/library_parts.h"
#include "event/event.h"

#define MAX_EVENTS 10000000
#define MAX_EVENT (1u << 20)

static const git_oid zero;

struct merge {
	struct kl_repo *r;
	struct kl_library *base, *ours, *theirs;
	struct kl_map seen; /* events of theirs that were read */
	struct kl_tree_edit *edit;
	size_t n, alloc;
	struct kl_strvec keep; /* what the edits point to */
	struct kl_library_merged *done;
};

static void merge_release(struct merge *m)
{
	kl_library_free(m->base);
	kl_library_free(m->ours);
	kl_library_free(m->theirs);
	kl_map_release(&m->seen);
	kl_strvec_release(&m->keep);
	free(m->edit);
}

void kl_library_merged_release(struct kl_library_merged *m)
{
	kl_strvec_release(&m->both);
	*m = (struct kl_library_merged){ 0 };
}

/* takes both */
static void put_file(struct merge *m, char *path, char *text, size_t len)
{
	kl_strvec_take(&m->keep, path);
	kl_strvec_take(&m->keep, text);
	KL_GROW(m->edit, m->n + 1, m->alloc);
	m->edit[m->n++] = (struct kl_tree_edit){
		.path = path, .data = text, .len = len, .mode = 0100644
	};
}

/* --- events ------------------------------------------------------------------------ */

/*
 * An event that a card of theirs cites, and those that it was computed from, must be there and
 * true.
 */
static int check_event(struct merge *m, const char *id, int depth)
{
	KL_AUTO(kl_event_freep) struct kl_event *e = NULL;
	int err;

	if (depth > 8 || kl_map_get(&m->seen, id))
		return 0;
	kl_map_put(&m->seen, id, m);
	err = kl_library_event(&e, m->theirs, id);
	if (err == KL_ENOTFOUND)
		err = kl_error(KL_EINVALID, "event %.12s is not with it", id);
	if (err < 0)
		return err;
	if (!e->inverse.there)
		return 0;
	err = check_event(m, e->inverse.state, depth + 1);
	return err < 0 ? err : check_event(m, e->inverse.pair, depth + 1);
}

static int list_events(struct kl_blobs *out, struct kl_library *l)
{
	git_oid tree;
	int err = memcmp(&l->tree, &zero, sizeof(zero)) ?
			  kl_repo_subtree(&tree, l->repo, &l->tree, "evidence") :
			  KL_ENOTFOUND;

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	return err < 0 ? err : kl_repo_tree_list(out, l->repo, &tree, MAX_EVENTS);
}

/* "<xx>/<id>.json" of a file below evidence/ */
static bool is_event_path(const char *path)
{
	return strlen(path) == 72 && strspn(path, "0123456789abcdef") == 2 && path[2] == '/' &&
	       strspn(path + 3, "0123456789abcdef") == 64 && !strcmp(path + 67, ".json") &&
	       !strncmp(path, path + 3, 2);
}

/* One that only they have, or that they have otherwise (signed, say). */
static int take_event(struct merge *m, const struct kl_blob *theirs, const struct kl_blob *ours)
{
	KL_AUTO(kl_buf_release) struct kl_buf t = KL_BUF_INIT, o = KL_BUF_INIT, text = KL_BUF_INIT;
	KL_AUTO(kl_event_freep) struct kl_event *e = NULL;
	char id[65];
	int err;

	if (!is_event_path(theirs->path))
		return 0; /* nothing that a reader would look for */
	snprintf(id, sizeof(id), "%.64s", theirs->path + 3);
	if ((err = kl_library_event(&e, m->theirs, id)) < 0)
		return err;
	if ((err = kl_repo_blob_read(&t, m->r, &theirs->oid, MAX_EVENT)) < 0)
		return err;
	if (!ours) {
		size_t n = t.len;

		put_file(m, kl_asprintf("evidence/%s", theirs->path), kl_buf_detach(&t), n);
		return 0;
	}
	if ((err = kl_repo_blob_read(&o, m->r, &ours->oid, MAX_EVENT)) < 0 ||
	    (err = kl_card_merge_text(&text, theirs->path, NULL, &o, &t)) < 0)
		return err;
	if (text.len != o.len || memcmp(text.ptr, o.ptr, o.len)) {
		size_t n = text.len;

		put_file(m, kl_asprintf("evidence/%s", theirs->path), kl_buf_detach(&text), n);
	}
	return 0;
}

static int take_events(struct merge *m)
{
	KL_AUTO(kl_blobs_release) struct kl_blobs ours = { 0 }, theirs = { 0 };
	size_t i = 0;
	int err = list_events(&ours, m->ours);

	if (!err)
		err = list_events(&theirs, m->theirs);
	for (size_t k = 0; !err && k < theirs.n; k++) {
		while (i < ours.n && strcmp(ours.b[i].path, theirs.b[k].path) < 0)
			i++;
		if (i == ours.n || strcmp(ours.b[i].path, theirs.b[k].path))
			err = take_event(m, &theirs.b[k], NULL);
		else if (memcmp(&ours.b[i].oid, &theirs.b[k].oid, sizeof(git_oid)))
			err = take_event(m, &theirs.b[k], &ours.b[i]);
	}
	return err;
}

/* --- cards ------------------------------------------------------------------------------ */

/* The place of exactly this card; -1: not there. Both lists are in the order of file names. */
static int64_t place_of(const struct kl_library *l, const char *path)
{
	size_t lo = 0, hi = l->cards.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strcmp(l->cards.b[mid].path, path);

		if (!c)
			return (int64_t)mid;
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

static int read_theirs(struct kl_card **out, struct merge *m, size_t i)
{
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec events = KL_STRVEC_INIT;
	int err = kl_library_card_at(&c, m->theirs, i);

	if (err < 0)
		return err;
	kl_card_events(&events, c);
	for (size_t k = 0; !err && k < events.n; k++)
		err = check_event(m, events.v[k], 0);
	if (err < 0)
		return kl_error_in(err, "card '%s'", c->id);
	*out = kl_steal(&c);
	return 0;
}

static void note_both(struct merge *m, const char *id, const struct kl_strvec *fields)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	for (size_t i = 0; i < fields->n; i++)
		kl_buf_addf(&b, "%s%s", i ? ", " : "", fields->v[i]);
	if (fields->n)
		kl_strvec_pushf(&m->done->both, "%s: %s", id, b.ptr);
}

/* A card that both have, in two versions. */
static int unite_card(struct merge *m, const struct kl_card *theirs, const char *path, size_t at)
{
	KL_AUTO(kl_card_freep) struct kl_card *ours = NULL, *base = NULL, *merged = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec both = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf was = KL_BUF_INIT, text = KL_BUF_INIT;
	int64_t in_base = place_of(m->base, path);
	int err;

	if ((err = kl_library_card_at(&ours, m->ours, at)) < 0)
		return kl_error_in(err, "our own library");
	if (in_base >= 0 && kl_library_card_at(&base, m->base, (size_t)in_base) < 0)
		kl_error_clear(); /* an old version that nobody can read is none */
	if ((err = kl_card_merge(&merged, &both, base, ours, theirs)) < 0 ||
	    (err = kl_library_text(&was, m->ours, at)) < 0)
		return err;
	kl_card_write(&text, merged);
	note_both(m, theirs->id, &both);
	if (text.len != was.len || memcmp(text.ptr, was.ptr, was.len)) {
		size_t n = text.len;

		m->done->changed++;
		put_file(m, kl_asprintf("cards/%s", path), kl_buf_detach(&text), n);
	}
	return 0;
}

static int take_card(struct merge *m, size_t i)
{
	KL_AUTO(kl_card_freep) struct kl_card *theirs = NULL;
	const struct kl_blob *b = &m->theirs->cards.b[i];
	int64_t at = place_of(m->ours, b->path), in_base = place_of(m->base, b->path);
	struct kl_buf text = KL_BUF_INIT;
	size_t n;
	int err;

	if (at >= 0 && !memcmp(&m->ours->cards.b[at].oid, &b->oid, sizeof(git_oid)))
		return 0;
	/* they have it as it was: what changed is ours */
	if (at >= 0 && in_base >= 0 &&
	    !memcmp(&m->base->cards.b[in_base].oid, &b->oid, sizeof(git_oid)))
		return 0;
	if ((err = read_theirs(&theirs, m, i)) < 0)
		return err;
	if (at >= 0)
		return unite_card(m, theirs, b->path, (size_t)at);
	if ((err = kl_library_text(&text, m->theirs, i)) < 0)
		return err;
	m->done->added++;
	n = text.len;
	put_file(m, kl_asprintf("cards/%s", b->path), kl_buf_detach(&text), n);
	return 0;
}

/* --- the commit ----------------------------------------------------------------------------- */

static int open_three(struct merge *m, const git_oid *ours, const git_oid *theirs)
{
	bool there = false;
	git_oid root, base;
	int err;

	if ((err = kl_library_root(&root, m->r)) < 0 ||
	    (err = kl_repo_is_ancestor(&there, m->r, &root, theirs)) < 0)
		return err;
	if (!there)
		return kl_error(KL_EINVALID, "it does not begin at the root of all libraries");
	if ((err = kl_library_open_at(&m->theirs, m->r, theirs)) < 0 ||
	    (err = kl_library_open_at(&m->ours, m->r, ours)) < 0)
		return err;
	base = zero;
	if (memcmp(ours, &zero, sizeof(zero)) &&
	    (err = kl_repo_merge_base(&base, m->r, ours, theirs)) < 0)
		return err;
	return kl_library_open_at(&m->base, m->r, &base);
}

static int commit_merge(git_oid *tip, struct merge *m, const git_oid *ours, const git_oid *theirs)
{
	git_oid parent[2] = { *ours, *theirs };
	KL_AUTO(kl_freep) char *message = kl_asprintf(
		"merge: %zu card%s, %zu of them new\n", m->done->added + m->done->changed,
		m->done->added + m->done->changed == 1 ? "" : "s", m->done->added);
	struct kl_commit_spec s = { .message = message, .parent = parent, .nparent = 2 };
	bool none = !memcmp(ours, &zero, sizeof(zero)), forward = none;
	int err = kl_repo_tree_edit(&s.tree, m->r, none ? NULL : &m->ours->tree, m->edit, m->n);

	if (!err && !none)
		err = kl_repo_is_ancestor(&forward, m->r, ours, theirs);
	if (err < 0)
		return err;
	if (none) {
		s.parent = parent + 1;
		s.nparent = 1;
	}
	if (forward && !memcmp(&s.tree, &m->theirs->tree, sizeof(git_oid))) {
		*tip = *theirs;
		return 0;
	}
	return kl_repo_commit_write(tip, m->r, &s);
}

/* What is ours alone of the library's tree, a first one takes over, too. */
static int take_attributes(struct merge *m)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	git_oid blob;
	size_t n;
	int err = memcmp(&m->ours->tree, &zero, sizeof(zero)) ?
			  KL_EEXISTS :
			  kl_repo_tree_entry(&blob, NULL, m->r, &m->theirs->tree, ".gitattributes");

	if (err == KL_ENOTFOUND || err == KL_EEXISTS) {
		kl_error_clear();
		return 0;
	}
	if (err < 0 || (err = kl_repo_blob_read(&text, m->r, &blob, 1 << 16)) < 0)
		return err;
	n = text.len;
	put_file(m, kl_strdup(".gitattributes"), kl_buf_detach(&text), n);
	return 0;
}

int kl_library_merge(git_oid *tip, struct kl_library_merged *done, struct kl_repo *r,
		     const git_oid *ours, const git_oid *theirs)
{
	KL_AUTO(merge_release) struct merge m = { .r = r, .done = done };
	bool have = false;
	int err = kl_repo_is_ancestor(&have, r, theirs, ours);

	*done = (struct kl_library_merged){ 0 };
	if (err < 0)
		return err;
	if (have) {
		*tip = *ours;
		return 0;
	}
	if ((err = open_three(&m, ours, theirs)) < 0)
		return err;
	for (size_t i = 0; !err && i < m.theirs->cards.n; i++)
		err = take_card(&m, i);
	if (!err)
		err = take_events(&m);
	if (!err)
		err = take_attributes(&m);
	return err ? err : commit_merge(tip, &m, ours, theirs);
}
