/* SPDX-License-Identifier: Apache-2.0 */
/* event_index_build - writes the event index, copying unchanged notes from an older one */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "base/vec.h"
#include "event/event_index_parts.h"
#include "event/fold.h"

#define BATCH 4096
#define GRAIN 64

/* --- one note ---------------------------------------------------------------------- */

struct made {
	struct kl_event_index_entry *v;
	size_t n, alloc, skipped;
};

static void made_release(struct made *made)
{
	free(made->v);
	*made = (struct made){ 0 };
}

struct span {
	size_t at, len;
};

/* Find the next line, starting at `from`, that contains `words`; returns false if there is none. */
static bool next_line(struct span *out, const char *text, size_t n, size_t from, const char *words)
{
	const char *hit = from < n ? memmem(text + from, n - from, words, strlen(words)) : NULL;
	const char *start, *end;

	if (!hit)
		return false;
	start = memrchr(text, '\n', (size_t)(hit - text));
	start = start ? start + 1 : text;
	end = memchr(hit, '\n', (size_t)(text + n - hit));
	*out = (struct span){ (size_t)(start - text), (size_t)((end ? end : text + n) - start) };
	return true;
}

/* Is this the line of the event itself? Other events can contain its id. */
static bool is_line_of(const char *line, size_t len, const struct kl_event *event)
{
	KL_AUTO(kl_event_freep) struct kl_event *parsed = NULL;

	if (kl_event_parse(&parsed, line, len) < 0) {
		kl_error_clear();
		return false;
	}
	return !strcmp(parsed->id, event->id) && !*parsed->sig == !*event->sig;
}

/* Find the line of an event that folding has chosen. */
static bool find_line(struct span *out, const char *text, size_t n, const struct kl_event *event)
{
	KL_AUTO(kl_freep) char *quoted_id = kl_asprintf("\"%s\"", event->id);
	struct span next;
	bool found = next_line(out, text, n, 0, quoted_id);

	/* if only one line contains the id, no further check is needed */
	if (!found || !next_line(&next, text, n, out->at + out->len, quoted_id))
		return found;
	for (size_t from = 0; next_line(out, text, n, from, quoted_id); from = out->at + out->len)
		if (is_line_of(text + out->at, out->len, event))
			return true;
	return false;
}

static void copy_word(char *to, size_t size, const char *word)
{
	size_t n = strnlen(word, size - 1);

	memcpy(to, word, n);
}

static struct kl_event_index_entry record_of(const struct kl_event *event,
					     const struct kl_event_index_note *note,
					     const struct span *line)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);
	struct kl_event_index_entry entry = {
		.commit = note->commit,
		.blob = note->blob,
		.at = (uint32_t)line->at,
		.len = (uint32_t)line->len,
		.pass = event->verdict == KL_VERDICT_PASS,
		.ns = event->profile.ns,
		.ratio = parent ? parent->ratio.ppm : 0,
		.lo = parent ? parent->ratio.lo : 0,
		.hi = parent ? parent->ratio.hi : 0,
	};

	kl_event_index_digest(entry.id, event->id);
	kl_event_index_digest(entry.surface, event->surface);
	kl_event_index_digest(entry.contract, event->contract);
	copy_word(entry.time, sizeof(entry.time), event->time);
	copy_word(entry.platform, sizeof(entry.platform), event->place.id);
	copy_word(entry.class_, sizeof(entry.class_), kl_event_class(event));
	return entry;
}

static void take_event(struct made *made, const struct kl_event_index_note *note, const char *text,
		       size_t len, const struct kl_event *event, uint32_t as)
{
	struct span line;
	uint8_t id[32];

	kl_event_index_digest(id, event->id);
	for (size_t i = 0; i < made->n; i++)
		if (!memcmp(made->v[i].id, id, sizeof(id))) {
			made->v[i].as |= as;
			return;
		}
	if (!find_line(&line, text, len, event))
		return;
	KL_GROW(made->v, made->n + 1, made->alloc);
	made->v[made->n] = record_of(event, note, &line);
	made->v[made->n++].as = as;
}

static int by_id(const void *left, const void *right)
{
	const struct kl_event_index_entry *x = left, *y = right;

	return memcmp(x->id, y->id, sizeof(x->id));
}

static void take_retractions(struct made *made, const struct kl_event_index_note *note,
			     const char *text, size_t len)
{
	struct span line;

	for (size_t from = 0; next_line(&line, text, len, from, "\"retract\"");
	     from = line.at + line.len) {
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

		if (kl_event_parse(&event, text + line.at, line.len) < 0)
			kl_error_clear();
		else if (event->kind == KL_KIND_RETRACT)
			take_event(made, note, text, len, event, KL_EVENT_INDEX_RETRACT);
	}
}

static void fold_note(struct made *made, const struct kl_event_index_note *note, const char *text,
		      size_t len)
{
	struct kl_fold fold;

	kl_fold_lines(&fold, text, len, NULL, NULL);
	for (size_t i = 0; i < fold.verdicts.n; i++)
		take_event(made, note, text, len, fold.verdicts.v[i], KL_EVENT_INDEX_VERDICT);
	for (size_t i = 0; i < fold.profiles.n; i++)
		take_event(made, note, text, len, fold.profiles.v[i], KL_EVENT_INDEX_PROFILE);
	made->skipped = fold.skipped;
	kl_fold_release(&fold);
	take_retractions(made, note, text, len);
	if (made->n)
		qsort(made->v, made->n, sizeof(*made->v), by_id);
}

/* --- all notes ----------------------------------------------------------------------- */

struct making {
	struct kl_repo *r;
	const struct kl_event_index *base; /* NULL: none */
	struct kl_note_at *at;
	size_t n;
	struct kl_buf events, notes;
	size_t nevents, nnotes;
	struct kl_event_index_head head;
	/* the current batch of notes */
	struct kl_event_index_note note[BATCH];
	struct kl_buf text[BATCH];
	struct made made[BATCH];
	bool old[BATCH]; /* taken from `base` */
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
	made->skipped = note->skipped;
}

/* Runs in several threads. */
static void fold_some(void *ctx, size_t from, size_t to)
{
	struct making *making = ctx;

	for (size_t i = from; i < to; i++)
		if (!making->old[i])
			fold_note(&making->made[i], &making->note[i], making->text[i].ptr,
				  making->text[i].len);
}

/* Fill a batch with the notes from at[*next] on, and advance *next; *count is the batch's size. */
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
		/* of a commit with notes at several depths (rare) each blob is a note of its own */
		else if (!(err = kl_repo_blob_read(&making->text[n], making->r, &at->blob,
						   KL_EVENT_INDEX_MAX_NOTE)))
			making->head.read++;
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
		making->note[i].skipped = (uint32_t)making->made[i].skipped;
		making->head.skipped += making->made[i].skipped;
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
	const struct kl_event_index_entry *x = &all[*(const uint32_t *)left],
					  *y = &all[*(const uint32_t *)right];
	int order = memcmp(x->surface, y->surface, 32);

	if (!order)
		order = memcmp(x->contract, y->contract, 32);
	if (!order)
		order = strcmp(x->time, y->time);
	return order ? order : memcmp(x->id, y->id, 32);
}

/* Add the positions of the retractions, and count them. */
static void add_retractions(struct kl_buf *out, struct making *making)
{
	const struct kl_event_index_entry *all = (const void *)making->events.ptr;

	for (size_t i = 0; i < making->nevents; i++) {
		uint32_t at = (uint32_t)i;

		if (all[i].as & KL_EVENT_INDEX_RETRACT) {
			kl_buf_add(out, &at, sizeof(at));
			making->head.retractions++;
		}
	}
}

static void write_out(struct kl_buf *out, struct making *making)
{
	KL_AUTO(kl_freep) uint32_t *order = kl_calloc(making->nevents + 1, sizeof(*order));
	KL_AUTO(kl_buf_release) struct kl_buf retractions = KL_BUF_INIT;

	for (size_t i = 0; i < making->nevents; i++)
		order[i] = (uint32_t)i;
	if (making->nevents)
		qsort_r(order, making->nevents, sizeof(*order), by_surface, making->events.ptr);
	making->head.events = making->nevents;
	making->head.notes = making->nnotes;
	making->head.retractions = 0;
	add_retractions(&retractions, making);
	kl_buf_add(out, &making->head, sizeof(making->head));
	kl_mapfile_align(out);
	kl_buf_add(out, making->events.ptr, making->events.len);
	kl_mapfile_align(out);
	kl_buf_add(out, making->notes.ptr, making->notes.len);
	kl_mapfile_align(out);
	kl_buf_add(out, order, making->nevents * sizeof(*order));
	kl_mapfile_align(out);
	kl_buf_add(out, retractions.ptr, retractions.len);
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
		kl_par_for(count, GRAIN, fold_some, making);
		keep_batch(making, count);
	}
	if (making->nevents > UINT32_MAX)
		return kl_error(KL_EINVALID, "the notes contain more than %u events", UINT32_MAX);
	write_out(out, making);
	return 0;
}
