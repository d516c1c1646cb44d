/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_STREAM_H
#define KL_MODEL_PROVIDER_STREAM_H

#include "model/provider/message.h"
#include "model/provider/secret.h"
#include "model/provider/sse.h"
#include "text/json.h"

/*
 * stream - assembles a reply from server-sent JSON events, for any protocol. The text grows here;
 * everything else is stored in the reply as it arrives. The input is untrusted: it is bounded,
 * strictly parsed, and never quoted with the key in it.
 *
 *	kl_stream_begin(&s, kl_anthropic_event, request, &reply, key);
 *	while (bytes come)
 *		if ((err = kl_stream_feed(&s, p, n)) < 0) ...
 *	err = kl_stream_check(&s);		is it complete?
 *	text = kl_buf_detach(&s.text);
 *	kl_stream_release(&s);
 */
struct kl_stream;

/** Handles one event; `j` is NULL if its data are not a JSON object. */
typedef int kl_stream_event_fn(struct kl_stream *s, const char *data, const json_t *j);

struct kl_stream {
	const struct kl_provider_request *q;
	const struct kl_secret *key; /* removed from quoted text; or NULL */
	struct kl_reply *out;        /* model, stop and usage, as they arrive */
	struct kl_buf text;
	bool begun;   /* the answer has begun */
	bool stopped; /* the stop reason has arrived: the text is complete */
	/* the last event of the protocol has arrived; later ones are ignored */
	bool ended;
	bool broken; /* an event violated the protocol */
	size_t events;
	kl_stream_event_fn *event;
	struct kl_sse sse;
};

/**
 * Everything but `stream` is borrowed; `key` can be NULL. `stream` must not be moved until it is
 * released.
 */
void kl_stream_begin(struct kl_stream *stream, kl_stream_event_fn *event,
		     const struct kl_provider_request *request, struct kl_reply *out,
		     const struct kl_secret *key);
/**
 * KL_EINVALID: protocol violation (message gives the event number); KL_EIO: the server's error.
 */
int kl_stream_feed(struct kl_stream *stream, const char *at, size_t n);
/** Call at the end of the input: KL_EINVALID if the reply is empty or truncated. */
int kl_stream_check(const struct kl_stream *stream);
void kl_stream_release(struct kl_stream *stream);

/* For implementations of a protocol. */

/** Append to the text; KL_EINVALID above KL_PROVIDER_MAX_TEXT bytes. */
int kl_stream_add(struct kl_stream *stream, const char *text);
/** Report an error that the server sent in the stream: KL_EIO with its message. */
int kl_stream_error(const struct kl_stream *stream, const json_t *value);
/** Set *out to the count `key` of `obj`, if present; false if that is not a count. */
bool kl_stream_count(int64_t *out, const json_t *obj, const char *key);
/**
 * The error message of a server: {"error":{"message"}}, {"error":""}, {"message"} or {"detail"}.
 * Borrowed, or NULL.
 */
const char *kl_stream_words(const json_t *value);

#endif
