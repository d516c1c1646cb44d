/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_OPS_H
#define KL_MODEL_PROVIDER_OPS_H

#include "model/provider/provider.h"

/* ops - an opened provider, and the functions that implement one kind of provider. */
#define KL_PROVIDER_MAX_TEXT ((size_t)8 << 20) /* maximum bytes of the text of a reply */

struct kl_provider_ops {
	const char *name;
	bool metered;
	bool blind; /* the model sees nothing of this machine except the request */
	/** Check the options in `p` and set `state`. Can be NULL. */
	int (*open)(struct kl_provider *p);
	/** Free `state`. Can be NULL. */
	void (*close)(struct kl_provider *p);
	/** Append the body of the request; `x` is NULL if the request will not be sent. */
	void (*body)(struct kl_buf *out, size_t *prefix, const struct kl_provider *p,
		     const struct kl_provider_request *q, const struct kl_request_context *x);
	/**
	 * Set *out to the URL of a request for `model`; the caller frees it. The function is NULL
	 * if this kind uses no URL.
	 */
	int (*target)(char **out, const struct kl_provider *p, const char *model);
	/** Send a request, which has been checked; `out` is empty. */
	int (*send)(struct kl_reply *out, struct kl_provider *p,
		    const struct kl_provider_request *q, const struct kl_request_context *x,
		    const struct kl_provider_watch *watch);
};

struct kl_provider {
	const struct kl_provider_ops *ops;
	char *name;
	struct kl_repo *repo;         /* borrowed; NULL if there is no configuration */
	char *url, *command, *replay; /* from the options or the configuration; or NULL */
	int64_t timeout_ms;           /* never 0 */
	/* of struct kl_provider_opts */
	int (*answer)(char **text, const void *about, void *payload);
	void *payload;
	void *state; /* private to the functions of this kind */
};

extern const struct kl_provider_ops kl_provider_service, kl_provider_exec, kl_provider_replay,
	kl_provider_called;

/**
 * Append the request in our own format, klineage.chat-request/1, which does not depend on a
 * provider. If `context` is NULL, the request has no phase and no turn.
 */
void kl_provider_plain_body(struct kl_buf *out, size_t *prefix, const struct kl_provider *provider,
			    const struct kl_provider_request *request,
			    const struct kl_request_context *context);

/**
 * Report to the watcher that `bytes` have arrived. Return KL_EINTR if the watcher or the user stops
 * the request.
 */
int kl_provider_heard(const struct kl_provider_watch *watch, int64_t bytes,
		      const struct kl_usage *usage);

#endif
