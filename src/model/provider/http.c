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
#define MAX_VALUE 1024 /* maximum bytes kept of a header value */

struct transfer {
	const struct kl_http_post *q;
	struct kl_http_reply *out;
	struct kl_libcurl curl;
	CURL *easy;
	CURLM *multi;
	/* allocated as one array; libcurl only follows its `next` pointers */
	struct curl_slist *header;
	char said[CURL_ERROR_SIZE];
	int64_t heard_ns, end_ns; /* time of the last byte; deadline */
	int64_t moved, stream;    /* bytes in both directions; bytes of the stream */
	/* the error for which we ended the transfer; its message is set */
	int err;
	/* on_socket() refused an unencrypted connection to another machine */
	bool left;
	bool full; /* the body has reached its maximum size */
};

void kl_http_reply_release(struct kl_http_reply *reply)
{
	free(reply->type);
	free(reply->request_id);
	free(reply->location);
	free(reply->retry_after);
	free(reply->retry_after_ms);
	kl_buf_release(&reply->body);
	*reply = (struct kl_http_reply)KL_HTTP_REPLY_INIT;
}

int kl_http_check(const struct kl_url *url, bool insecure)
{
	if (url->tls || url->loopback || insecure)
		return 0;
	kl_error(KL_EINVALID, "'%s' is not encrypted: use https", url->origin);
	return kl_error_hint(KL_EINVALID, "set klineage.chat.insecure to allow it, without a key");
}

static void transfer_release(struct transfer *transfer)
{
	if (transfer->multi && transfer->easy)
		transfer->curl.multi_remove_handle(transfer->multi, transfer->easy);
	if (transfer->easy)
		transfer->curl.easy_cleanup(transfer->easy);
	if (transfer->multi)
		transfer->curl.multi_cleanup(transfer->multi);
	free(transfer->header);
}

/* --- receiving ---------------------------------------------------------- */

static void keep_header(char **to, const struct kl_secret *key, const char *value, size_t n)
{
	KL_AUTO(kl_buf_release) struct kl_buf clean = KL_BUF_INIT;

	kl_secret_quote(&clean, key, value, n, MAX_VALUE);
	free(*to);
	*to = kl_buf_detach(&clean);
}

static size_t on_header(char *at, size_t size, size_t n, void *payload)
{
	struct transfer *transfer = payload;
	struct kl_http_reply *reply = transfer->out;
	/* clang-format off */
	struct { const char *name; char **to; } want[] = {
		{ "content-type", &reply->type }, { "request-id", &reply->request_id },
		{ "x-request-id", &reply->request_id }, { "location", &reply->location },
		{ "retry-after", &reply->retry_after }, { "retry-after-ms", &reply->retry_after_ms },
	};
	/* clang-format on */
	const char *colon = memchr(at, ':', n);

	transfer->heard_ns = kl_clock_ns();
	for (size_t i = 0; colon && i < KL_ARRAY_SIZE(want); i++) {
		size_t len = strlen(want[i].name);

		if ((size_t)(colon - at) == len && !strncasecmp(at, want[i].name, len))
			keep_header(want[i].to, transfer->q->key, colon + 1,
				    (size_t)(at + n - colon - 1));
	}
	return n;
}

static bool is_stream(const struct kl_http_reply *reply)
{
	return reply->status == 200 && reply->type &&
	       !strncasecmp(reply->type, "text/event-stream", 17);
}

static void add_body(struct transfer *transfer, const char *at, size_t n)
{
	size_t room = KL_HTTP_MAX_BODY - transfer->out->body.len;

	kl_buf_add(&transfer->out->body, at, n < room ? n : room);
	transfer->full = n >= room;
}

static size_t on_data(char *at, size_t size, size_t n, void *payload)
{
	struct transfer *transfer = payload;

	transfer->heard_ns = kl_clock_ns();
	transfer->curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &transfer->out->status);
	if (!is_stream(transfer->out)) {
		add_body(transfer, at, n);
		return transfer->full ? 0 : n;
	}
	transfer->out->begun = true;
	transfer->stream += (int64_t)n;
	if (transfer->stream > KL_HTTP_MAX_STREAM)
		transfer->err = kl_error(KL_EINVALID, "the reply is larger than %d MiB",
					 (int)(KL_HTTP_MAX_STREAM >> 20));
	else
		transfer->err = transfer->q->data(at, n, transfer->q->payload);
	return transfer->err < 0 ? 0 : n;
}

static int on_progress(void *payload, curl_off_t dltotal, curl_off_t dlnow, curl_off_t ultotal,
		       curl_off_t ulnow)
{
	struct transfer *transfer = payload;

	if (dlnow + ulnow != transfer->moved)
		transfer->heard_ns = kl_clock_ns();
	transfer->moved = dlnow + ulnow;
	return 0;
}

/* Allow loopback addresses only: the name "localhost" can resolve to another machine. */
static curl_socket_t on_socket(void *payload, curlsocktype purpose, struct curl_sockaddr *peer)
{
	struct transfer *transfer = payload;
	const struct sockaddr_in *v4 = (const void *)&peer->addr;
	const struct sockaddr_in6 *v6 = (const void *)&peer->addr;
	bool loopback = peer->family == AF_INET ?
				ntohl(v4->sin_addr.s_addr) >> 24 == 127 :
				peer->family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);

	if (!loopback) {
		transfer->left = true;
		return CURL_SOCKET_BAD;
	}
	return socket(peer->family, peer->socktype | SOCK_CLOEXEC, peer->protocol);
}

/* --- options ------------------------------------------------------------ */

static const char *read_config(const struct kl_http_post *post, const char *key)
{
	const char *value = post->repo ? kl_repo_config(post->repo, key) : NULL;

	return value && *value ? value : NULL;
}

static const char *first_set(const char *first, const char *second, const char *third)
{
	return first && *first   ? first :
	       second && *second ? second :
	       third && *third   ? third :
				   NULL;
}

/*
 * Choose the CA bundle: from git's settings, or else from those of the curl command, or else
 * libcurl's default.
 */
static void set_trust(struct transfer *transfer)
{
	const char *file = first_set(
		getenv("GIT_SSL_CAINFO"), read_config(transfer->q, "http.sslCAInfo"),
		first_set(getenv("CURL_CA_BUNDLE"), getenv("SSL_CERT_FILE"), NULL));
	const char *dir = first_set(getenv("GIT_SSL_CAPATH"),
				    read_config(transfer->q, "http.sslCAPath"),
				    getenv("SSL_CERT_DIR"));

	transfer->curl.easy_setopt(transfer->easy, CURLOPT_SSL_VERIFYPEER, 1L);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_SSL_VERIFYHOST, 2L);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_SSLVERSION,
				   (long)CURL_SSLVERSION_TLSv1_2);
	if (file)
		transfer->curl.easy_setopt(transfer->easy, CURLOPT_CAINFO, file);
	if (dir)
		transfer->curl.easy_setopt(transfer->easy, CURLOPT_CAPATH, dir);
}

static void set_route(struct transfer *transfer)
{
	const struct kl_url *url = transfer->q->url;
	const char *proxy = read_config(transfer->q, "http.proxy");

	if (!url->tls && !transfer->q->insecure) {
		/* a proxy would receive the unencrypted request, including the key */
		transfer->curl.easy_setopt(transfer->easy, CURLOPT_PROXY, "");
		transfer->curl.easy_setopt(transfer->easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
		transfer->curl.easy_setopt(transfer->easy, CURLOPT_OPENSOCKETDATA, transfer);
	} else if (proxy) {
		transfer->curl.easy_setopt(transfer->easy, CURLOPT_PROXY, proxy);
	}
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_FOLLOWLOCATION, 0L);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_HTTP_VERSION,
				   (long)CURL_HTTP_VERSION_1_1);
}

/* Set the headers. The list is built here, since curl_slist_append() would copy the key. */
static void set_headers(struct transfer *transfer)
{
	static const char *const always[] = {
		"content-type: application/json",
		"accept: text/event-stream, application/json",
		"user-agent: git-klineage/" KL_VERSION,
		"expect:",
	};
	const struct kl_http_post *post = transfer->q;
	bool with_key = post->key && (post->url->tls || post->url->loopback);
	size_t n = 0, more = 0;

	while (post->header && post->header[more])
		more++;
	transfer->header = kl_calloc(KL_ARRAY_SIZE(always) + more + 1, sizeof(*transfer->header));
	for (size_t i = 0; i < KL_ARRAY_SIZE(always); i++)
		transfer->header[n++].data = (char *)always[i];
	for (size_t i = 0; i < more; i++)
		transfer->header[n++].data = (char *)post->header[i];
	if (with_key)
		transfer->header[n++].data = kl_secret_header(post->key);
	for (size_t i = 0; i + 1 < n; i++)
		transfer->header[i].next = &transfer->header[i + 1];
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->header);
}

/*
 * Do not wait for the C library's resolver at the end of a transfer: it can take half a minute if
 * no name server answers. The thread of the resolver then ends on its own. libcurl before 7.87
 * cannot do this.
 */
static void set_quick_exit(struct transfer *transfer)
{
#if LIBCURL_VERSION_NUM >= 0x075700
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_QUICK_EXIT, 1L);
#endif
}

static void set_all(struct transfer *transfer, const char *url)
{
	long connect_ms = transfer->q->idle_ms < CONNECT_MS ? (long)transfer->q->idle_ms :
							      CONNECT_MS;

	transfer->curl.easy_setopt(transfer->easy, CURLOPT_URL, url);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_POST, 1L);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, transfer->q->body->ptr);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE_LARGE,
				   (curl_off_t)transfer->q->body->len);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_NOSIGNAL, 1L);
	set_quick_exit(transfer);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_ERRORBUFFER, transfer->said);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_HEADERFUNCTION, on_header);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_HEADERDATA, transfer);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_WRITEFUNCTION, on_data);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_WRITEDATA, transfer);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_XFERINFODATA, transfer);
	transfer->curl.easy_setopt(transfer->easy, CURLOPT_NOPROGRESS, 0L);
	set_trust(transfer);
	set_route(transfer);
	set_headers(transfer);
}

/* --- the transfer ------------------------------------------------------- */

static int stop_wanted(struct transfer *transfer)
{
	int64_t now = kl_clock_ns();

	if (kl_proc_interrupted())
		return kl_error(KL_EINTR, "interrupted");
	if (now - transfer->heard_ns > transfer->q->idle_ms * 1000000)
		return kl_error(KL_ETIMEOUT, "%s sent nothing for %.3g s", transfer->q->url->origin,
				(double)transfer->q->idle_ms / 1000);
	if (now > transfer->end_ns)
		return kl_error(KL_ETIMEOUT, "%s did not complete its reply within %.3g s",
				transfer->q->url->origin, (double)transfer->q->total_ms / 1000);
	return 0;
}

/* Run the transfer until it ends and set `*code` to its result, or until stop_wanted() stops it. */
static int drive_transfer(struct transfer *transfer, CURLcode *code)
{
	int running = 1, left;

	for (;;) {
		CURLMcode status = transfer->curl.multi_perform(transfer->multi, &running);
		struct CURLMsg *msg;

		if (status)
			return kl_error(KL_EIO, "libcurl: %s",
					transfer->curl.multi_strerror(status));
		while ((msg = transfer->curl.multi_info_read(transfer->multi, &left)))
			if (msg->msg == CURLMSG_DONE)
				*code = msg->data.result;
		if (!running)
			return 0;
		transfer->err = stop_wanted(transfer);
		if (transfer->err < 0)
			return transfer->err;
		transfer->curl.multi_poll(transfer->multi, NULL, 0, NAP_MS, NULL);
	}
}

/*
 * Record how far the transfer got. Once the connection was established, including proxy and TLS,
 * the server can have received the request, or enough of it to start.
 */
static void note_progress(struct transfer *transfer)
{
	curl_off_t ready_us = 0;

	transfer->curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &transfer->out->status);
	transfer->curl.easy_getinfo(transfer->easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
	transfer->out->sent = ready_us > 0;
}

static bool is_transient(struct transfer *transfer, CURLcode code)
{
	long proxy_said = 0;

	transfer->curl.easy_getinfo(transfer->easy, CURLINFO_HTTP_CONNECTCODE, &proxy_said);
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
	case CURLE_PARTIAL_FILE:
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_UNSUPPORTED_PROTOCOL: /* the reply has no status line, as in HTTP/0.9 */
	case CURLE_BAD_CONTENT_ENCODING:
		return true;
	default:
		return false;
	}
}

static int judge_transfer(struct transfer *transfer, CURLcode code)
{
	const char *origin = transfer->q->url->origin;
	KL_AUTO(kl_buf_release) struct kl_buf said = KL_BUF_INIT;
	const char *why = *transfer->said ? transfer->said : transfer->curl.easy_strerror(code);

	if (transfer->err < 0)
		return transfer->err;
	if (!code || transfer->full)
		return 0;
	if (transfer->left)
		return kl_error(
			KL_EINVALID,
			"refusing an unencrypted connection to '%s', which is not this machine",
			origin);
	kl_body_quote(&said, why, strlen(why), 300);
	if (transfer->out->begun)
		return kl_error(KL_EINVALID, "%s: the reply is truncated: %s", origin, said.ptr);
	transfer->out->transient = is_transient(transfer, code);
	return kl_error(code == CURLE_OPERATION_TIMEDOUT ? KL_ETIMEOUT : KL_EIO, "%s: %s", origin,
			said.ptr);
}

int kl_http_post(struct kl_http_reply *out, const struct kl_http_post *post)
{
	KL_AUTO(transfer_release) struct transfer transfer = { .q = post, .out = out };
	CURLcode code = CURLE_OK;
	int err;

	*out = (struct kl_http_reply)KL_HTTP_REPLY_INIT;
	if ((err = kl_http_check(post->url, post->insecure)) < 0 ||
	    (err = kl_libcurl_open(&transfer.curl)) < 0)
		return err;
	transfer.easy = transfer.curl.easy_init();
	transfer.multi = transfer.curl.multi_init();
	if (!transfer.easy || !transfer.multi)
		return kl_error(KL_EIO, "cannot create a libcurl handle");
	set_all(&transfer, post->target);
	transfer.heard_ns = kl_clock_ns();
	transfer.end_ns = transfer.heard_ns + post->total_ms * 1000000;
	transfer.curl.multi_add_handle(transfer.multi, transfer.easy);
	err = drive_transfer(&transfer, &code);
	note_progress(&transfer);
	return err < 0 ? err : judge_transfer(&transfer, code);
}
