/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_EVENT_INDEX_PARTS_H
#define KL_EVENT_EVENT_INDEX_PARTS_H

#include "base/mapfile.h"
#include "event/event_index.h"

/*
 * event_index_parts - file format of the event index: event_index.c reads it, event_index_build.c
 * writes it.
 */
#define KL_EVENT_INDEX_MAGIC "KLEVENTS"
#define KL_EVENT_INDEX_VERSION 5
#define KL_EVENT_INDEX_MAX_NOTE ((size_t)64 << 20)

/* Header of the index; in the file it follows struct kl_mapfile_head. */
struct kl_event_index_head {
	uint64_t events, notes; /* numbers of events and of notes in the index */
};

/*
 * A note in the index: one blob of one commit. A commit can have several notes, at different depths
 * of the notes tree; only the last of them can be copied from an older index.
 */
struct kl_event_index_note {
	git_oid commit, blob;
	uint32_t first, n; /* position of the note's first event, and number of its events */
	/* 1 if this is the last note of its commit; 0 if another note of the commit follows */
	uint64_t whole;
};

struct kl_event_index {
	struct kl_mapfile file;
	const struct kl_event_index_head *head;
	const struct kl_event_index_entry *event; /* sorted by commit and id */
	const struct kl_event_index_note *note;   /* sorted by commit */
	const uint32_t *by_surface;               /* indices in `event`, sorted by surface */
};

/** Parse 64 hex digits; anything else gives zeros. */
void kl_event_index_digest(uint8_t out[32], const char *hex);

/**
 * Append the index of these notes to `out`, copying unchanged notes from `base` (NULL if there is
 * none), an older index. Frees `at`, also on failure.
 */
int kl_event_index_build(struct kl_buf *out, struct kl_repo *repo,
			 const struct kl_event_index *base, struct kl_note_at *at, size_t n);

#endif
