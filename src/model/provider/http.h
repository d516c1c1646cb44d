/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_HTTP_H
#define KL_MODEL_PROVIDER_HTTP_H

#include <stdint.h>

#include "base/buf.h"
#include "model/provider/secret.h"
#include "model/provider/url.h"
#include "repo/repo.h"

/*
 * http - sends one POST and passes on the reply as it streams in. TLS verifies the peer. It uses
 * the proxy and the CA bundle that git and curl would use. Redirects are not followed. Unless
 * `insecure` is set, an unencrypted connection is allowed to this machine only. No key is sent
 * unencrypted to another machine. Ctrl-C is noticed within a tenth of a second.
 */
#define KL_HTTP_MAX_STREAM ((int64_t)64 << 20) /* maximum bytes of a streamed reply */
/* maximum bytes kept of a reply that is not a stream, which is an error */
#define KL_HTTP_MAX_BODY ((size_t)64 << 10)

struct kl_http_post {
	/* its settings http.proxy and http.sslCAInfo are used; or NULL */
	struct kl_repo *repo;
	const struct kl_url *url;  /* base URL of the server */
	const char *target;        /* whole URL of the request */
	bool insecure;             /* allow an unencrypted connection to another machine */
	struct kl_secret *key;     /* or NULL */
	const char *const *header; /* additional headers, NULL-terminated, or NULL */
	const struct kl_buf *body; /* JSON */
	int64_t idle_ms;           /* maximum time without a byte in either direction */
	int64_t total_ms;          /* maximum total time */
	/**
	 * Receives the bytes of an event stream (status 200); a negative return ends the transfer.
	 */
	int (*data)(const char *p, size_t n, void *payload);
	void *payload;
};

struct kl_http_reply {
	long status;    /* 0: none received */
	bool sent;      /* part of the request can have reached the server */
	bool begun;     /* part of the stream was passed to `data` */
	bool transient; /* another attempt can succeed */
	char *type;     /* content type, or NULL */
	char *request_id, *location, *retry_after, *retry_after_ms; /* or NULL */
	struct kl_buf body; /* start of the body, if the reply was not an event stream */
};

#define KL_HTTP_REPLY_INIT          \
	{                           \
		.body = KL_BUF_INIT \
	}

/**
 * Send the request, and return 0 if a complete reply was received, whatever its status. Errors:
 * KL_EIO, KL_ETIMEOUT, KL_EINTR, KL_EINVALID (too large, truncated), KL_ECANNOT (no libcurl), or
 * the return value of `data`. `out` is filled as far as the transfer got, also on error; the caller
 * releases it.
 */
int kl_http_post(struct kl_http_reply *out, const struct kl_http_post *post);
void kl_http_reply_release(struct kl_http_reply *reply);

/**
 * Check that a connection to this URL is allowed. Return KL_EINVALID if it is unencrypted, to
 * another machine, and `insecure` is not set.
 */
int kl_http_check(const struct kl_url *url, bool insecure);

#endif
