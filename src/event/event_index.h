/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_EVENT_INDEX_H
#define KL_EVENT_EVENT_INDEX_H

#include "event/event.h"
#include "repo/notes.h"

/*
 * event_index - all events of a notes ref, folded, in one file that is mapped into memory:
 * $GIT_COMMON_DIR/klineage/cache/events-<tip of the ref>.index. It is made once for each tip, from
 * an older one where notes are the same, and anew when it is not whole (mapfile.h).
 * docs/formats.md ("The gate event") has its form.
 *
 *	kl_event_index_open(&index, repo, KL_NOTES_GATE);
 *	n = kl_event_index_of_commit(&first, index, &commit);
 *	n = kl_event_index_of_surface(&first, index, surface, contract);
 *	kl_event_index_read(&event, repo, kl_event_index_by_surface(index, first + i));
 *
 * Here are the events that count: for each commit those that folding leaves as verdicts, and as
 * the newest profile of a platform. Retractions hold within their note.
 */
struct kl_event_index;

enum kl_event_index_role { KL_EVENT_INDEX_VERDICT = 1 << 0, KL_EVENT_INDEX_PROFILE = 1 << 1 };

struct kl_event_index_entry {
	git_oid commit, blob; /* where the note stands, and the blob that has the line */
	uint8_t id[32], surface[32], contract[32]; /* digests; zeros: it says none */
	uint32_t at, len;                          /* of the line in the blob */
	uint32_t as;                               /* enum kl_event_index_role */
	uint32_t pass;                             /* 1: its verdict is pass */
	int64_t ns;                                /* 0: not profiled */
	int64_t ratio, lo, hi;                     /* against the parent, ppm; 0: not compared */
	char time[24], platform[48], class_[24];   /* cut where longer; "" */
};

int kl_event_index_open(struct kl_event_index **out, struct kl_repo *repo, const char *ref);
void kl_event_index_free(struct kl_event_index *event_index);
KL_DEFINE_CLEANUP(struct kl_event_index *, kl_event_index_free)

/** Events in the order of commits, and of ids within each. */
size_t kl_event_index_count(const struct kl_event_index *event_index);
const struct kl_event_index_entry *kl_event_index_entry(const struct kl_event_index *event_index,
							size_t i);
/** The same in the order of surface, contract, time and id. */
const struct kl_event_index_entry *kl_event_index_by_surface(
	const struct kl_event_index *event_index, size_t i);

/** How many, and where they begin. */
size_t kl_event_index_of_commit(size_t *first, const struct kl_event_index *event_index,
				const git_oid *commit);
size_t kl_event_index_of_surface(size_t *first, const struct kl_event_index *event_index,
				 const char *surface, const char *contract);

/** The whole event. KL_ENOTFOUND: its note is no longer in this clone. */
int kl_event_index_read(struct kl_event **out, struct kl_repo *repo,
			const struct kl_event_index_entry *event);

/** Lines that were no events; was it made just now, and how many notes had to be read for it? */
size_t kl_event_index_skipped(const struct kl_event_index *event_index);
size_t kl_event_index_notes_read(const struct kl_event_index *event_index);

#endif
