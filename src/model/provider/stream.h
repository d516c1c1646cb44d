/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_STREAM_H
#define KL_MODEL_PROVIDER_STREAM_H

#include "model/provider/message.h"
#include "model/provider/secret.h"
#include "model/provider/sse.h"
#include "text/json.h"

/*
 * stream - a reply that comes in as server-sent events of JSON, whatever the protocol. The text
 * grows here, the rest goes into the reply as it is said. What comes is hostile: bounded,
 * strictly parsed, never quoted with the key in it.
 *
 *	kl_stream_begin(&s, kl_anthropic_event, request, &reply, key);
 *	while (bytes come)
 *		if ((err = kl_stream_feed(&s, p, n)) < 0) ...
 *	err = kl_stream_check(&s);		(is it whole?)
 *	text = kl_buf_detach(&s.text);
 *	kl_stream_release(&s);
 */
struct kl_stream;

/** One event; `j` is NULL for data that is no JSON object. */
typedef int kl_stream_event_fn(struct kl_stream *s, const char *data, const json_t *j);

struct kl_stream {
	const struct kl_provider_request *q;
	const struct kl_secret *key; /* not to be quoted; or NULL */
	struct kl_reply *out;        /* model, stop, usage: as they come */
	struct kl_buf text;
	bool begun;   /* the answer has begun */
	bool stopped; /* it has said why it stopped: its text is whole */
	/* the protocol's last event has come; what follows is passed over */
	bool ended;
	bool broken; /* an event broke the protocol */
	size_t events;
	kl_stream_event_fn *event;
	struct kl_sse sse;
};

/**
 * All but `stream` is borrowed; `key` may be NULL. `stream` stays where it is until it is released.
 */
void kl_stream_begin(struct kl_stream *stream, kl_stream_event_fn *event,
		     const struct kl_provider_request *request, struct kl_reply *out,
		     const struct kl_secret *key);
/**
 * KL_EINVALID: what breaks the protocol, with the number of the event; KL_EIO: the server's error.
 */
int kl_stream_feed(struct kl_stream *stream, const char *at, size_t n);
/** No more will come: KL_EINVALID if it is empty or cut off. */
int kl_stream_check(const struct kl_stream *stream);
void kl_stream_release(struct kl_stream *stream);

/* For the protocols. */

/** More of the text; KL_EINVALID above KL_PROVIDER_MAX_TEXT. */
int kl_stream_add(struct kl_stream *stream, const char *text);
/** An error that the server sent in the stream: KL_EIO with its words. */
int kl_stream_error(const struct kl_stream *stream, const json_t *value);
/** `*out` = the count `key` of `obj`, if it has one; false: it is no count. */
bool kl_stream_count(int64_t *out, const json_t *obj, const char *key);
/**
 * Where servers put their words: {"error":{"message"}}, {"error":""}, {"message"}, {"detail"};
 * borrowed, or NULL.
 */
const char *kl_stream_words(const json_t *value);

#endif
