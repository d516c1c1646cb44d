/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_URL_H
#define KL_MODEL_PROVIDER_URL_H

#include <stdbool.h>

#include "base/mem.h"

/*
 * url - the base URL of a server: http or https, a host, optional port and path. User, password,
 * query and fragment are not allowed.
 */
struct kl_url {
	char *base;   /* without a trailing slash */
	char *origin; /* scheme, host and port, for messages */
	char *host;   /* lower case, without brackets */
	bool tls;
	bool loopback; /* the host is "localhost" or a loopback address */
};

/**
 * Parse a URL. Return KL_EINVALID if it is malformed. The message does not quote a URL with a
 * password. The caller releases `out`.
 */
int kl_url_parse(struct kl_url *out, const char *text);
void kl_url_release(struct kl_url *url);

/**
 * Join the base URL and `path`. If the base ends with the first parts of `path`, they are not
 * repeated: "http://h/v1" and "/v1/messages" give "http://h/v1/messages". The caller frees the
 * result.
 */
char *kl_url_join(const struct kl_url *url, const char *path);

#endif
