/* SPDX-License-Identifier: Apache-2.0 */
/* notes_merge - merges two tips of a notes ref, event by event */
#include <stdlib.h>
#include <string.h>

#include "repo/internal.h"
#include "repo/notes.h"

#define MAX_BYTES ((size_t)4 << 30) /* limit for the total size of the notes that differ */

/* A line of a merged note; `text` points into the note that it was read from. */
struct line {
	const char *text;
	size_t len;
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

/* --- merging the notes of one commit -------------------------------------- */

/* Order lines by key, then by bytes. Of lines with the same key the first is kept. */
static int by_key(const void *left, const void *right)
{
	const struct line *x = left, *y = right;
	int order = strcmp(x->key.full, y->key.full);

	if (!order)
		order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);
	return order ? order : (x->len > y->len) - (x->len < y->len);
}

/*
 * Order lines by time, oldest first, and events without a time last. This order does not depend on
 * which side merges.
 */
static int by_time(const void *left, const void *right)
{
	const struct line *x = left, *y = right;
	int order = !*x->key.time - !*y->key.time;

	if (!order)
		order = strcmp(x->key.time, y->key.time);
	return order ? order : by_key(left, right);
}

/* Add the lines of one side. If a line of `theirs` is refused, only count it. */
static void add_lines(struct lines *lines, struct merge *merge, const char *text, bool theirs)
{
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, "\n");
		struct line one = { .text = at, .len = len };

		if (len && theirs && !merge->accept(at, len, merge->payload)) {
			merge->done->refused++;
		} else if (len) {
			kl_note_key_init(&one.key, at, len);
			KL_GROW(lines->v, lines->n + 1, lines->alloc);
			lines->v[lines->n++] = one;
		}
		at += len + (at[len] == '\n');
	}
}

/*
 * Remove duplicates and append the remaining lines to `out`. If an event is signed on one side and
 * unsigned on the other, both lines stay, as they do if the signed line is added later (see
 * add_new() in notes_write.c).
 */
static void unite_lines(struct kl_buf *out, struct lines *lines)
{
	size_t kept = 0;

	qsort(lines->v, lines->n, sizeof(*lines->v), by_key);
	for (size_t i = 0; i < lines->n; i++) {
		if (kept && !strcmp(lines->v[kept - 1].key.full, lines->v[i].key.full))
			kl_note_key_release(&lines->v[i].key);
		else
			lines->v[kept++] = lines->v[i];
	}
	lines->n = kept;
	qsort(lines->v, lines->n, sizeof(*lines->v), by_time);
	for (size_t i = 0; i < lines->n; i++)
		kl_buf_addf(out, "%.*s\n", (int)lines->v[i].len, lines->v[i].text);
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
		err = kl_error(KL_EINVALID,
			       "the notes that differ are larger than %zu MiB in total",
			       MAX_BYTES >> 20);
	return err;
}

static bool same_notes(const struct kl_note_index *left, size_t left_from, size_t left_to,
		       const struct kl_note_index *right, size_t right_from, size_t right_to)
{
	if (left_to - left_from != 1 || right_to - right_from != 1)
		return false;
	return git_oid_equal(&left->e[left_from].blob, &right->e[right_from].blob);
}

/* Merge the notes of one commit, which are the entries [from, to) of `theirs`. */
static int merge_one(struct merge *merge, size_t from, size_t to)
{
	KL_AUTO(lines_release) struct lines lines = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf ours = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf theirs = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct kl_note_entry *entry = &merge->theirs.e[from];
	size_t ours_from, ours_to, refused = merge->done->refused, had, added;
	int err;

	kl_notes_find(&ours_from, &ours_to, &merge->out.old, &entry->commit);
	if (same_notes(&merge->out.old, ours_from, ours_to, &merge->theirs, from, to))
		return 0;
	if ((err = read_note(&ours, merge, &merge->out.old, ours_from, ours_to)) < 0 ||
	    (err = read_note(&theirs, merge, &merge->theirs, from, to)) < 0)
		return err;
	add_lines(&lines, merge, ours.ptr, false);
	had = lines.n;
	add_lines(&lines, merge, theirs.ptr, true);
	unite_lines(&text, &lines);
	added = lines.n > had ? lines.n - had : 0;
	merge->out.events += added;
	merge->out.commits += added > 0;
	/*
	 * if only the other side has the note, and none of its lines was refused, use its blob
	 * unchanged
	 */
	if (ours_from == ours_to && to - from == 1 && merge->done->refused == refused)
		kl_notes_emit(&merge->out, &entry->commit, NULL, &entry->blob, entry->depth);
	else if (strcmp(text.ptr, ours.ptr) || ours_to - ours_from > 1)
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

/* --- making the merge commit -------------------------------------------------- */

/*
 * Merge when we have no notes yet. Set *tip to the tip of the other side or, if lines were refused,
 * to a commit on top of that tip without the refused lines.
 */
static int clean_merge(git_oid *tip, struct merge *merge, const git_oid *theirs)
{
	KL_AUTO(kl_note_index_release) struct kl_note_index all = merge->theirs;
	struct kl_notes_write write = { .r = merge->out.r, .tip = *theirs, .stream = KL_BUF_INIT };
	int err = 0;

	merge->theirs = (struct kl_note_index){ 0 };
	write.old = all;
	for (size_t i = 0, next; !err && i < all.n; i = next) {
		KL_AUTO(lines_release) struct lines lines = { 0 };
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, theirs_text = KL_BUF_INIT;
		size_t refused = merge->done->refused;

		for (next = i; next < all.n && git_oid_equal(&all.e[i].commit, &all.e[next].commit);
		     next++)
			;
		if ((err = read_note(&theirs_text, merge, &all, i, next)) < 0)
			break;
		add_lines(&lines, merge, theirs_text.ptr, true);
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
		return kl_error_in(err, "notes of the remote");
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
