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

static void lines_release(struct lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		kl_note_key_release(&lines->v[i].key);
	free(lines->v);
}

struct merge {
	struct kl_notes_write out;
	struct kl_note_index theirs;
	kl_notes_accept *accept;
	void *payload;
	struct kl_notes_merged *done;
	size_t bytes;
};

static void merge_release(struct merge *merge)
{
	kl_notes_write_release(&merge->out);
	kl_note_index_release(&merge->theirs);
}

/* --- one note ------------------------------------------------------------ */

/* By what a line is, then by itself: the first of two that are the same is the one to keep. */
static int by_key(const void *left, const void *right)
{
	const struct line *line = left, *other = right;
	int ch = strcmp(line->key.full, other->key.full);

	if (!ch)
		ch = memcmp(line->s, other->s, line->n < other->n ? line->n : other->n);
	return ch ? ch : (line->n > other->n) - (line->n < other->n);
}

/* Oldest first, events that say no time last: an order that does not tell who merged. */
static int by_time(const void *left, const void *right)
{
	const struct line *other = left, *line = right;
	int ch = !*other->key.time - !*line->key.time;

	if (!ch)
		ch = strcmp(other->key.time, line->key.time);
	return ch ? ch : by_key(left, right);
}

/* The lines of one side; those of theirs that are refused are counted and left. */
static void add_lines(struct lines *lines, struct merge *merge, const char *text, bool theirs)
{
	for (const char *at = text; *at;) {
		size_t n = strcspn(at, "\n");
		struct line one = { .s = at, .n = n };

		if (n && theirs && !merge->accept(at, n, merge->payload)) {
			merge->done->refused++;
		} else if (n) {
			kl_note_key_init(&one.key, at, n);
			KL_GROW(lines->v, lines->n + 1, lines->alloc);
			lines->v[lines->n++] = one;
		}
		at += n + (at[n] == '\n');
	}
}

/*
 * Drop doubles; of an event that is signed on one side both lines stay, as a writer would have it.
 */
static void unite_lines(struct kl_buf *out, struct lines *lines)
{
	size_t n = 0;

	qsort(lines->v, lines->n, sizeof(*lines->v), by_key);
	for (size_t i = 0; i < lines->n; i++) {
		if (n && !strcmp(lines->v[n - 1].key.full, lines->v[i].key.full))
			kl_note_key_release(&lines->v[i].key);
		else
			lines->v[n++] = lines->v[i];
	}
	lines->n = n;
	qsort(lines->v, lines->n, sizeof(*lines->v), by_time);
	for (size_t i = 0; i < lines->n; i++)
		kl_buf_addf(out, "%.*s\n", (int)lines->v[i].n, lines->v[i].s);
}

static int read_note(struct kl_buf *out, struct merge *merge, const struct kl_note_index *index,
		     size_t from, size_t to)
{
	int err = 0;

	for (size_t i = from; !err && i < to; i++)
		if (i == from || !git_oid_equal(&index->e[i].blob, &index->e[i - 1].blob))
			err = kl_notes_concat(out, merge->out.r, &index->e[i].blob);
	merge->bytes += out->len;
	if (!err && merge->bytes > MAX_BYTES)
		err = kl_error(KL_EINVALID, "the notes that differ have more than %zu MiB",
			       MAX_BYTES >> 20);
	return err;
}

static bool same_notes(const struct kl_note_index *left, size_t af, size_t at,
		       const struct kl_note_index *right, size_t bf, size_t bt)
{
	if (at - af != 1 || bt - bf != 1)
		return false;
	return git_oid_equal(&left->e[af].blob, &right->e[bf].blob);
}

/* theirs[from, to) are the notes of one commit */
static int merge_one(struct merge *merge, size_t from, size_t to)
{
	KL_AUTO(lines_release) struct lines lines = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf ours = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf theirs = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct kl_note_entry *entry = &merge->theirs.e[from];
	size_t of, ot, refused = merge->done->refused, had, added;
	int err;

	kl_notes_find(&of, &ot, &merge->out.old, &entry->commit);
	if (same_notes(&merge->out.old, of, ot, &merge->theirs, from, to))
		return 0;
	if ((err = read_note(&ours, merge, &merge->out.old, of, ot)) < 0 ||
	    (err = read_note(&theirs, merge, &merge->theirs, from, to)) < 0)
		return err;
	add_lines(&lines, merge, ours.ptr, false);
	had = lines.n;
	add_lines(&lines, merge, theirs.ptr, true);
	unite_lines(&text, &lines);
	added = lines.n > had ? lines.n - had : 0;
	merge->out.events += added;
	merge->out.commits += added > 0;
	/* a note that only they have stays the very blob that it is */
	if (of == ot && to - from == 1 && merge->done->refused == refused)
		kl_notes_emit(&merge->out, &entry->commit, NULL, &entry->blob, entry->depth);
	else if (strcmp(text.ptr, ours.ptr) || ot - of > 1)
		kl_notes_emit(&merge->out, &entry->commit, &text, NULL, entry->depth);
	return 0;
}

static int merge_all(struct merge *merge)
{
	int err = 0;

	for (size_t i = 0, next; !err && i < merge->theirs.n; i = next) {
		for (next = i;
		     next < merge->theirs.n &&
		     git_oid_equal(&merge->theirs.e[i].commit, &merge->theirs.e[next].commit);
		     next++)
			;
		err = merge_one(merge, i, next);
	}
	return err;
}

/* --- the commit -------------------------------------------------------------- */

/* None of ours: theirs, less what is refused, on top of theirs. */
static int clean_merge(git_oid *tip, struct merge *merge, const git_oid *theirs)
{
	KL_AUTO(kl_note_index_release) struct kl_note_index all = merge->theirs;
	struct kl_notes_write write = { .r = merge->out.r, .tip = *theirs, .stream = KL_BUF_INIT };
	int err = 0;

	merge->theirs = (struct kl_note_index){ 0 };
	write.old = all;
	for (size_t i = 0, next; !err && i < all.n; i = next) {
		KL_AUTO(lines_release) struct lines lines = { 0 };
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, was = KL_BUF_INIT;
		size_t refused = merge->done->refused;

		for (next = i; next < all.n && git_oid_equal(&all.e[i].commit, &all.e[next].commit);
		     next++)
			;
		if ((err = read_note(&was, merge, &all, i, next)) < 0)
			break;
		add_lines(&lines, merge, was.ptr, true);
		unite_lines(&text, &lines);
		write.events += lines.n;
		write.commits++;
		if (merge->done->refused > refused)
			kl_notes_emit(&write, &all.e[i].commit, &text, NULL, all.e[i].depth);
	}
	merge->done->events = write.events;
	merge->done->commits = write.commits;
	*tip = *theirs;
	if (!err && merge->done->refused)
		err = kl_notes_commit(tip, &write);
	kl_buf_release(&write.stream);
	return err;
}

int kl_notes_merge(git_oid *tip, struct kl_notes_merged *done, struct kl_repo *repo,
		   const git_oid *ours, const git_oid *theirs, kl_notes_accept *accept,
		   void *payload)
{
	KL_AUTO(merge_release) struct merge merge = {
		.out = { .r = repo, .tip = *ours, .second = *theirs, .stream = KL_BUF_INIT },
		.accept = accept,
		.payload = payload,
		.done = done,
	};
	bool forward = false, have = false;
	int err;

	*done = (struct kl_notes_merged){ 0 };
	if (!git_oid_is_zero(ours) && (err = kl_repo_is_ancestor(&have, repo, theirs, ours)) < 0)
		return err;
	if (have) {
		*tip = *ours;
		return 0;
	}
	if ((err = kl_notes_index(&merge.theirs, repo, theirs)) < 0)
		return kl_error_in(err, "their notes");
	if (git_oid_is_zero(ours))
		return clean_merge(tip, &merge, theirs);
	if ((err = kl_notes_index(&merge.out.old, repo, ours)) < 0 ||
	    (err = merge_all(&merge)) < 0 ||
	    (err = kl_repo_is_ancestor(&forward, repo, ours, theirs)) < 0)
		return err;
	done->events = merge.out.events;
	done->commits = merge.out.commits;
	if (forward && !done->refused) {
		*tip = *theirs;
		return 0;
	}
	return kl_notes_commit(tip, &merge.out);
}
