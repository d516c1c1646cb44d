/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_EVENT_INDEX_H
#define KL_EVENT_EVENT_INDEX_H

#include "event/event.h"
#include "repo/notes.h"

/*
 * event_index - finds events of a notes ref by surface, in a memory-mapped index of all of them.
 * The file is $GIT_COMMON_DIR/klineage/cache/events-<tip of the ref>.index. It is built once for
 * each tip, reusing an older index for unchanged notes, and rebuilt if it is damaged (mapfile.h).
 * Its format is in docs/formats.md ("The gate event").
 *
 *	kl_event_index_open(&index, repo, KL_NOTES_GATE);
 *	n = kl_event_index_of_surface(&first, index, surface, contract);
 *	kl_event_index_read(&event, repo, kl_event_index_by_surface(index, first + i));
 *
 * The index has every line that is a verdict, a check or a retraction, even if several lines are
 * copies of one event. It does not choose which events count: that depends on signatures and
 * retractions (trust.h).
 */
struct kl_event_index;

struct kl_event_index_entry {
	git_oid commit, blob; /* commit that has the note, and the blob that contains the line */
	uint8_t id[32], surface[32], contract[32]; /* digests; zeros if absent */
	uint32_t at, len;                          /* offset and length of the line in the blob */
	char time[24];                             /* truncated if longer; "" if absent */
};

/**
 * Open the index of a notes ref, building it if needed. A ref that does not exist has no events.
 */
int kl_event_index_open(struct kl_event_index **out, struct kl_repo *repo, const char *ref);
void kl_event_index_free(struct kl_event_index *event_index);
KL_DEFINE_CLEANUP(struct kl_event_index *, kl_event_index_free)

/** Return the i-th event in order of surface, contract, time and id. */
const struct kl_event_index_entry *kl_event_index_by_surface(
	const struct kl_event_index *event_index, size_t i);

/**
 * Return the number of events of a surface and contract. `*first` is set to the position of the
 * first one, for kl_event_index_by_surface().
 */
size_t kl_event_index_of_surface(size_t *first, const struct kl_event_index *event_index,
				 const char *surface, const char *contract);

/** Read the complete event. Return KL_ENOTFOUND if its note is no longer in this clone. */
int kl_event_index_read(struct kl_event **out, struct kl_repo *repo,
			const struct kl_event_index_entry *event);

#endif
