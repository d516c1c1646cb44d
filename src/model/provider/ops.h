/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_OPS_H
#define KL_MODEL_PROVIDER_OPS_H

#include "model/provider/provider.h"

/*
 * ops - what the files of the providers share: an opened provider, and
 * the row of the table that says how one kind does its work.
 */
#define KL_PROVIDER_MAX_TEXT ((size_t)8 << 20) /* bytes of a reply's text */

struct kl_provider_ops {
	const char *name;
	bool metered;
	bool blind; /* whoever answers sees the request, and nothing of this machine */
	/** What the options lack or get wrong; `p` is filled. May be NULL. */
	int (*open)(struct kl_provider *p);
	/** Frees `state`. May be NULL. */
	void (*close)(struct kl_provider *p);
	/** The request's bytes; `x` is NULL where only the body is asked for. */
	void (*body)(struct kl_buf *out, size_t *prefix, const struct kl_provider *p,
		     const struct kl_provider_request *q, const struct kl_request_context *x);
	/** The request is well-formed, `out` is empty. */
	int (*send)(struct kl_reply *out, struct kl_provider *p,
		    const struct kl_provider_request *q, const struct kl_request_context *x,
		    const struct kl_provider_watch *watch);
};

struct kl_provider {
	const struct kl_provider_ops *ops;
	struct kl_repo *repo;         /* borrowed; NULL: no configuration */
	char *url, *command, *replay; /* of the options, else of the configuration; or NULL */
	int64_t timeout_ms;           /* never 0 */
	void *state;                  /* the kind's own */
};

extern const struct kl_provider_ops kl_provider_anthropic, kl_provider_openai, kl_provider_exec,
	kl_provider_replay;

/**
 * The request in our own words, which no provider's habits change: klineage.chat-request/1.
 * Without `context` it has no phase and no turn.
 */
void kl_provider_plain_body(struct kl_buf *out, size_t *prefix, const struct kl_provider *provider,
			    const struct kl_provider_request *request,
			    const struct kl_request_context *context);

/** Tell the watcher of bytes; KL_EINTR when it, or the user, wants no more. */
int kl_provider_heard(const struct kl_provider_watch *watch, int64_t bytes,
		      const struct kl_usage *usage);

#endif
