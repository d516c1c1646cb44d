/* SPDX-License-Identifier: Apache-2.0 */
#include "event/event_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/vec.h"
#include "event/event_index_parts.h"

#define PREFIX "events-"
#define SUFFIX ".index"
#define KEEP 2 /* number of index files of other tips to keep */

void kl_event_index_free(struct kl_event_index *event_index)
{
	if (!event_index)
		return;
	kl_mapfile_release(&event_index->file);
	free(event_index);
}

/* --- lookup ---------------------------------------------------------------------- */

const struct kl_event_index_entry *kl_event_index_by_surface(
	const struct kl_event_index *event_index, size_t i)
{
	return &event_index->event[event_index->by_surface[i]];
}

struct digests {
	uint8_t surface[32], contract[32];
};

static int compare_surface(const struct kl_event_index *event_index, size_t i,
			   const struct digests *digests)
{
	const struct kl_event_index_entry *entry = kl_event_index_by_surface(event_index, i);
	int order = memcmp(entry->surface, digests->surface, 32);

	return order ? order : memcmp(entry->contract, digests->contract, 32);
}

/*
 * Return the position, in the order by surface, of the first event whose digests are not less than
 * `digests`.
 */
static size_t lower_bound(const struct kl_event_index *event_index, const struct digests *digests)
{
	size_t lo = 0, hi = (size_t)event_index->head->events;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (compare_surface(event_index, mid, digests) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void kl_event_index_digest(uint8_t out[32], const char *hex)
{
	if (strlen(hex) != 64 || !kl_digest_bytes(out, 32, hex))
		memset(out, 0, 32);
}

size_t kl_event_index_of_surface(size_t *first, const struct kl_event_index *event_index,
				 const char *surface, const char *contract)
{
	struct digests digests;
	size_t n = 0;

	kl_event_index_digest(digests.surface, surface);
	kl_event_index_digest(digests.contract, contract);
	*first = lower_bound(event_index, &digests);
	while (*first + n < event_index->head->events &&
	       !compare_surface(event_index, *first + n, &digests))
		n++;
	return n;
}

int kl_event_index_read(struct kl_event **out, struct kl_repo *repo,
			const struct kl_event_index_entry *entry)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_repo_blob_read(&text, repo, &entry->blob, KL_EVENT_INDEX_MAX_NOTE);

	if (err < 0)
		return err;
	if (entry->at > text.len || entry->len > text.len - entry->at)
		return kl_error(KL_EINVALID, "the event index does not belong to this repository");
	return kl_event_parse(out, text.ptr + entry->at, entry->len);
}

/* --- opening and building the index file ------------------------------------------------ */

static size_t align_up(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static bool event_ok(const struct kl_event_index_entry *entry)
{
	return !entry->time[sizeof(entry->time) - 1];
}

/*
 * Set the pointers into the file; returns false if sizes or indices in the file are out of range.
 */
static bool is_good(struct kl_event_index *event_index)
{
	size_t at = sizeof(struct kl_mapfile_head), nevents, nnotes;

	if (event_index->file.len < at + sizeof(struct kl_event_index_head))
		return false;
	event_index->head = (const struct kl_event_index_head *)(event_index->file.base + at);
	at += align_up(sizeof(struct kl_event_index_head));
	nevents = (size_t)event_index->head->events;
	nnotes = (size_t)event_index->head->notes;
	if (nevents > event_index->file.len / sizeof(*event_index->event) ||
	    nnotes > event_index->file.len / sizeof(*event_index->note))
		return false;
	event_index->event = (const struct kl_event_index_entry *)(event_index->file.base + at);
	at += align_up(nevents * sizeof(*event_index->event));
	event_index->note = (const struct kl_event_index_note *)(event_index->file.base + at);
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
	return kl_mapfile_open(&event_index->file, path, KL_EVENT_INDEX_MAGIC,
			       KL_EVENT_INDEX_VERSION, key) &&
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
	kl_mapfile_begin(&bytes, KL_EVENT_INDEX_MAGIC, KL_EVENT_INDEX_VERSION, key);
	if ((err = kl_event_index_build(&bytes, repo, base, at, n)) < 0)
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
	git_oid tip = kl_oid_none;
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
	/*
	 * the ref can have moved since it was read above, so name the file after the tip whose
	 * notes were listed
	 */
	kl_oid_hex(hex, &tip);
	free(kl_steal(&path));
	path = kl_asprintf("%s/" PREFIX "%s" SUFFIX, dir, hex);
	return build_index(out, repo, dir, path, hex, at, n);
}
