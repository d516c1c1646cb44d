/* SPDX-License-Identifier: Apache-2.0 */
/* notes_merge - merges two tips of a notes ref, event by event */
#include <stdlib.h>
#include <string.h>

#include "repo/internal.h"
#include "repo/notes.h"

#define MAX_BYTES ((size_t)4 << 30) /* of notes that differ, all together */

/* A line of a united note; it points into the text that it came from. */
struct line {
	const char *s;
	size_t n;
	struct kl_note_key key;
};

struct lines {
	struct line *v;
	size_t n, alloc;
};

static void lines_release(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		kl_note_key_release(&l->v[i].key);
	free(l->v);
}

struct merge {
	struct kl_notes_write out;
	struct kl_note_index theirs;
	kl_notes_accept *accept;
	void *payload;
	struct kl_notes_merged *done;
	size_t bytes;
};

static void merge_release(struct merge *m)
{
	kl_notes_write_release(&m->out);
	kl_note_index_release(&m->theirs);
}

/* --- one note ------------------------------------------------------------ */

/* By what a line is, then by itself: the first of two that are the same is the one to keep. */
static int by_key(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int c = strcmp(x->key.full, y->key.full);

	if (!c)
		c = memcmp(x->s, y->s, x->n < y->n ? x->n : y->n);
	return c ? c : (x->n > y->n) - (x->n < y->n);
}

/* Oldest first, events that say no time last: an order that does not tell who merged. */
static int by_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int c = !*x->key.time - !*y->key.time;

	if (!c)
		c = strcmp(x->key.time, y->key.time);
	return c ? c : by_key(a, b);
}

/* The lines of one side; those of theirs that are refused are counted and left. */
static void add_lines(struct lines *l, struct merge *m, const char *text, bool theirs)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\n");
		struct line one = { .s = p, .n = n };

		if (n && theirs && !m->accept(p, n, m->payload)) {
			m->done->refused++;
		} else if (n) {
			kl_note_key_init(&one.key, p, n);
			KL_GROW(l->v, l->n + 1, l->alloc);
			l->v[l->n++] = one;
		}
		p += n + (p[n] == '\n');
	}
}

/*
 * Drop doubles; of an event that is signed on one side both lines stay, as a writer would have it.
 */
static void unite_lines(struct kl_buf *out, struct lines *l)
{
	size_t n = 0;

	qsort(l->v, l->n, sizeof(*l->v), by_key);
	for (size_t i = 0; i < l->n; i++) {
		if (n && !strcmp(l->v[n - 1].key.full, l->v[i].key.full))
			kl_note_key_release(&l->v[i].key);
		else
			l->v[n++] = l->v[i];
	}
	l->n = n;
	qsort(l->v, l->n, sizeof(*l->v), by_time);
	for (size_t i = 0; i < l->n; i++)
		kl_buf_addf(out, "%.*s\n", (int)l->v[i].n, l->v[i].s);
}

static int read_note(struct kl_buf *out, struct merge *m, const struct kl_note_index *x,
		     size_t from, size_t to)
{
	int err = 0;

	for (size_t i = from; !err && i < to; i++)
		if (i == from || !git_oid_equal(&x->e[i].blob, &x->e[i - 1].blob))
			err = kl_notes_concat(out, m->out.r, &x->e[i].blob);
	m->bytes += out->len;
	if (!err && m->bytes > MAX_BYTES)
		err = kl_error(KL_EINVALID, "the notes that differ have more than %zu MiB",
			       MAX_BYTES >> 20);
	return err;
}

static bool same_notes(const struct kl_note_index *a, size_t af, size_t at,
		       const struct kl_note_index *b, size_t bf, size_t bt)
{
	if (at - af != 1 || bt - bf != 1)
		return false;
	return git_oid_equal(&a->e[af].blob, &b->e[bf].blob);
}

/* theirs[from, to) are the notes of one commit */
static int merge_one(struct merge *m, size_t from, size_t to)
{
	KL_AUTO(lines_release) struct lines l = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf ours = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf theirs = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct kl_note_entry *e = &m->theirs.e[from];
	size_t of, ot, refused = m->done->refused, had, added;
	int err;

	kl_notes_find(&of, &ot, &m->out.old, &e->commit);
	if (same_notes(&m->out.old, of, ot, &m->theirs, from, to))
		return 0;
	if ((err = read_note(&ours, m, &m->out.old, of, ot)) < 0 ||
	    (err = read_note(&theirs, m, &m->theirs, from, to)) < 0)
		return err;
	add_lines(&l, m, ours.ptr, false);
	had = l.n;
	add_lines(&l, m, theirs.ptr, true);
	unite_lines(&text, &l);
	added = l.n > had ? l.n - had : 0;
	m->out.events += added;
	m->out.commits += added > 0;
	/* a note that only they have stays the very blob that it is */
	if (of == ot && to - from == 1 && m->done->refused == refused)
		kl_notes_emit(&m->out, &e->commit, NULL, &e->blob, e->depth);
	else if (strcmp(text.ptr, ours.ptr) || ot - of > 1)
		kl_notes_emit(&m->out, &e->commit, &text, NULL, e->depth);
	return 0;
}

static int merge_all(struct merge *m)
{
	int err = 0;

	for (size_t i = 0, next; !err && i < m->theirs.n; i = next) {
		for (next = i; next < m->theirs.n &&
			       git_oid_equal(&m->theirs.e[i].commit, &m->theirs.e[next].commit);
		     next++)
			;
		err = merge_one(m, i, next);
	}
	return err;
}

/* --- the commit -------------------------------------------------------------- */

/* None of ours: theirs, less what is refused, on top of theirs. */
static int clean_merge(git_oid *tip, struct merge *m, const git_oid *theirs)
{
	KL_AUTO(kl_note_index_release) struct kl_note_index all = m->theirs;
	struct kl_notes_write w = { .r = m->out.r, .tip = *theirs, .stream = KL_BUF_INIT };
	int err = 0;

	m->theirs = (struct kl_note_index){ 0 };
	w.old = all;
	for (size_t i = 0, next; !err && i < all.n; i = next) {
		KL_AUTO(lines_release) struct lines l = { 0 };
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, was = KL_BUF_INIT;
		size_t refused = m->done->refused;

		for (next = i; next < all.n && git_oid_equal(&all.e[i].commit, &all.e[next].commit);
		     next++)
			;
		if ((err = read_note(&was, m, &all, i, next)) < 0)
			break;
		add_lines(&l, m, was.ptr, true);
		unite_lines(&text, &l);
		w.events += l.n;
		w.commits++;
		if (m->done->refused > refused)
			kl_notes_emit(&w, &all.e[i].commit, &text, NULL, all.e[i].depth);
	}
	m->done->events = w.events;
	m->done->commits = w.commits;
	*tip = *theirs;
	if (!err && m->done->refused)
		err = kl_notes_commit(tip, &w);
	kl_buf_release(&w.stream);
	return err;
}

int kl_notes_merge(git_oid *tip, struct kl_notes_merged *done, struct kl_repo *r,
		   const git_oid *ours, const git_oid *theirs, kl_notes_accept *accept,
		   void *payload)
{
	KL_AUTO(merge_release) struct merge m = {
		.out = { .r = r, .tip = *ours, .second = *theirs, .stream = KL_BUF_INIT },
		.accept = accept,
		.payload = payload,
		.done = done,
	};
	bool forward = false, have = false;
	int err;

	*done = (struct kl_notes_merged){ 0 };
	if (!git_oid_is_zero(ours) && (err = kl_repo_is_ancestor(&have, r, theirs, ours)) < 0)
		return err;
	if (have) {
		*tip = *ours;
		return 0;
	}
	if ((err = kl_notes_index(&m.theirs, r, theirs)) < 0)
		return kl_error_in(err, "their notes");
	if (git_oid_is_zero(ours))
		return clean_merge(tip, &m, theirs);
	if ((err = kl_notes_index(&m.out.old, r, ours)) < 0 || (err = merge_all(&m)) < 0 ||
	    (err = kl_repo_is_ancestor(&forward, r, ours, theirs)) < 0)
		return err;
	done->events = m.out.events;
	done->commits = m.out.commits;
	if (forward && !done->refused) {
		*tip = *theirs;
		return 0;
	}
	return kl_notes_commit(tip, &m.out);
}
