/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SEGMENT_WRITER_H
#define KL_EVENT_SEGMENT_WRITER_H

#include "event/segment.h"

/*
 * segment_writer - adds events to a campaign: events of a search or a measurement, which are too
 * many for a note each.
 *
 *	kl_segment_writer_open(&writer, repo, "topk", "probe-x86");
 *	kl_segment_writer_add(writer, event, NULL);	event is sealed (kl_event_seal())
 *	kl_segment_writer_flush(writer);	now they survive SIGKILL and power failure
 *	...
 *	kl_segment_writer_seal(writer);		now they are in the repository, as a segment
 *	kl_segment_writer_free(writer);
 *
 * Events that were flushed are found by kl_segments (segments.h) at once. When they fill a segment,
 * a flush makes one. Several processes can write to one campaign at the same time. As in notes, an
 * event without a signature counts as made by this clone, and is signed if klineage.sign is set.
 */
struct kl_segment_writer;

/**
 * Open a campaign, which need not exist. Return KL_EINVALID if workload or name is not a slug,
 * another ref is in the way, or no identity is set.
 */
int kl_segment_writer_open(struct kl_segment_writer **out, struct kl_repo *repo,
			   const char *workload, const char *name);
/** Free the writer. Events that were not flushed are lost. */
void kl_segment_writer_free(struct kl_segment_writer *writer);
KL_DEFINE_CLEANUP(struct kl_segment_writer *, kl_segment_writer_free)

/**
 * Choose whether to sign events that have no signature. Without this call, klineage.sign decides.
 */
void kl_segment_writer_sign(struct kl_segment_writer *writer, bool sign);

/**
 * Add an event. `tree` is the tree of the candidate if no commit has it; the segment then keeps it
 * alive, and it becomes the event's member `tree`. If it is NULL, the event keeps its own members.
 * Events are flushed now and then.
 */
int kl_segment_writer_add(struct kl_segment_writer *writer, struct kl_event *event,
			  const git_oid *tree);
/** Write all events that were added; they are on disk when this returns. */
int kl_segment_writer_flush(struct kl_segment_writer *writer);
/**
 * Flush, and commit all events of the campaign that are in no segment yet, also those of other
 * writers. `*n` (can be NULL) is their number, without those that a segment has already.
 */
int kl_segment_writer_seal(struct kl_segment_writer *writer, size_t *n);

#endif
