/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_URL_H
#define KL_MODEL_PROVIDER_URL_H

#include <stdbool.h>

#include "base/mem.h"

/*
 * url - the base URL of a server, as far as a provider's may go: http or https, a host, perhaps a
 * port and a path. No user, password, query or fragment.
 */
struct kl_url {
	char *base;   /* without a slash at its end */
	char *origin; /* scheme, host and port: what messages say */
	char *host;   /* lower case, without brackets */
	bool tls;
	bool loopback; /* the host is this machine by its name or number */
};

/** KL_EINVALID; a URL that holds a password is not quoted. `out` is the caller's to release. */
int kl_url_parse(struct kl_url *out, const char *text);
void kl_url_release(struct kl_url *url);

/** `path` behind the base, less what of its beginning the base already ends with; caller frees. */
char *kl_url_join(const struct kl_url *url, const char *path);

#endif
