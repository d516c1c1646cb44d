/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_LIB_H
#define KL_EVENT_LIB_H

/* event_lib - events from documents, which tests write more easily. */
#include "event/event.h"

/** Takes the reference; `seal` gives it the id of its content. */
static inline struct kl_event *event_of(json_t *doc, bool seal)
{
	struct kl_event *event = kl_event_from_json(doc);

	json_decref(doc);
	if (seal)
		kl_event_seal(event);
	return event;
}

/** Member "id" of the document itself. */
static inline void seal_doc(json_t *doc)
{
	struct kl_event *event = event_of(json_incref(doc), true);

	kl_json_set_str(doc, "id", event->id);
	kl_event_free(event);
}

/** The line that the event is written as; the caller frees. */
static inline char *line_of(const struct kl_event *event)
{
	struct kl_buf line = KL_BUF_INIT;

	kl_event_write(&line, event);
	return kl_buf_detach(&line);
}

#endif
