/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CHAT_PROVIDER_HTTP_H
#define KL_CHAT_PROVIDER_HTTP_H

#include "chat/provider_ops.h"
#include "chat/secret.h"
#include "text/json.h"

/*
 * provider_http - what the providers over HTTP share: URL and key, attempts, the event stream,
 * errors in the server's own words. A provider adds its body and the meaning of its events.
 */
struct kl_stream {		/* a reply that is coming in */
	const struct kl_chat_request *q;
	const struct kl_secret *key;	/* not to be quoted; or NULL */
	struct kl_chat_reply *out;	/* model, stop, usage: as they come */
	struct kl_buf text;
	bool begun;		/* the answer has begun */
	bool stopped;		/* it has said why it stopped: its text is whole */
	bool ended;		/* the protocol's last event has come; what follows is passed over */
};

struct kl_http_kind {
	const char *url;	/* where it is by default */
	const char *path;
	const char *key_variable, *key_prefix;
	const char *const *header;	/* besides, NULL-terminated */
	/** One event; `j` is NULL for data that is no JSON. */
	int (*event)(struct kl_stream *s, const char *data, const json_t *j);
};

int kl_provider_http_open(struct kl_provider *p, const struct kl_http_kind *kind);
void kl_provider_http_close(struct kl_provider *p);
int kl_provider_http_send(struct kl_chat_reply *out, struct kl_provider *p,
			  const struct kl_chat_request *q, const struct kl_exchange *x,
			  const struct kl_chat_watch *watch);
/** Is it where the kind is by default? */
bool kl_provider_http_is_default(const struct kl_provider *p);

/** More of the text; KL_EINVALID above KL_CHAT_MAX_TEXT. */
int kl_stream_add(struct kl_stream *s, const char *text);
/** An error that the server sent in the stream: KL_EIO with its words. */
int kl_stream_error(const struct kl_stream *s, const json_t *j);
/** `*out` = the count `key` of `obj`, if it has one; false: it is no count. */
bool kl_stream_count(int64_t *out, const json_t *obj, const char *key);

#endif
