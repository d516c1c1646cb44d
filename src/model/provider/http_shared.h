/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_HTTP_SHARED_H
#define KL_MODEL_PROVIDER_HTTP_SHARED_H

#include "model/provider/ops.h"
#include "model/provider/stream.h"

/*
 * http_shared - what the providers over HTTP share: URL and key, attempts, errors in the server's
 * own words. A provider adds its body and the meaning of its events.
 */
struct kl_http_kind {
	const char *url; /* where it is by default */
	const char *path;
	const char *key_variable, *key_prefix;
	const char *const *header; /* besides, NULL-terminated */
	kl_stream_event_fn *event;
};

int kl_provider_http_open(struct kl_provider *provider, const struct kl_http_kind *kind);
void kl_provider_http_close(struct kl_provider *provider);
int kl_provider_http_send(struct kl_reply *out, struct kl_provider *provider,
			  const struct kl_provider_request *request,
			  const struct kl_request_context *context,
			  const struct kl_provider_watch *watch);
/** Is it where the kind is by default? */
bool kl_provider_http_is_default(const struct kl_provider *provider);

/* The events of the two protocols. */
kl_stream_event_fn kl_anthropic_event, kl_openai_event;

#endif
