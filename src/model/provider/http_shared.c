/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/http_shared.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/proc.h"
#include "model/provider/body.h"
#include "model/provider/http.h"
#include "model/provider/retry.h"

#define MAX_WORDS 500 /* of a server, in our message */
#define TOTAL 6       /* times the time without a byte, for a whole reply */
#define NAP_MS 50

struct http_state {
	const struct kl_http_kind *kind;
	struct kl_url url;
	struct kl_secret *key;
	bool asked; /* for the key: there may be none */
	bool insecure;
	struct kl_rng rng;
};

struct attempt {
	const struct kl_provider_watch *watch;
	struct kl_stream s;
	struct kl_http_reply reply;
};

static void attempt_release(struct attempt *a)
{
	kl_stream_release(&a->s);
	kl_http_reply_release(&a->reply);
}

int kl_provider_http_open(struct kl_provider *p, const struct kl_http_kind *kind)
{
	struct http_state *h = kl_calloc(1, sizeof(*h));
	int err = 0;

	p->state = h;
	h->kind = kind;
	kl_rng_seed(&h->rng, kl_rng_os_seed());
	if (p->repo)
		err = kl_repo_config_bool(&h->insecure, p->repo, "klineage.chat.insecure", false);
	if (!err)
		err = kl_url_parse(&h->url, p->url ? p->url : kind->url);
	if (!err)
		err = kl_http_check(&h->url, h->insecure);
	return err < 0 ? kl_error_in(err, "klineage.chat.url") : 0;
}

void kl_provider_http_close(struct kl_provider *p)
{
	struct http_state *h = p->state;

	if (!h)
		return;
	kl_url_release(&h->url);
	kl_secret_free(h->key);
	free(h);
}

bool kl_provider_http_is_default(const struct kl_provider *p)
{
	const struct http_state *h = p->state;
	size_t n = strlen(h->url.origin);

	return !strncmp(h->kind->url, h->url.origin, n) &&
	       (!h->kind->url[n] || h->kind->url[n] == '/');
}

/* --- replies that are none ------------------------------------------------ */

static void add_words(struct kl_buf *out, const struct kl_buf *body)
{
	KL_AUTO(json_decrefp) json_t *j = NULL;
	const char *words = NULL;

	if (!kl_json_parse(&j, body->ptr, body->len))
		words = kl_stream_words(j);
	else
		kl_error_clear();
	if (words)
		kl_body_quote(out, words, strlen(words), MAX_WORDS);
	else
		kl_body_quote(out, body->ptr, body->len, 200);
}

/* The server refused: what it says, cleaned of the key. */
static int refuse_reply(const struct http_state *h, struct kl_http_reply *r)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *id = NULL;
	int err;

	kl_secret_scrub(h->key, &r->body);
	if (r->status >= 300 && r->status < 400)
		return kl_error(KL_EIO,
				"%s redirects (%ld) to '%s': redirects are not followed; if it is "
				"to be trusted, set klineage.chat.url",
				h->url.origin, r->status, r->location ? r->location : "nowhere");
	add_words(&words, &r->body);
	id = r->request_id ? kl_asprintf(" (request %s)", r->request_id) : kl_strdup("");
	err = kl_error(KL_EIO, "%s: %ld: %s%s", h->url.origin, r->status,
		       words.len ? words.ptr : "it does not say why", id);
	if (r->status == 401 && h->key)
		kl_error_hint(err, "the key is from %s", kl_secret_source(h->key));
	return err;
}

static int no_stream(const struct http_state *h, struct kl_http_reply *r)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;

	if (r->type && !strncasecmp(r->type, "text/event-stream", 17))
		return kl_error(KL_EINVALID, "%s: the reply is empty", h->url.origin);
	kl_secret_quote(&words, h->key, r->body.ptr, r->body.len, 200);
	return kl_error(KL_EINVALID, "%s: 200, but no event stream (%s): %s", h->url.origin,
			r->type && *r->type ? r->type : "no content type",
			words.len ? words.ptr : "empty");
}

/* --- an attempt ----------------------------------------------------------- */

static int on_bytes(const char *p, size_t n, void *payload)
{
	struct attempt *a = payload;
	int err = kl_stream_feed(&a->s, p, n);

	if (err < 0)
		return err;
	err = kl_provider_heard(a->watch, (int64_t)a->s.text.len, &a->s.out->usage);
	/* a whole reply is not given up, nor waited for until the server hangs up */
	return a->s.ended ? kl_error(KL_ENO, "that was all") : err;
}

static int try_once(struct attempt *a, struct kl_provider *p, const struct kl_buf *body)
{
	struct http_state *h = p->state;
	struct kl_http_post post = {
		.repo = p->repo,
		.url = &h->url,
		.path = h->kind->path,
		.insecure = h->insecure,
		.key = h->key,
		.header = h->kind->header,
		.body = body,
		.idle_ms = p->timeout_ms,
		.total_ms = TOTAL * p->timeout_ms,
		.data = on_bytes,
		.payload = a,
	};
	int err = kl_http_post(&a->reply, &post);

	if (err < 0 && a->s.stopped && !a->s.broken)
		err = 0; /* its text is whole: how the connection ends is no matter */
	if (err < 0)
		return err;
	if (a->reply.status != 200)
		return refuse_reply(h, &a->reply);
	if (!a->reply.begun)
		return no_stream(h, &a->reply);
	err = kl_stream_check(&a->s);
	return err < 0 ? kl_error_in(err, "%s", h->url.origin) : 0;
}

/*
 * Statuses that say that no model has begun. A 500, a gateway that waited in vain (502, 504, 52x),
 * a request that took too long (408) may come after tokens were made, and a prompt that a filter
 * refused is charged for by some.
 */
static bool turned_away(const struct kl_http_reply *r)
{
	static const char filter[] = "content_filter";

	if (r->status == 400)
		return !memmem(r->body.ptr, r->body.len, filter, sizeof(filter) - 1);
	return (r->status >= 300 && r->status < 500 && r->status != 408 && r->status != 499) ||
	       r->status == 501 || r->status == 503 || r->status == 529;
}

/* Does a failure say that nothing was bought? */
static bool cost_nothing(const struct kl_http_reply *r)
{
	return r->status ? turned_away(r) : !r->sent;
}

/* Is it worth another attempt? */
static bool may_pass(const struct kl_http_reply *r, int err)
{
	if (err == KL_EINTR)
		return false;
	return r->status ? kl_retry_status(r->status) : r->transient;
}

/* Where this attempt may have cost money the next is made only if the watcher pays once more. */
static bool paid_for(const struct attempt *a)
{
	return cost_nothing(&a->reply) ||
	       (a->watch && a->watch->again && !a->watch->again(a->watch->payload));
}

static int pause_for(int64_t ms, const struct kl_provider_watch *watch)
{
	int64_t end = kl_clock_ns() + ms * 1000000;

	if (watch && watch->waiting)
		watch->waiting(ms, kl_error_last(), watch->payload);
	while (kl_clock_ns() < end) {
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		kl_clock_sleep_ms(NAP_MS < ms ? NAP_MS : ms);
	}
	return 0;
}

/* 1: another attempt; else the error to end with. */
static int after_failure(const struct attempt *a, struct kl_provider *p, unsigned number, int err)
{
	struct http_state *h = p->state;
	const struct kl_http_reply *r = &a->reply;
	int64_t ms;

	kl_secret_scrub_error(h->key, err);
	if (!may_pass(r, err))
		return err;
	if (number == KL_RETRY_ATTEMPTS)
		return kl_error_in(err, "given up after %u attempts", number);
	ms = kl_retry_delay(number, r->retry_after_ms, r->retry_after, time(NULL), p->timeout_ms,
			    &h->rng);
	if (ms < 0)
		return kl_error_in(err, "the server asks for a longer pause than %d s",
				   (int)(KL_RETRY_MAX_MS / 1000));
	if (pause_for(ms, a->watch) < 0)
		return KL_EINTR;
	/* not before the pause: what is reserved stands, and the pause may be the end */
	return paid_for(a) ? 1 : err;
}

/* --- sending ------------------------------------------------------------ */

static int need_key(struct kl_provider *p)
{
	struct http_state *h = p->state;
	int err;

	if (!h->asked && (h->url.tls || h->url.loopback)) {
		err = kl_secret_find(&h->key, p->repo, h->kind->key_prefix, h->kind->key_variable,
				     h->url.tls ? h->url.base : NULL);
		if (err < 0)
			return err;
	}
	h->asked = true;
	if (h->key || !kl_provider_http_is_default(p))
		return 0;
	kl_error(KL_EINVALID, "no key for %s", h->url.origin);
	kl_error_hint(KL_EINVALID, "set %s, or KLINEAGE_CHAT_KEY", h->kind->key_variable);
	return kl_error_hint(KL_EINVALID,
			     "or give it to a credential helper: git credential approve");
}

static void scrub_key(char **text, const struct kl_secret *key)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	if (!*text || !key)
		return;
	kl_buf_adds(&b, *text);
	kl_secret_scrub(key, &b);
	free(*text);
	*text = kl_buf_detach(&b);
}

/* What the attempt brought, even where it failed. */
static void take_reply(struct kl_reply *out, struct attempt *a, const struct kl_secret *key)
{
	out->text = kl_buf_detach(&a->s.text);
	out->request_id = kl_steal(&a->reply.request_id);
	scrub_key(&out->text, key);
	scrub_key(&out->model, key);
	scrub_key(&out->request_id, key);
}

int kl_provider_http_send(struct kl_reply *out, struct kl_provider *p,
			  const struct kl_provider_request *q, const struct kl_request_context *x,
			  const struct kl_provider_watch *watch)
{
	struct http_state *h = p->state;
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	size_t prefix = 0;
	int err;

	if ((err = need_key(p)) < 0) {
		out->usage.known = true;
		return err;
	}
	p->ops->body(&body, &prefix, p, q, x);
	for (unsigned number = 1;; number++) {
		KL_AUTO(attempt_release) struct attempt a = {
			.watch = watch,
			.reply = KL_HTTP_REPLY_INIT,
		};

		kl_stream_begin(&a.s, h->kind->event, q, out, h->key);
		err = try_once(&a, p, &body);
		if (err < 0)
			err = after_failure(&a, p, number, err);
		if (err == 1)
			continue;
		if (err < 0 && cost_nothing(&a.reply))
			out->usage.known = true;
		take_reply(out, &a, h->key);
		return err;
	}
}
