/* SPDX-License-Identifier: Apache-2.0 */
/* event_index_build - writes the event index, copying unchanged notes from an older one */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "base/vec.h"
#include "event/event.h"
#include "event/event_index_parts.h"

#define BATCH 4096
#define GRAIN 64

/* --- indexing one note --------------------------------------------------------------- */

struct made {
	struct kl_event_index_entry *v;
	size_t n, alloc;
};

static void made_release(struct made *made)
{
	free(made->v);
	*made = (struct made){ 0 };
}

static void copy_word(char *to, size_t size, const char *word)
{
	size_t n = strnlen(word, size - 1);

	memcpy(to, word, n);
}

static struct kl_event_index_entry record_of(const struct kl_event *event,
					     const struct kl_event_index_note *note, size_t at,
					     size_t len)
{
	struct kl_event_index_entry entry = {
		.commit = note->commit,
		.blob = note->blob,
		.at = (uint32_t)at,
		.len = (uint32_t)len,
	};

	kl_event_index_digest(entry.id, event->id);
	kl_event_index_digest(entry.surface, event->surface);
	kl_event_index_digest(entry.contract, event->contract);
	copy_word(entry.time, sizeof(entry.time), event->time);
	return entry;
}

static bool is_indexed(const struct kl_event *event)
{
	return event->kind == KL_KIND_GATE || event->kind == KL_KIND_CHECK ||
	       event->kind == KL_KIND_RETRACT;
}

/* Add a line if it is an event of a kind that is indexed; skip other lines. */
static void take_line(struct made *made, const struct kl_event_index_note *note, const char *text,
		      size_t at, size_t len)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

	if (!len)
		return;
	if (kl_event_parse(&event, text + at, len) < 0) {
		kl_error_clear();
		return;
	}
	if (!is_indexed(event))
		return;
	KL_GROW(made->v, made->n + 1, made->alloc);
	made->v[made->n++] = record_of(event, note, at, len);
}

static int by_id(const void *left, const void *right)
{
	const struct kl_event_index_entry *x = left, *y = right;
	int order = memcmp(x->id, y->id, sizeof(x->id));

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static void index_note(struct made *made, const struct kl_event_index_note *note, const char *text,
		       size_t len)
{
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - (text + at)) : len - at;

		take_line(made, note, text, at, n);
		at += n + 1;
	}
	if (made->n)
		qsort(made->v, made->n, sizeof(*made->v), by_id);
}

/* --- indexing all notes, in batches ---------------------------------------------------- */

struct making {
	struct kl_repo *r;
	const struct kl_event_index *base; /* older index to copy from; NULL if there is none */
	struct kl_note_at *at;
	size_t n;
	struct kl_buf events, notes;
	size_t nevents, nnotes;
	struct kl_event_index_head head;
	/* the current batch of notes */
	struct kl_event_index_note note[BATCH];
	struct kl_buf text[BATCH];
	struct made made[BATCH];
	bool old[BATCH]; /* the note was copied from `base` */
};

static void making_free(struct making *making)
{
	for (size_t i = 0; i < BATCH; i++) {
		kl_buf_release(&making->text[i]);
		made_release(&making->made[i]);
	}
	kl_buf_release(&making->events);
	kl_buf_release(&making->notes);
	free(making->at);
	free(making);
}
KL_DEFINE_CLEANUP(struct making *, making_free)

static const struct kl_event_index_note *in_base(const struct kl_event_index *base,
						 const git_oid *commit, const git_oid *blob)
{
	size_t lo = 0, hi = base ? (size_t)base->head->notes : 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = memcmp(&base->note[mid].commit, commit, sizeof(*commit));

		if (!order && base->note[mid].whole &&
		    !memcmp(&base->note[mid].blob, blob, sizeof(*blob)))
			return &base->note[mid];
		if (!order)
			return NULL;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static void copy_old(struct made *made, const struct kl_event_index *base,
		     const struct kl_event_index_note *note)
{
	for (uint32_t i = 0; i < note->n; i++) {
		KL_GROW(made->v, made->n + 1, made->alloc);
		made->v[made->n++] = base->event[note->first + i];
	}
}

/* Index a range of the batch; called in several threads at once. */
static void index_some(void *ctx, size_t from, size_t to)
{
	struct making *making = ctx;

	for (size_t i = from; i < to; i++)
		if (!making->old[i])
			index_note(&making->made[i], &making->note[i], making->text[i].ptr,
				   making->text[i].len);
}

/* Fill a batch with notes from at[*next] on, advance *next, and set *count to the batch's size. */
static int fill_groups(size_t *count, size_t *next, struct making *making)
{
	size_t n = 0;
	int err = 0;

	for (; !err && n < BATCH && *next < making->n; n++) {
		const struct kl_note_at *at = &making->at[*next];
		const struct kl_event_index_note *old;
		size_t blobs = 1;

		while (*next + blobs < making->n &&
		       !memcmp(&at[blobs].commit, &at->commit, sizeof(git_oid)))
			blobs++;
		making->note[n] = (struct kl_event_index_note){ .commit = at->commit,
								.blob = at->blob,
								.whole = blobs == 1 };
		kl_buf_clear(&making->text[n]);
		making->made[n].n = 0;
		old = blobs == 1 ? in_base(making->base, &at->commit, &at->blob) : NULL;
		making->old[n] = old != NULL;
		if (old)
			copy_old(&making->made[n], making->base, old);
		/*
		 * in rare cases, a commit has notes at several depths of the notes tree; each blob
		 * counts as a note
		 */
		else
			err = kl_repo_blob_read(&making->text[n], making->r, &at->blob,
						KL_EVENT_INDEX_MAX_NOTE);
		*next += 1;
	}
	*count = n;
	return err;
}

static void keep_batch(struct making *making, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		making->note[i].first = (uint32_t)making->nevents;
		making->note[i].n = (uint32_t)making->made[i].n;
		kl_buf_add(&making->events, making->made[i].v,
			   making->made[i].n * sizeof(*making->made[i].v));
		kl_buf_add(&making->notes, &making->note[i], sizeof(making->note[i]));
		making->nevents += making->made[i].n;
		making->nnotes++;
	}
}

static int by_surface(const void *left, const void *right, void *events)
{
	const struct kl_event_index_entry *all = events;
	uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
	const struct kl_event_index_entry *x = &all[i], *y = &all[k];
	int order = memcmp(x->surface, y->surface, 32);

	if (!order)
		order = memcmp(x->contract, y->contract, 32);
	if (!order)
		order = strcmp(x->time, y->time);
	if (!order)
		order = memcmp(x->id, y->id, 32);
	return order ? order : (i > k) - (i < k); /* copies of one event keep the order of notes */
}

static void write_out(struct kl_buf *out, struct making *making)
{
	KL_AUTO(kl_freep) uint32_t *order = kl_calloc(making->nevents + 1, sizeof(*order));

	for (size_t i = 0; i < making->nevents; i++)
		order[i] = (uint32_t)i;
	if (making->nevents)
		qsort_r(order, making->nevents, sizeof(*order), by_surface, making->events.ptr);
	making->head.events = making->nevents;
	making->head.notes = making->nnotes;
	kl_buf_add(out, &making->head, sizeof(making->head));
	kl_mapfile_align(out);
	kl_buf_add(out, making->events.ptr, making->events.len);
	kl_mapfile_align(out);
	kl_buf_add(out, making->notes.ptr, making->notes.len);
	kl_mapfile_align(out);
	kl_buf_add(out, order, making->nevents * sizeof(*order));
}

int kl_event_index_build(struct kl_buf *out, struct kl_repo *repo,
			 const struct kl_event_index *base, struct kl_note_at *at, size_t n)
{
	KL_AUTO(making_freep) struct making *making = kl_calloc(1, sizeof(*making));
	size_t count = 0;
	int err = 0;

	making->events = making->notes = (struct kl_buf)KL_BUF_INIT;
	for (size_t i = 0; i < BATCH; i++)
		making->text[i] = (struct kl_buf)KL_BUF_INIT;
	making->r = repo;
	making->base = base;
	making->at = at;
	making->n = n;
	for (size_t next = 0; !err && next < n;) {
		if ((err = fill_groups(&count, &next, making)) < 0)
			return err;
		kl_par_for(count, GRAIN, index_some, making);
		keep_batch(making, count);
	}
	if (making->nevents > UINT32_MAX)
		return kl_error(KL_EINVALID, "the notes contain more than %u events", UINT32_MAX);
	write_out(out, making);
	return 0;
}
