/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_STREAM_H
#define KL_MODEL_PROVIDER_STREAM_H

#include "model/provider/dialect.h"
#include "model/provider/message.h"
#include "model/provider/secret.h"
#include "model/provider/sse.h"
#include "text/json.h"

/*
 * stream - assembles a reply from server-sent JSON events, for any protocol. The text grows here;
 * everything else is stored in the reply as it arrives. The input is untrusted: it is bounded,
 * strictly parsed, and the key is removed from every text that is quoted.
 *
 *	kl_stream_begin(&s, protocol->event, dialect, request, &reply, key);
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
	struct kl_reply *out;        /* its members model, stop and usage are set as they arrive */
	struct kl_buf text;
	const struct kl_dialect *dialect; /* how the usage is reported */
	struct kl_counts counts;          /* the counts reported so far */
	enum kl_flaw flaw;                /* the first flaw that the protocol showed */
	int64_t hidden;                   /* bytes of reasoning, which are not in `text` */
	int64_t start_ns, text_ns;        /* start of the request; first byte of the text, or 0 */
	bool begun;                       /* the answer has begun */
	bool stopped;                     /* the stop reason has arrived: the text is complete */
	/* the last event of the protocol has arrived; later ones are ignored */
	bool ended;
	bool broken;  /* an event violated the protocol, or reported an error */
	bool refused; /* the server reported an error that another attempt will not change */
	/* the first event of the server was an error which says that no model has run */
	bool idle;
	size_t events;
	kl_stream_event_fn *event;
	struct kl_sse sse;
};

/**
 * Prepare `stream` to receive a reply. Everything but `stream` is borrowed; `key` can be NULL.
 * `stream` must not be moved until it is released.
 */
void kl_stream_begin(struct kl_stream *stream, kl_stream_event_fn *event,
		     const struct kl_dialect *dialect, const struct kl_provider_request *request,
		     struct kl_reply *out, const struct kl_secret *key);
/**
 * Parse the next bytes of the reply. Return KL_EINVALID if they violate the protocol (the message
 * gives the number of the event), or KL_EIO if the server reports an error.
 */
int kl_stream_feed(struct kl_stream *stream, const char *at, size_t n);
/**
 * Check that the reply is complete, at the end of the input. Return KL_EINVALID if it is empty or
 * truncated.
 */
int kl_stream_check(const struct kl_stream *stream);
void kl_stream_release(struct kl_stream *stream);

/* The functions below are for the implementations of protocols. */

/**
 * Append a JSON string to the text; other JSON values are ignored. NUL characters become U+FFFD and
 * are a flaw. Return KL_EINVALID if the text would be longer than KL_PROVIDER_MAX_TEXT bytes.
 */
int kl_stream_add(struct kl_stream *stream, const json_t *text);
/** Count a JSON string as reasoning; other JSON values are ignored. */
void kl_stream_hide(struct kl_stream *stream, const json_t *text);
/** Record a flaw, unless a flaw is already recorded. */
void kl_stream_flaw(struct kl_stream *stream, enum kl_flaw flaw);
/**
 * Read a usage object, and bring the reply's usage up to date; other JSON values are ignored.
 * `around` is the object that contains the usage object.
 */
void kl_stream_usage(struct kl_stream *stream, const json_t *usage, const json_t *around);
/** Report an error that the server sent in the stream. Return KL_EIO, with the server's message. */
int kl_stream_error(struct kl_stream *stream, const json_t *value);
/**
 * Return true if the same request would be refused again, according to the type or code of the
 * server's error. An unknown error can be temporary.
 */
bool kl_stream_is_final(const json_t *error);
/** Maximum number of bytes of a server's message that an error quotes. */
#define KL_STREAM_MAX_WORDS 500
/**
 * Find the error message in a server's JSON: {"error":{"message"}}, {"error":""}, {"message"} or
 * {"detail"}. Return the message, borrowed, or NULL.
 */
const char *kl_stream_words(const json_t *value);

#endif
