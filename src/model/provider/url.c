/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

static bool is_loopback(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, host, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6);
	return !strcmp(host, "localhost");
}

static bool port_ok(const char *at, size_t n)
{
	unsigned port = 0;

	if (!n || n > 5)
		return false;
	for (; n; n--, at++) {
		if (!isdigit((unsigned char)*at))
			return false;
		port = port * 10 + (unsigned)(*at - '0');
	}
	return port >= 1 && port <= 65535;
}

/*
 * Return the host in "host", "host:port", "[v6]" or "[v6]:port", in lower case, owned by the
 * caller; NULL if the text is malformed.
 */
static char *host_of(const char *at, size_t n)
{
	const char *end = at + n, *stop;
	char *host;

	if (n && *at == '[') {
		stop = memchr(at, ']', n);
		if (!stop)
			return NULL;
		host = kl_strndup(at + 1, (size_t)(stop - at - 1));
		stop++;
	} else {
		stop = memchr(at, ':', n);
		stop = stop ? stop : end;
		host = kl_strndup(at, (size_t)(stop - at));
	}
	if (!*host ||
	    (stop < end && (*stop != ':' || !port_ok(stop + 1, (size_t)(end - stop - 1))))) {
		free(host);
		return NULL;
	}
	for (char *ch = host; *ch; ch++)
		*ch = (char)tolower((unsigned char)*ch);
	return host;
}

int kl_url_parse(struct kl_url *out, const char *text)
{
	bool tls = !strncasecmp(text, "https://", 8);
	const char *authority = text + (tls ? 8 : 7);
	size_t n, len = strlen(text);

	for (const char *ch = text; *ch; ch++)
		if (!isgraph((unsigned char)*ch) || strchr("\"<>\\^`{|}", *ch))
			return kl_error(KL_EINVALID, "the URL contains an invalid character");
	if (!tls && strncasecmp(text, "http://", 7))
		return kl_error(KL_EINVALID, "the URL must begin with https:// or http://");
	if (strchr(text, '@'))
		return kl_error(KL_EINVALID,
				"the URL must not contain a user or password; keys come from the "
				"environment or a credential helper");
	if (strpbrk(text, "?#"))
		return kl_error(KL_EINVALID, "the URL must not have a query or fragment");
	n = strcspn(authority, "/");
	out->host = host_of(authority, n);
	if (!out->host)
		return kl_error(KL_EINVALID, "'%s' has no valid host", text);
	while (text + len > authority + n && text[len - 1] == '/')
		len--;
	out->base = kl_strndup(text, len);
	out->origin = kl_strndup(text, (size_t)(authority - text) + n);
	out->tls = tls;
	out->loopback = is_loopback(out->host);
	return 0;
}

void kl_url_release(struct kl_url *url)
{
	free(url->base);
	free(url->origin);
	free(url->host);
	*url = (struct kl_url){ 0 };
}

char *kl_url_join(const struct kl_url *url, const char *path)
{
	const char *tail = url->base + strlen(url->origin);
	size_t have = strlen(tail);

	/*
	 * find the longest prefix of `path` that has only whole parts and with which the base ends
	 */
	for (size_t n = strlen(path); n; n--) {
		if ((path[n] == '/' || !path[n]) && have >= n && !memcmp(tail + have - n, path, n))
			return kl_asprintf("%s%s", url->base, path + n);
	}
	return kl_asprintf("%s%s", url->base, path);
}
