/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SEGMENTS_H
#define KL_EVENT_SEGMENTS_H

#include "event/segment.h"
#include "event/trust.h"

/*
 * segments - reads the events of all campaigns: those in segments, and those in logs that are in no
 * segment yet. Who made an event is not decided here (trust.h): a segment from a remote can contain
 * anything. Lines that are not valid events are skipped; fsck reports them.
 *
 *	kl_segments_open(&segments, repo);
 *	kl_segments_of_surface(segments, surface, contract, fn, payload);	reads a few files
 *	kl_segments_each(segments, &(struct kl_segments_filter){ .kind = ... }, fn, payload);
 */
struct kl_segments;

/** Open all campaigns as they are now. */
int kl_segments_open(struct kl_segments **out, struct kl_repo *repo);
void kl_segments_free(struct kl_segments *segments);
KL_DEFINE_CLEANUP(struct kl_segments *, kl_segments_free)
/** Return true if there is no campaign. */
bool kl_segments_none(const struct kl_segments *segments);

/**
 * A function that is called for an event, which it may keep with kl_event_ref(). `campaign` is
 * "<workload>/<name>". To stop, it returns nonzero.
 */
typedef int kl_segments_fn(struct kl_event *event, const char *campaign, void *payload);

/**
 * Call `fn` for each event of a surface and contract, or of any contract if `contract` is NULL. An
 * event can come twice: from two campaigns, or if a writer was killed after it made a segment.
 */
int kl_segments_of_surface(struct kl_segments *segments, const char *surface, const char *contract,
			   kl_segments_fn *fn, void *payload);

struct kl_segments_filter {
	const char *campaign; /* "<workload>/<name>"; NULL for all */
	const char *contract; /* NULL for any */
	const char *kind;     /* such as "probe"; NULL for any */
	const char *id;       /* the first digits of the id; NULL for any */
};
/** Call `fn` for each event that the filter accepts, each once in a campaign. */
int kl_segments_each(struct kl_segments *segments, const struct kl_segments_filter *filter,
		     kl_segments_fn *fn, void *payload);

/**
 * Find an event by its id or a prefix of its id, reading all campaigns. Return KL_ENOTFOUND if no
 * event matches, or several do. The caller frees *event.
 */
int kl_segments_find_id(struct kl_event **event, struct kl_segments *segments, const char *prefix);

/**
 * Add the verdicts, checks and retractions for a surface and contract to lines whose trust is to be
 * judged. Events of probes, of which there can be thousands, are never added.
 */
int kl_segments_add_to(struct kl_trust *trust, size_t tag, struct kl_segments *segments,
		       const char *surface, const char *contract);

#endif
