/* SPDX-License-Identifier: Apache-2.0 */
#include "event/event_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mapfile.h"
#include "base/par.h"
#include "base/vec.h"
#include "event/fold.h"

#define MAGIC "KLEVENTS"
#define VERSION 2
#define PREFIX "events-"
#define SUFFIX ".index"
#define KEEP 2 /* index files of other tips to keep */
#define MAX_NOTE ((size_t)64 << 20)
#define BATCH 4096
#define GRAIN 64

/* Follows struct kl_mapfile_head in the file. */
struct head {
	uint64_t events, notes; /* counts */
	uint64_t skipped;       /* lines that are not events */
	uint64_t read;          /* notes that were read to make this index */
};

/*
 * A note in the index: one blob of one commit. If a commit has notes at several depths, they are
 * read again for each new index.
 */
struct note {
	git_oid commit, blob;
	uint32_t first, n;       /* range of its events */
	uint32_t skipped, whole; /* whole: it is the commit's only blob */
};

struct kl_event_index {
	struct kl_mapfile file;
	const struct head *head;
	const struct kl_event_index_entry *event;
	const struct note *note; /* by commit */
	const uint32_t *by_surface;
};

void kl_event_index_free(struct kl_event_index *event_index)
{
	if (!event_index)
		return;
	kl_mapfile_release(&event_index->file);
	free(event_index);
}

/* --- lookup ---------------------------------------------------------------------- */

size_t kl_event_index_count(const struct kl_event_index *event_index)
{
	return (size_t)event_index->head->events;
}

const struct kl_event_index_entry *kl_event_index_entry(const struct kl_event_index *event_index,
							size_t i)
{
	return &event_index->event[i];
}

const struct kl_event_index_entry *kl_event_index_by_surface(
	const struct kl_event_index *event_index, size_t i)
{
	return &event_index->event[event_index->by_surface[i]];
}

size_t kl_event_index_skipped(const struct kl_event_index *event_index)
{
	return (size_t)event_index->head->skipped;
}

size_t kl_event_index_notes_read(const struct kl_event_index *event_index)
{
	return (size_t)event_index->head->read;
}

typedef int compare_fn(const struct kl_event_index *index, size_t i, const void *what);

/* Position of the first event that is not before `what`. */
static size_t lower_bound(const struct kl_event_index *event_index, compare_fn *compare,
			  const void *what)
{
	size_t lo = 0, hi = kl_event_index_count(event_index);

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (compare(event_index, mid, what) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Number of events that equal `what`; `*first` is the position of the first. */
static size_t find_range(size_t *first, const struct kl_event_index *event_index,
			 compare_fn *compare, const void *what)
{
	size_t n = 0;

	*first = lower_bound(event_index, compare, what);
	while (*first + n < kl_event_index_count(event_index) &&
	       !compare(event_index, *first + n, what))
		n++;
	return n;
}

static int compare_commit(const struct kl_event_index *event_index, size_t i, const void *commit)
{
	return memcmp(&event_index->event[i].commit, commit, sizeof(git_oid));
}

size_t kl_event_index_of_commit(size_t *first, const struct kl_event_index *event_index,
				const git_oid *commit)
{
	return find_range(first, event_index, compare_commit, commit);
}

struct digests {
	uint8_t surface[32], contract[32];
};

static int compare_surface(const struct kl_event_index *event_index, size_t i, const void *what)
{
	const struct kl_event_index_entry *entry = kl_event_index_by_surface(event_index, i);
	const struct digests *digests = what;
	int order = memcmp(entry->surface, digests->surface, 32);

	return order ? order : memcmp(entry->contract, digests->contract, 32);
}

static int hex_nibble(char ch)
{
	return ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

/* Parse 64 hex digits; anything else gives zeros. */
static void read_digest(uint8_t out[32], const char *hex)
{
	memset(out, 0, 32);
	if (strlen(hex) != 64 || strspn(hex, "0123456789abcdef") != 64)
		return;
	for (int i = 0; i < 32; i++)
		out[i] = (uint8_t)(hex_nibble(hex[2 * i]) << 4 | hex_nibble(hex[2 * i + 1]));
}

size_t kl_event_index_of_surface(size_t *first, const struct kl_event_index *event_index,
				 const char *surface, const char *contract)
{
	struct digests digests;

	read_digest(digests.surface, surface);
	read_digest(digests.contract, contract);
	return find_range(first, event_index, compare_surface, &digests);
}

int kl_event_index_read(struct kl_event **out, struct kl_repo *repo,
			const struct kl_event_index_entry *entry)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_repo_blob_read(&text, repo, &entry->blob, MAX_NOTE);

	if (err < 0)
		return err;
	if (entry->at > text.len || entry->len > text.len - entry->at)
		return kl_error(KL_EINVALID, "the event index does not belong to this repository");
	return kl_event_parse(out, text.ptr + entry->at, entry->len);
}

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

static struct kl_event_index_entry record_of(const struct kl_event *event, const struct note *note,
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

	read_digest(entry.id, event->id);
	read_digest(entry.surface, event->surface);
	read_digest(entry.contract, event->contract);
	copy_word(entry.time, sizeof(entry.time), event->time);
	copy_word(entry.platform, sizeof(entry.platform), event->place.id);
	copy_word(entry.class_, sizeof(entry.class_), kl_event_class(event));
	return entry;
}

static void take_event(struct made *made, const struct note *note, const char *text, size_t len,
		       const struct kl_event *event, uint32_t as)
{
	struct span line;
	uint8_t id[32];

	read_digest(id, event->id);
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

static void fold_note(struct made *made, const struct note *note, const char *text, size_t len)
{
	struct kl_fold fold;

	kl_fold_lines(&fold, text, len, NULL, NULL);
	for (size_t i = 0; i < fold.verdicts.n; i++)
		take_event(made, note, text, len, fold.verdicts.v[i], KL_EVENT_INDEX_VERDICT);
	for (size_t i = 0; i < fold.profiles.n; i++)
		take_event(made, note, text, len, fold.profiles.v[i], KL_EVENT_INDEX_PROFILE);
	made->skipped = fold.skipped;
	kl_fold_release(&fold);
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
	struct head head;
	/* the current batch of notes */
	struct note note[BATCH];
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

static const struct note *in_base(const struct kl_event_index *base, const git_oid *commit,
				  const git_oid *blob)
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

static void copy_old(struct made *made, const struct kl_event_index *base, const struct note *note)
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
		const struct note *old;
		size_t blobs = 1;

		while (*next + blobs < making->n &&
		       !memcmp(&at[blobs].commit, &at->commit, sizeof(git_oid)))
			blobs++;
		making->note[n] = (struct note){ .commit = at->commit,
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
						   MAX_NOTE)))
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

static int make_index(struct kl_buf *out, struct kl_repo *repo, const struct kl_event_index *base,
		      struct kl_note_at *at, size_t n)
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

/* --- files ------------------------------------------------------------------------------ */

static size_t align_up(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static bool event_ok(const struct kl_event_index_entry *entry)
{
	return !entry->time[sizeof(entry->time) - 1] &&
	       !entry->platform[sizeof(entry->platform) - 1] &&
	       !entry->class_[sizeof(entry->class_) - 1];
}

/* Set the pointers into the file; returns false if its sizes or indices are out of range. */
static bool is_good(struct kl_event_index *event_index)
{
	size_t at = sizeof(struct kl_mapfile_head), nevents, nnotes;

	if (event_index->file.len < at + sizeof(struct head))
		return false;
	event_index->head = (const struct head *)(event_index->file.base + at);
	at += align_up(sizeof(struct head));
	nevents = (size_t)event_index->head->events;
	nnotes = (size_t)event_index->head->notes;
	if (nevents > event_index->file.len / sizeof(*event_index->event) ||
	    nnotes > event_index->file.len / sizeof(*event_index->note))
		return false;
	event_index->event = (const struct kl_event_index_entry *)(event_index->file.base + at);
	at += align_up(nevents * sizeof(*event_index->event));
	event_index->note = (const struct note *)(event_index->file.base + at);
	at += align_up(nnotes * sizeof(*event_index->note));
	event_index->by_surface = (const uint32_t *)(event_index->file.base + at);
	if (align_up(at + nevents * sizeof(*event_index->by_surface)) != event_index->file.len)
		return false;
	for (size_t i = 0; i < nevents; i++)
		if (event_index->by_surface[i] >= nevents || !event_ok(&event_index->event[i]))
			return false;
	for (size_t i = 0; i < nnotes; i++)
		if (event_index->note[i].first > nevents ||
		    event_index->note[i].n > nevents - event_index->note[i].first)
			return false;
	return true;
}

static struct kl_event_index *map_file(const char *path, const char *key)
{
	KL_AUTO(kl_event_index_freep) struct kl_event_index *event_index = kl_calloc(
		1, sizeof(*event_index));

	event_index->file = (struct kl_mapfile)KL_MAPFILE_INIT;
	return kl_mapfile_open(&event_index->file, path, MAGIC, VERSION, key) &&
			       is_good(event_index) ?
		       kl_steal(&event_index) :
		       NULL;
}

static int build_index(struct kl_event_index **out, struct kl_repo *repo, const char *dir,
		       const char *path, const char *key, struct kl_note_at *at, size_t n)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec others = KL_STRVEC_INIT;
	KL_AUTO(kl_event_index_freep) struct kl_event_index *base = NULL,
							    *event_index = kl_calloc(
								    1, sizeof(*event_index));
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	int err;

	kl_mapfile_others(&others, dir, PREFIX, SUFFIX, path);
	for (size_t i = 0; i < others.n && !base; i++)
		base = map_file(others.v[i], NULL);
	kl_mapfile_begin(&bytes, MAGIC, VERSION, key);
	if ((err = make_index(&bytes, repo, base, at, n)) < 0)
		return err;
	kl_mapfile_end(&bytes);
	kl_mapfile_keep(&event_index->file, &bytes, n ? path : "");
	if (!is_good(event_index))
		KL_BUG("a new event index is invalid");
	kl_mapfile_tidy(&others, KEEP, dir, PREFIX, SUFFIX);
	*out = kl_steal(&event_index);
	return 0;
}

int kl_event_index_open(struct kl_event_index **out, struct kl_repo *repo, const char *ref)
{
	KL_AUTO(kl_freep) char *dir = kl_fs_join(kl_repo_common_dir(repo), "klineage/cache");
	KL_AUTO(kl_freep) char *path = NULL;
	struct kl_note_at *at = NULL;
	char hex[KL_OID_HEX];
	git_oid tip = { { 0 } };
	size_t n = 0;
	int err = kl_refs_get(&tip, repo, ref);

	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	kl_oid_hex(hex, &tip);
	path = kl_asprintf("%s/" PREFIX "%s" SUFFIX, dir, hex);
	if (!err && (*out = map_file(path, hex)))
		return 0;
	if ((err = kl_notes_list(&at, &n, &tip, repo, ref)) < 0)
		return err;
	/* the ref can have moved since; use the name for the new tip */
	kl_oid_hex(hex, &tip);
	free(kl_steal(&path));
	path = kl_asprintf("%s/" PREFIX "%s" SUFFIX, dir, hex);
	return build_index(out, repo, dir, path, hex, at, n);
}
