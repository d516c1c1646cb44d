/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_SSE_H
#define KL_MODEL_PROVIDER_SSE_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * sse - server-sent events (the WHATWG's text/event-stream), however the bytes are cut: lines end
 * with CR, LF or both; an empty line ends an event; of its fields only `event` and `data` matter.
 *
 *	struct kl_sse s = { .event = on_event, .payload = x };
 *	while (bytes come)
 *		if ((err = kl_sse_feed(&s, p, n)) < 0) ...
 *	if (kl_sse_pending(&s)) the stream was cut within an event
 *	kl_sse_release(&s);
 */
#define KL_SSE_MAX ((size_t)16 << 20) /* bytes of one line, and of one event's data */

struct kl_sse {
	/**
	 * An event with data; a negative return ends the feeding. `type` is "" where none was said.
	 */
	int (*event)(const char *type, const char *data, size_t len, void *payload);
	void *payload;
	/* its own */
	struct kl_buf line, type, data;
	bool has_data, after_cr, not_first;
};

#define KL_SSE_INIT(fn, p)                                                               \
	{                                                                                \
		.event = (fn), .payload = (p), .line = KL_BUF_INIT, .type = KL_BUF_INIT, \
		.data = KL_BUF_INIT                                                      \
	}

/** KL_EINVALID: a line or an event above KL_SSE_MAX; else what `event` returned. */
int kl_sse_feed(struct kl_sse *sse, const char *at, size_t n);
/** Is there a line or an event that has not ended? */
bool kl_sse_pending(const struct kl_sse *sse);
void kl_sse_release(struct kl_sse *sse);

#endif
