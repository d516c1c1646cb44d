/* SPDX-License-Identifier: Apache-2.0 */
/* service_send - sends requests to services over HTTP, and explains their failures */

#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "model/provider/body.h"
#include "model/provider/http.h"
#include "model/provider/http_status.h"
#include "model/provider/ops.h"
#include "model/provider/protocol.h"
#include "model/provider/reply.h"
#include "model/provider/retry.h"

/* limit of the total time of a request, as a multiple of the limit of the time without a byte */
#define TOTAL 6

struct http_state {
	struct kl_service service;
	const struct kl_protocol *protocol;
	struct kl_url url;
	char **header; /* NULL-terminated */
	struct kl_secret *key;
	bool asked; /* the key was looked up, so if `key` is NULL, there is none */
	bool found; /* a key was found before, so its source works */
	bool insecure;
};

struct attempt {
	const struct kl_provider_watch *watch;
	struct kl_stream s;
	struct kl_http_reply reply;
};

static void attempt_release(struct attempt *attempt)
{
	kl_stream_release(&attempt->s);
	kl_http_reply_release(&attempt->reply);
}

/* --- opening -------------------------------------------------------------- */

static void make_headers(struct http_state *state)
{
	const struct kl_texts *texts = &state->service.headers;

	state->header = kl_calloc(texts->n + 1, sizeof(*state->header));
	for (size_t i = 0; i < texts->n; i++)
		state->header[i] = kl_asprintf("%s: %s", texts->v[i].name, texts->v[i].text);
}

static int service_open(struct kl_provider *provider)
{
	struct http_state *state = kl_calloc(1, sizeof(*state));
	int err = 0;

	provider->state = state;
	if ((err = kl_service_open(&state->service, provider->repo, provider->name,
				   provider->url)) < 0)
		return err;
	state->protocol = kl_protocol_of(&state->service);
	make_headers(state);
	if (provider->repo && (err = kl_repo_config_bool(&state->insecure, provider->repo,
							 "klineage.chat.insecure", false)) < 0)
		return err;
	if (!(err = kl_url_parse(&state->url, state->service.base)))
		err = kl_http_check(&state->url, state->insecure);
	return err < 0 ? kl_error_in(err, "klineage.chat.url") : 0;
}

static void service_close(struct kl_provider *provider)
{
	struct http_state *state = provider->state;

	if (!state)
		return;
	for (size_t i = 0; state->header && state->header[i]; i++)
		free(state->header[i]);
	free(state->header);
	kl_service_release(&state->service);
	kl_url_release(&state->url);
	kl_secret_free(state->key);
	free(state);
}

static void service_body(struct kl_buf *out, size_t *prefix, const struct kl_provider *provider,
			 const struct kl_provider_request *request,
			 const struct kl_request_context *context)
{
	const struct http_state *state = provider->state;

	state->protocol->body(out, prefix, &state->service, request);
}

static int service_target(char **out, const struct kl_provider *provider, const char *model)
{
	const struct http_state *state = provider->state;

	return kl_service_target(out, &state->service, provider->repo, model);
}

/* --- error replies -------------------------------------------------------- */

static void add_words(struct kl_buf *out, const struct kl_buf *body)
{
	KL_AUTO(json_decrefp) json_t *value = NULL;
	const char *words = NULL;

	if (!kl_json_parse(&value, body->ptr, body->len))
		words = kl_stream_words(value);
	else
		kl_error_clear();
	if (words)
		kl_body_quote(out, words, strlen(words), KL_STREAM_MAX_WORDS);
	else
		kl_body_quote(out, body->ptr, body->len, 200);
}

/* Report the message of a server that refused the request, with the key removed. */
static int refuse_reply(const struct http_state *state, struct kl_http_reply *reply)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *id = NULL;
	int err;

	kl_secret_scrub(state->key, &reply->body);
	if (reply->status >= 300 && reply->status < 400)
		return kl_error(KL_EIO,
				"%s redirects (status %ld) to '%s', and redirects are not "
				"followed; if you trust that address, set klineage.chat.url to it",
				state->url.origin, reply->status,
				reply->location ? reply->location : "nowhere");
	add_words(&words, &reply->body);
	id = reply->request_id ? kl_asprintf(" (request %s)", reply->request_id) : kl_strdup("");
	err = kl_error(KL_EIO, "%s: %ld: %s%s", state->url.origin, reply->status,
		       words.len ? words.ptr : "no reason given", id);
	if (reply->status == 401 && state->key)
		kl_error_hint(err, "the key is from %s", kl_secret_source(state->key));
	return err;
}

static int no_stream(const struct http_state *state, struct kl_http_reply *reply)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;

	if (reply->type && !strncasecmp(reply->type, "text/event-stream", 17))
		return kl_error(KL_EINVALID, "%s: the reply is empty", state->url.origin);
	kl_secret_quote(&words, state->key, reply->body.ptr, reply->body.len, 200);
	return kl_error(KL_EINVALID,
			"%s: the reply has status 200, but is not an event stream (%s): %s",
			state->url.origin,
			reply->type && *reply->type ? reply->type : "no content type",
			words.len ? words.ptr : "empty");
}

/* --- an attempt ----------------------------------------------------------- */

static int on_bytes(const char *at, size_t n, void *payload)
{
	struct attempt *attempt = payload;
	int err = kl_stream_feed(&attempt->s, at, n);

	if (err < 0)
		return err;
	err = kl_provider_heard(attempt->watch, (int64_t)attempt->s.text.len,
				&attempt->s.out->usage);
	/*
	 * if the reply is complete, end the transfer without waiting for the server, and ignore an
	 * interrupt
	 */
	return attempt->s.ended ? kl_error(KL_ENO, "end of reply") : err;
}

static int try_once(struct attempt *attempt, struct kl_provider *provider, const char *target,
		    const struct kl_buf *body)
{
	struct http_state *state = provider->state;
	struct kl_http_post post = {
		.repo = provider->repo,
		.url = &state->url,
		.target = target,
		.insecure = state->insecure,
		.key = state->key,
		.header = (const char *const *)state->header,
		.body = body,
		.idle_ms = provider->timeout_ms,
		.total_ms = TOTAL * provider->timeout_ms,
		.data = on_bytes,
		.payload = attempt,
	};
	int err = kl_http_post(&attempt->reply, &post);

	if (err < 0 && attempt->s.stopped && !attempt->s.broken)
		err = 0; /* the text is complete; how the connection ended does not matter */
	if (err < 0)
		return err;
	if (attempt->reply.status != 200)
		return refuse_reply(state, &attempt->reply);
	if (!attempt->reply.begun)
		return no_stream(state, &attempt->reply);
	err = kl_stream_check(&attempt->s);
	return err < 0 ? kl_error_in(err, "%s", state->url.origin) : 0;
}

/* --- a failed attempt ----------------------------------------------------- */

static bool body_says(const struct kl_http_reply *reply, const char *word)
{
	return memmem(reply->body.ptr, reply->body.len, word, strlen(word));
}

/* Return true if no model can have run. Some servers charge for a prompt that a filter refused. */
static bool turned_away(const struct kl_http_reply *reply)
{
	return kl_http_status_is_free(reply->status) &&
	       (reply->status != 400 || !body_says(reply, "content_filter"));
}

/*
 * Return true if the reply is an HTML page in place of an event stream, as from a portal that
 * intercepts the connection.
 */
static bool is_page(const struct kl_http_reply *reply)
{
	return reply->status == 200 && !reply->begun && reply->type &&
	       !strncasecmp(reply->type, "text/html", 9);
}

/* Return true if it is certain that a failed attempt cost nothing. */
static bool cost_nothing(const struct attempt *attempt)
{
	const struct kl_http_reply *reply = &attempt->reply;

	return reply->status ? turned_away(reply) || is_page(reply) || attempt->s.idle :
			       !reply->sent;
}

/*
 * Return true if another attempt can succeed after a status 200 without any event. An attempt can
 * succeed after an empty event stream, after an HTML page, which comes from a portal, and after an
 * error that can be temporary. Any other document comes from a server that does not stream.
 */
static bool may_begin(const struct kl_http_reply *reply)
{
	KL_AUTO(json_decrefp) json_t *value = NULL;
	const json_t *error;

	if (is_page(reply) || (reply->type && !strncasecmp(reply->type, "text/event-stream", 17)))
		return true;
	value = json_loadb(reply->body.ptr, reply->body.len, JSON_ALLOW_NUL, NULL);
	error = json_object_get(value, "error");
	return error && !json_is_null(error) && !kl_stream_is_final(error);
}

/*
 * Return true if the same request can succeed later. It cannot succeed, for example, if the account
 * has no money left.
 */
static bool is_transient(const struct attempt *attempt, int err)
{
	const struct kl_http_reply *reply = &attempt->reply;

	if (err == KL_EINTR || attempt->s.refused)
		return false;
	if (reply->status && reply->status != 200)
		return kl_http_status_is_transient(reply->status) &&
		       !body_says(reply, "insufficient_quota");
	return reply->begun || reply->transient || err == KL_ETIMEOUT ||
	       (reply->status == 200 && may_begin(reply));
}

static void note_failure(struct kl_reply *out, const struct attempt *attempt, int err)
{
	const struct kl_http_reply *reply = &attempt->reply;
	const struct kl_stream *stream = &attempt->s;

	int64_t until = stream->text_ns ? stream->text_ns : kl_clock_ns();

	out->failure = (struct kl_send_failure){
		.transient = is_transient(attempt, err),
		.after_ms = kl_retry_wish(reply->retry_after_ms, reply->retry_after, time(NULL)),
		.begun = stream->events > 0,
		.bytes = (int64_t)stream->text.len + stream->hidden,
		.wait_ms = (until - stream->start_ns) / 1000000,
	};
	out->usage.known = cost_nothing(attempt);
	if (out->usage.known)
		out->usage = (struct kl_usage){ .known = true };
}

/* --- sending ------------------------------------------------------------ */

static void drop_key(struct http_state *state)
{
	kl_secret_free(kl_steal(&state->key));
	state->asked = false;
}

static int need_key(struct kl_provider *provider)
{
	struct http_state *state = provider->state;
	const struct kl_service *service = &state->service;
	const char *prefix = kl_service_key_prefix(service);
	int err;

	/* no key is sent to another machine without TLS (http.h) */
	if (!prefix || !(state->url.tls || state->url.loopback))
		return 0;
	if (kl_secret_is_stale(state->key))
		drop_key(state);
	if (!state->asked) {
		struct kl_secret_from from = {
			.prefix = prefix,
			.command = service->key_command,
			.setting = service->key_setting,
			.vendor = service->key,
			.url = state->url.tls ? state->url.base : NULL,
		};

		if ((err = kl_secret_find(&state->key, provider->repo, &from)) < 0)
			return err;
	}
	state->asked = true;
	state->found |= state->key != NULL;
	if (state->key || !service->key || service->elsewhere)
		return 0;
	kl_error(KL_EINVALID, "no key for %s", state->url.origin);
	kl_error_hint(KL_EINVALID, "set %s, or KLINEAGE_CHAT_KEY", service->key);
	return kl_error_hint(KL_EINVALID,
			     "or store it in a credential helper with 'git credential approve'");
}

static void scrub_key(char **text, const struct kl_secret *key)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	if (!*text || !key)
		return;
	kl_buf_adds(&buf, *text);
	kl_secret_scrub(key, &buf);
	free(*text);
	*text = kl_buf_detach(&buf);
}

/* Move the received data into `out`, also after a failed attempt, with the key removed. */
static void take_reply(struct kl_reply *out, struct attempt *attempt, const struct kl_secret *key)
{
	out->text = kl_buf_detach(&attempt->s.text);
	if (attempt->reply.request_id)
		kl_reply_set(&out->request_id, attempt->reply.request_id);
	scrub_key(&out->text, key);
	scrub_key(&out->model, key);
	scrub_key(&out->request_id, key);
}

/* Check that the service takes each option that is set, so that none is dropped silently. */
static int check_options(const struct kl_service *service,
			 const struct kl_provider_request *request)
{
	const char *word;
	int err;

	if (request->effort && (err = kl_service_effort(&word, service, request->effort)) < 0)
		return err;
	if (request->tier && !service->tier)
		return kl_error(KL_EINVALID,
				"config klineage.chat.tier: the provider '%s' has no setting for "
				"it; use klineage.chat.extra",
				service->name);
	if (json_object_get(request->extra, service->tokens))
		return kl_error(
			KL_EINVALID,
			"config klineage.chat.extra: '%s' is set by klineage.chat.maxTokens",
			service->tokens);
	return 0;
}

static int send_once(struct kl_reply *out, long *status, struct kl_provider *provider,
		     const struct kl_provider_request *request, const char *target,
		     const struct kl_provider_watch *watch)
{
	struct http_state *state = provider->state;
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	KL_AUTO(attempt_release) struct attempt attempt = {
		.watch = watch,
		.reply = KL_HTTP_REPLY_INIT,
	};
	size_t prefix = 0;
	int err;

	service_body(&body, &prefix, provider, request, NULL);
	kl_stream_begin(&attempt.s, state->protocol->event, &state->service.dialect, request, out,
			state->key);
	err = try_once(&attempt, provider, target, &body);
	if (err < 0) {
		kl_secret_scrub_error(state->key, err);
		note_failure(out, &attempt, err);
	}
	*status = attempt.reply.status;
	out->flaw = attempt.s.flaw;
	take_reply(out, &attempt, state->key);
	return err;
}

/*
 * Make sure that there is a key. If the source has given a key before, a failure can be temporary,
 * because the command that renews a token needs the network, too.
 */
static int renew_key(struct kl_reply *out, struct kl_provider *provider)
{
	const struct http_state *state = provider->state;
	int err = need_key(provider);

	if (err < 0)
		out->failure.transient = state->found && err != KL_EINTR;
	return err;
}

/*
 * Send a request. If the server refuses the key, ask the source of the key once for a new key,
 * since tokens expire.
 */
static int service_send(struct kl_reply *out, struct kl_provider *provider,
			const struct kl_provider_request *request,
			const struct kl_request_context *context,
			const struct kl_provider_watch *watch)
{
	struct http_state *state = provider->state;
	KL_AUTO(kl_freep) char *target = NULL;
	int err = check_options(&state->service, request);

	if (!err)
		err = service_target(&target, provider, request->model);
	for (bool again = false;; again = true) {
		long status = 0;

		if (err < 0 || (err = renew_key(out, provider)) < 0) {
			out->usage.known = true;
			return err;
		}
		err = send_once(out, &status, provider, request, target, watch);
		if (err >= 0 || again || status != 401 || !kl_secret_is_renewable(state->key))
			return err;
		drop_key(state);
		kl_reply_release(out);
		*out = (struct kl_reply){ .failure.after_ms = -1, .stated_nano = -1 };
		err = 0;
	}
}

const struct kl_provider_ops kl_provider_service = {
	.name = "service",
	.metered = true,
	.blind = true,
	.open = service_open,
	.close = service_close,
	.body = service_body,
	.target = service_target,
	.send = service_send,
};
