/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_SSE_H
#define KL_MODEL_PROVIDER_SSE_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * sse - incremental parser of server-sent events (text/event-stream of the WHATWG). Input can be
 * split anywhere. Lines end with CR, LF or both; an empty line ends an event; fields other than
 * `event` and `data` are ignored.
 *
 *	struct kl_sse s = { .event = on_event, .payload = x };
 *	while (bytes come)
 *		if ((err = kl_sse_feed(&s, p, n)) < 0) ...
 *	if (kl_sse_pending(&s)) the stream ended within an event
 *	kl_sse_release(&s);
 */
#define KL_SSE_MAX ((size_t)16 << 20) /* maximum bytes of a line, and of the data of an event */

struct kl_sse {
	/**
	 * Called for each event with data; a negative return ends the parsing. `type` is "" if the
	 * event has none.
	 */
	int (*event)(const char *type, const char *data, size_t len, void *payload);
	void *payload;
	/* private */
	struct kl_buf line, type, data;
	bool has_data, after_cr, not_first;
};

#define KL_SSE_INIT(fn, p)                                                               \
	{                                                                                \
		.event = (fn), .payload = (p), .line = KL_BUF_INIT, .type = KL_BUF_INIT, \
		.data = KL_BUF_INIT                                                      \
	}

/**
 * Parse the next bytes of the stream. Return the value that `event` returned if it is negative.
 * Return KL_EINVALID if a line or the data of an event is longer than KL_SSE_MAX.
 */
int kl_sse_feed(struct kl_sse *sse, const char *at, size_t n);
/** Return true if the input so far ends within a line or an event. */
bool kl_sse_pending(const struct kl_sse *sse);
void kl_sse_release(struct kl_sse *sse);

#endif
