/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_HTTP_H
#define KL_MODEL_PROVIDER_HTTP_H

#include <stdint.h>

#include "base/buf.h"
#include "model/provider/secret.h"
#include "model/provider/url.h"
#include "repo/repo.h"

/*
 * http - one POST, its reply handed on as it streams in: over TLS whose peer is verified, with
 * the proxy and the CA bundle that git and curl would take. Redirects are not followed. A
 * plain connection goes to this machine alone, unless `insecure`; it never bears a key
 * elsewhere. Ctrl-C is noticed within a tenth of a second.
 */
#define KL_HTTP_MAX_STREAM ((int64_t)64 << 20) /* bytes of a reply that streams */
#define KL_HTTP_MAX_BODY ((size_t)64 << 10)    /* of one that does not: an error's words */

struct kl_http_post {
	struct kl_repo *repo;      /* for http.proxy and http.sslCAInfo; or NULL */
	const struct kl_url *url;  /* where it goes to, */
	const char *path;          /* and below that, with its slash */
	bool insecure;             /* a plain connection may leave this machine */
	struct kl_secret *key;     /* or NULL */
	const char *const *header; /* further ones, NULL-terminated */
	const struct kl_buf *body; /* JSON */
	int64_t idle_ms;           /* without a byte in either direction */
	int64_t total_ms;
	/** Bytes of a 200 that is an event stream; a negative return ends the transfer with it. */
	int (*data)(const char *p, size_t n, void *payload);
	void *payload;
};

struct kl_http_reply {
	long status;    /* 0: none came */
	bool sent;      /* some of the request may have reached the server */
	bool begun;     /* some of the stream was handed on */
	bool transient; /* an error that another attempt may not meet */
	char *type;     /* of the content, without parameters; or NULL */
	char *request_id, *location, *retry_after, *retry_after_ms; /* or NULL */
	struct kl_buf body; /* if it was no event stream: its beginning */
};

#define KL_HTTP_REPLY_INIT          \
	{                           \
		.body = KL_BUF_INIT \
	}

/**
 * 0: a reply of whatever status has come to its end. Else KL_EIO, KL_ETIMEOUT, KL_EINTR,
 * KL_EINVALID (too large, cut off), KL_ECANNOT (no libcurl), or what `data` returned. `out` says
 * in any case how far it came, and is the caller's to release.
 */
int kl_http_post(struct kl_http_reply *out, const struct kl_http_post *post);
void kl_http_reply_release(struct kl_http_reply *reply);

/** KL_EINVALID: a plain connection that leaves this machine, and nobody allowed it. */
int kl_http_check(const struct kl_url *url, bool insecure);

#endif
