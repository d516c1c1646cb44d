/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_EVENT_INDEX_H
#define KL_EVENT_EVENT_INDEX_H

#include "event/event.h"
#include "repo/notes.h"

/*
 * event_index - memory-mapped index of all folded events of a notes ref. The file is
 * $GIT_COMMON_DIR/klineage/cache/events-<tip of the ref>.index. It is built once for each tip,
 * reusing an older index for unchanged notes, and rebuilt if it is damaged (mapfile.h). Its format
 * is in docs/formats.md ("The gate event").
 *
 *	kl_event_index_open(&index, repo, KL_NOTES_GATE);
 *	n = kl_event_index_of_commit(&first, index, &commit);
 *	n = kl_event_index_of_surface(&first, index, surface, contract);
 *	kl_event_index_read(&event, repo, kl_event_index_by_surface(index, first + i));
 *
 * It has for each commit the events that folding keeps as verdicts or as the newest profile of a
 * platform, and all retractions. These are not applied: trust.h decides which of them count.
 */
struct kl_event_index;

enum kl_event_index_role {
	KL_EVENT_INDEX_VERDICT = 1 << 0,
	KL_EVENT_INDEX_PROFILE = 1 << 1,
	KL_EVENT_INDEX_RETRACT = 1 << 2,
};

struct kl_event_index_entry {
	git_oid commit, blob; /* the note's commit, and the blob that contains the line */
	uint8_t id[32], surface[32], contract[32]; /* digests; zeros if absent */
	uint32_t at, len;                          /* offset and length of the line in the blob */
	uint32_t as;                               /* bits of enum kl_event_index_role */
	uint32_t pass;                             /* 1: its verdict is pass */
	int64_t ns;                                /* 0: not profiled */
	int64_t ratio, lo, hi;                     /* against the parent, ppm; 0: not compared */
	char time[24], platform[48], class_[24];   /* truncated if longer; "" if absent */
};

/**
 * Open the index of a notes ref, building it if needed. A ref that does not exist has no events.
 */
int kl_event_index_open(struct kl_event_index **out, struct kl_repo *repo, const char *ref);
void kl_event_index_free(struct kl_event_index *event_index);
KL_DEFINE_CLEANUP(struct kl_event_index *, kl_event_index_free)

/** Number of events, and the i-th in order of commits and, within a commit, of ids. */
size_t kl_event_index_count(const struct kl_event_index *event_index);
const struct kl_event_index_entry *kl_event_index_entry(const struct kl_event_index *event_index,
							size_t i);
/** The i-th event in order of surface, contract, time and id. */
const struct kl_event_index_entry *kl_event_index_by_surface(
	const struct kl_event_index *event_index, size_t i);

/**
 * Number of events of a commit or of a surface and contract. `*first` is the position of the first,
 * for kl_event_index_entry() or kl_event_index_by_surface().
 */
size_t kl_event_index_of_commit(size_t *first, const struct kl_event_index *event_index,
				const git_oid *commit);
size_t kl_event_index_of_surface(size_t *first, const struct kl_event_index *event_index,
				 const char *surface, const char *contract);

/** Number of retractions; their positions for kl_event_index_entry(), in increasing order. */
size_t kl_event_index_retractions(const uint32_t **at, const struct kl_event_index *event_index);

/** Read the complete event. KL_ENOTFOUND: its note is no longer in this clone. */
int kl_event_index_read(struct kl_event **out, struct kl_repo *repo,
			const struct kl_event_index_entry *event);

/** Number of lines that are not events, and of notes that were read to build the index. */
size_t kl_event_index_skipped(const struct kl_event_index *event_index);
size_t kl_event_index_notes_read(const struct kl_event_index *event_index);

#endif
