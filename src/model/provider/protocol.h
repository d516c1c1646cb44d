/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_PROTOCOL_H
#define KL_MODEL_PROVIDER_PROTOCOL_H

#include "model/provider/service.h"
#include "model/provider/stream.h"

/*
 * protocol - writes requests to a service and reads its replies: the body of a request, and the
 * events of a reply. A service names its protocol; everything else about it is data (service.h).
 *
 *	messages	Anthropic Messages
 *	chat		chat completions (file completions.c)
 *	responses	OpenAI Responses
 */
struct kl_protocol {
	/**
	 * Append the request. `*prefix` is the number of bytes up to the end of the last text that
	 * a cache covers.
	 */
	void (*body)(struct kl_buf *out, size_t *prefix, const struct kl_service *service,
		     const struct kl_provider_request *request);
	kl_stream_event_fn *event;
};

extern const struct kl_protocol kl_protocol_messages, kl_protocol_completions,
	kl_protocol_responses;

/** Return the protocol of a service. */
const struct kl_protocol *kl_protocol_of(const struct kl_service *service);

/* --- for protocols ---------------------------------------------------------------------- */

/** Append the start of the body, with the model unless the URL names it. */
void kl_protocol_add_begin(struct kl_buf *out, const struct kl_service *service,
			   const struct kl_provider_request *request);
/** Append the system texts as one text, separated by empty lines. */
void kl_protocol_join_system(struct kl_buf *out, const struct kl_provider_request *request);
/** Return true if a request to this service has cache_control marks. */
bool kl_protocol_marks(const struct kl_service *service, const struct kl_provider_request *request);
/** Append `,"cache_control":{...}`. */
void kl_protocol_add_mark(struct kl_buf *out, enum kl_cache_ttl cache);
/** Append a text as a content part, with a mark if `cache` is not KL_CACHE_NONE. */
void kl_protocol_add_part(struct kl_buf *out, const char *text, enum kl_cache_ttl cache);
/**
 * Return the cache that system text `i` of a request is marked for. A request can have four marks:
 * on the first system text, on the last two system texts and on the last message.
 */
enum kl_cache_ttl kl_protocol_system_mark(const struct kl_provider_request *request, size_t i);
/**
 * Append the end of the body: the limit of tokens, `stream`, and the members that come from the
 * service, from the options of the request and from its `extra`, in a fixed order.
 */
void kl_protocol_add_end(struct kl_buf *out, const struct kl_service *service,
			 const struct kl_provider_request *request);

#endif
