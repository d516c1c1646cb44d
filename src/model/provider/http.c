/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/http.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/proc.h"
#include "model/provider/body.h"
#include "model/provider/libcurl.h"

#define CONNECT_MS 30000
#define NAP_MS 100
#define MAX_VALUE 1024 /* of a header that is kept */

struct transfer {
	const struct kl_http_post *q;
	struct kl_http_reply *out;
	struct kl_libcurl curl;
	CURL *easy;
	CURLM *multi;
	struct curl_slist *header; /* an array: libcurl only follows `next` */
	char said[CURL_ERROR_SIZE];
	int64_t heard_ns, end_ns; /* when a byte last moved; when it is over */
	int64_t moved, stream;    /* bytes in both directions; of the stream */
	int err;                  /* why we ended it, with its message set */
	bool left;                /* a plain connection would have left this machine */
	bool full;                /* the body is as long as we want it */
};

void kl_http_reply_release(struct kl_http_reply *r)
{
	free(r->type);
	free(r->request_id);
	free(r->location);
	free(r->retry_after);
	free(r->retry_after_ms);
	kl_buf_release(&r->body);
	*r = (struct kl_http_reply)KL_HTTP_REPLY_INIT;
}

int kl_http_check(const struct kl_url *url, bool insecure)
{
	if (url->tls || url->loopback || insecure)
		return 0;
	kl_error(KL_EINVALID, "'%s' is not encrypted: use https", url->origin);
	return kl_error_hint(KL_EINVALID, "klineage.chat.insecure allows it, without a key");
}

static void transfer_release(struct transfer *t)
{
	if (t->multi && t->easy)
		t->curl.multi_remove_handle(t->multi, t->easy);
	if (t->easy)
		t->curl.easy_cleanup(t->easy);
	if (t->multi)
		t->curl.multi_cleanup(t->multi);
	free(t->header);
}

/* --- what comes back ---------------------------------------------------- */

static void keep_header(char **to, const struct kl_secret *key, const char *value, size_t n)
{
	KL_AUTO(kl_buf_release) struct kl_buf clean = KL_BUF_INIT;

	kl_secret_quote(&clean, key, value, n, MAX_VALUE);
	free(*to);
	*to = kl_buf_detach(&clean);
}

static size_t on_header(char *p, size_t size, size_t n, void *payload)
{
	struct transfer *t = payload;
	struct kl_http_reply *r = t->out;
	/* clang-format off */
	struct { const char *name; char **to; } want[] = {
		{ "content-type", &r->type }, { "request-id", &r->request_id },
		{ "x-request-id", &r->request_id }, { "location", &r->location },
		{ "retry-after", &r->retry_after }, { "retry-after-ms", &r->retry_after_ms },
	};
	/* clang-format on */
	const char *colon = memchr(p, ':', n);

	t->heard_ns = kl_clock_ns();
	for (size_t i = 0; colon && i < KL_ARRAY_SIZE(want); i++) {
		size_t len = strlen(want[i].name);

		if ((size_t)(colon - p) == len && !strncasecmp(p, want[i].name, len))
			keep_header(want[i].to, t->q->key, colon + 1, (size_t)(p + n - colon - 1));
	}
	return n;
}

static bool is_stream(const struct kl_http_reply *r)
{
	return r->status == 200 && r->type && !strncasecmp(r->type, "text/event-stream", 17);
}

static void add_body(struct transfer *t, const char *p, size_t n)
{
	size_t room = KL_HTTP_MAX_BODY - t->out->body.len;

	kl_buf_add(&t->out->body, p, n < room ? n : room);
	t->full = n >= room;
}

static size_t on_data(char *p, size_t size, size_t n, void *payload)
{
	struct transfer *t = payload;

	t->heard_ns = kl_clock_ns();
	t->curl.easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->out->status);
	if (!is_stream(t->out)) {
		add_body(t, p, n);
		return t->full ? 0 : n;
	}
	t->out->begun = true;
	t->stream += (int64_t)n;
	if (t->stream > KL_HTTP_MAX_STREAM)
		t->err = kl_error(KL_EINVALID, "the reply goes on after %d MiB",
				  (int)(KL_HTTP_MAX_STREAM >> 20));
	else
		t->err = t->q->data(p, n, t->q->payload);
	return t->err < 0 ? 0 : n;
}

static int on_progress(void *payload, curl_off_t dltotal, curl_off_t dlnow, curl_off_t ultotal,
		       curl_off_t ulnow)
{
	struct transfer *t = payload;

	if (dlnow + ulnow != t->moved)
		t->heard_ns = kl_clock_ns();
	t->moved = dlnow + ulnow;
	return 0;
}

/* A name that was this machine's when we read it may still be resolved to another. */
static curl_socket_t on_socket(void *payload, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct transfer *t = payload;
	const struct sockaddr_in *v4 = (const void *)&a->addr;
	const struct sockaddr_in6 *v6 = (const void *)&a->addr;
	bool here = a->family == AF_INET ?
			    ntohl(v4->sin_addr.s_addr) >> 24 == 127 :
			    a->family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);

	if (!here) {
		t->left = true;
		return CURL_SOCKET_BAD;
	}
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* --- what is sent ------------------------------------------------------- */

static const char *read_config(const struct kl_http_post *q, const char *key)
{
	const char *v = q->repo ? kl_repo_config(q->repo, key) : NULL;

	return v && *v ? v : NULL;
}

static const char *first_set(const char *a, const char *b, const char *c)
{
	return a && *a ? a : b && *b ? b : c && *c ? c : NULL;
}

/* git's own settings, then those of the curl command; what neither says libcurl knows. */
static void set_trust(struct transfer *t)
{
	const char *file = first_set(getenv("GIT_SSL_CAINFO"), read_config(t->q, "http.sslCAInfo"),
				     first_set(getenv("CURL_CA_BUNDLE"), getenv("SSL_CERT_FILE"),
					       NULL));
	const char *dir = first_set(getenv("GIT_SSL_CAPATH"), read_config(t->q, "http.sslCAPath"),
				    getenv("SSL_CERT_DIR"));

	t->curl.easy_setopt(t->easy, CURLOPT_SSL_VERIFYPEER, 1L);
	t->curl.easy_setopt(t->easy, CURLOPT_SSL_VERIFYHOST, 2L);
	t->curl.easy_setopt(t->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (file)
		t->curl.easy_setopt(t->easy, CURLOPT_CAINFO, file);
	if (dir)
		t->curl.easy_setopt(t->easy, CURLOPT_CAPATH, dir);
}

static void set_route(struct transfer *t)
{
	const struct kl_url *u = t->q->url;
	const char *proxy = read_config(t->q, "http.proxy");

	if (!u->tls && !t->q->insecure) {
		/* a plain request through a proxy would leave this machine, key and all */
		t->curl.easy_setopt(t->easy, CURLOPT_PROXY, "");
		t->curl.easy_setopt(t->easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
		t->curl.easy_setopt(t->easy, CURLOPT_OPENSOCKETDATA, t);
	} else if (proxy) {
		t->curl.easy_setopt(t->easy, CURLOPT_PROXY, proxy);
	}
	t->curl.easy_setopt(t->easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
	t->curl.easy_setopt(t->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	t->curl.easy_setopt(t->easy, CURLOPT_FOLLOWLOCATION, 0L);
	t->curl.easy_setopt(t->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
}

/* libcurl keeps the list as it is, so that the key is not copied into one of its own. */
static void set_headers(struct transfer *t)
{
	static const char *const always[] = {
		"content-type: application/json",
		"accept: text/event-stream, application/json",
		"user-agent: git-klineage/" KL_VERSION,
		"expect:",
	};
	const struct kl_http_post *q = t->q;
	bool with_key = q->key && (q->url->tls || q->url->loopback);
	size_t n = 0, more = 0;

	while (q->header && q->header[more])
		more++;
	t->header = kl_calloc(KL_ARRAY_SIZE(always) + more + 1, sizeof(*t->header));
	for (size_t i = 0; i < KL_ARRAY_SIZE(always); i++)
		t->header[n++].data = (char *)always[i];
	for (size_t i = 0; i < more; i++)
		t->header[n++].data = (char *)q->header[i];
	if (with_key)
		t->header[n++].data = kl_secret_header(q->key);
	for (size_t i = 0; i + 1 < n; i++)
		t->header[i].next = &t->header[i + 1];
	t->curl.easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->header);
}

static void set_all(struct transfer *t, const char *url)
{
	long connect_ms = t->q->idle_ms < CONNECT_MS ? (long)t->q->idle_ms : CONNECT_MS;

	t->curl.easy_setopt(t->easy, CURLOPT_URL, url);
	t->curl.easy_setopt(t->easy, CURLOPT_POST, 1L);
	t->curl.easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->q->body->ptr);
	t->curl.easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->q->body->len);
	t->curl.easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
	t->curl.easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
	t->curl.easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->said);
	t->curl.easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
	t->curl.easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
	t->curl.easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_data);
	t->curl.easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
	t->curl.easy_setopt(t->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	t->curl.easy_setopt(t->easy, CURLOPT_XFERINFODATA, t);
	t->curl.easy_setopt(t->easy, CURLOPT_NOPROGRESS, 0L);
	set_trust(t);
	set_route(t);
	set_headers(t);
}

/* --- the transfer ------------------------------------------------------- */

static int stop_wanted(struct transfer *t)
{
	int64_t now = kl_clock_ns();

	if (kl_proc_interrupted())
		return kl_error(KL_EINTR, "interrupted");
	if (now - t->heard_ns > t->q->idle_ms * 1000000)
		return kl_error(KL_ETIMEOUT, "%s sent nothing for %.3g s", t->q->url->origin,
				(double)t->q->idle_ms / 1000);
	if (now > t->end_ns)
		return kl_error(KL_ETIMEOUT, "%s did not end its reply within %.3g s",
				t->q->url->origin, (double)t->q->total_ms / 1000);
	return 0;
}

/* Until it is done (`*code`), or we want no more of it. */
static int drive_transfer(struct transfer *t, CURLcode *code)
{
	int running = 1, left;

	for (;;) {
		CURLMcode m = t->curl.multi_perform(t->multi, &running);
		struct CURLMsg *msg;

		if (m)
			return kl_error(KL_EIO, "libcurl: %s", t->curl.multi_strerror(m));
		while ((msg = t->curl.multi_info_read(t->multi, &left)))
			if (msg->msg == CURLMSG_DONE)
				*code = msg->data.result;
		if (!running)
			return 0;
		t->err = stop_wanted(t);
		if (t->err < 0)
			return t->err;
		t->curl.multi_poll(t->multi, NULL, 0, NAP_MS, NULL);
	}
}

/*
 * How far it got. Once the connection stood, with its proxy and its TLS, the server may
 * have had the request, or enough of it to begin.
 */
static void note_progress(struct transfer *t)
{
	curl_off_t ready_us = 0;

	t->curl.easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->out->status);
	t->curl.easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
	t->out->sent = ready_us > 0;
}

static bool may_pass(struct transfer *t, CURLcode code)
{
	long proxy_said = 0;

	t->curl.easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &proxy_said);
	if (proxy_said >= 400 && proxy_said < 500)
		return false;
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		return true;
	default:
		return false;
	}
}

static int judge_transfer(struct transfer *t, CURLcode code)
{
	const char *origin = t->q->url->origin;
	KL_AUTO(kl_buf_release) struct kl_buf said = KL_BUF_INIT;
	const char *why = *t->said ? t->said : t->curl.easy_strerror(code);

	if (t->err < 0)
		return t->err;
	if (!code || t->full)
		return 0;
	if (t->left)
		return kl_error(KL_EINVALID, "'%s' is not this machine, and not encrypted", origin);
	kl_body_quote(&said, why, strlen(why), 300);
	if (t->out->begun)
		return kl_error(KL_EINVALID, "%s: the reply is cut off: %s", origin, said.ptr);
	t->out->transient = may_pass(t, code);
	return kl_error(code == CURLE_OPERATION_TIMEDOUT ? KL_ETIMEOUT : KL_EIO, "%s: %s", origin,
			said.ptr);
}

int kl_http_post(struct kl_http_reply *out, const struct kl_http_post *q)
{
	KL_AUTO(kl_freep) char *url = kl_url_join(q->url, q->path);
	KL_AUTO(transfer_release) struct transfer t = { .q = q, .out = out };
	CURLcode code = CURLE_OK;
	int err;

	*out = (struct kl_http_reply)KL_HTTP_REPLY_INIT;
	if ((err = kl_http_check(q->url, q->insecure)) < 0 || (err = kl_libcurl_open(&t.curl)) < 0)
		return err;
	t.easy = t.curl.easy_init();
	t.multi = t.curl.multi_init();
	if (!t.easy || !t.multi)
		return kl_error(KL_EIO, "libcurl gives no handle");
	set_all(&t, url);
	t.heard_ns = kl_clock_ns();
	t.end_ns = t.heard_ns + q->total_ms * 1000000;
	t.curl.multi_add_handle(t.multi, t.easy);
	err = drive_transfer(&t, &code);
	note_progress(&t);
	return err < 0 ? err : judge_transfer(&t, code);
}
