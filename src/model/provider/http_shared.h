/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_HTTP_SHARED_H
#define KL_MODEL_PROVIDER_HTTP_SHARED_H

#include "model/provider/ops.h"
#include "model/provider/stream.h"

/*
 * http_shared - shared code of the HTTP providers: URL, key, retries and error messages. A provider
 * adds the request body and the handling of events.
 */
struct kl_http_kind {
	const char *url; /* default base URL */
	const char *path;
	const char *key_variable, *key_prefix; /* environment variable; header up to the key */
	const char *const *header;             /* additional headers, NULL-terminated, or NULL */
	kl_stream_event_fn *event;
};

int kl_provider_http_open(struct kl_provider *provider, const struct kl_http_kind *kind);
void kl_provider_http_close(struct kl_provider *provider);
int kl_provider_http_send(struct kl_reply *out, struct kl_provider *provider,
			  const struct kl_provider_request *request,
			  const struct kl_request_context *context,
			  const struct kl_provider_watch *watch);
/** Does the provider use the default server of its kind? */
bool kl_provider_http_is_default(const struct kl_provider *provider);

/* Event handlers of the two protocols. */
kl_stream_event_fn kl_anthropic_event, kl_openai_event;

#endif
