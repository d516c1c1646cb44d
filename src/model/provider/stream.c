/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/stream.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "model/provider/http_status.h"
#include "model/provider/ops.h"
#include "model/provider/reply.h"

static int read_event(struct kl_stream *stream, const char *data, size_t len)
{
	KL_AUTO(json_decrefp) json_t *value = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf start = KL_BUF_INIT;
	int err = kl_json_parse_lenient(&value, data, len);

	/* do not use the parser's message: it quotes input, possibly a part of the key */
	if (err < 0 && *data == '{') {
		kl_secret_quote(&start, stream->key, data, len, 80);
		return kl_error(KL_EINVALID, "not JSON: %s", start.ptr);
	}
	if (err < 0)
		kl_error_clear();
	return stream->event(stream, data, json_is_object(value) ? value : NULL);
}

static int on_event(const char *type, const char *data, size_t len, void *payload)
{
	struct kl_stream *stream = payload;
	int err;

	if (stream->ended)
		return 0;
	stream->events++;
	err = read_event(stream, data, len);
	stream->broken = err < 0;
	return err < 0 ? kl_error_in(err, "event %zu", stream->events) : 0;
}

void kl_stream_begin(struct kl_stream *stream, kl_stream_event_fn *event,
		     const struct kl_dialect *dialect, const struct kl_provider_request *request,
		     struct kl_reply *out, const struct kl_secret *key)
{
	*stream = (struct kl_stream){
		.q = request,
		.key = key,
		.out = out,
		.text = KL_BUF_INIT,
		.dialect = dialect,
		.counts = KL_COUNTS_INIT,
		.start_ns = kl_clock_ns(),
		.event = event,
		.sse = KL_SSE_INIT(on_event, stream),
	};
}

int kl_stream_feed(struct kl_stream *stream, const char *at, size_t n)
{
	return kl_sse_feed(&stream->sse, at, n);
}

int kl_stream_check(const struct kl_stream *stream)
{
	if (stream->stopped || stream->ended)
		return 0;
	if (!stream->events && !kl_sse_pending(&stream->sse))
		return kl_error(KL_EINVALID, "the reply is empty");
	return kl_error(KL_EINVALID, "the reply is truncated after %zu events", stream->events);
}

void kl_stream_release(struct kl_stream *stream)
{
	kl_buf_release(&stream->text);
	kl_counts_release(&stream->counts);
	kl_sse_release(&stream->sse);
}

/* Append a text, with U+FFFD in place of each NUL character. */
static void add_printable(struct kl_buf *out, const char *text, size_t n)
{
	const char *end = text + n, *nul;

	while ((nul = memchr(text, '\0', (size_t)(end - text)))) {
		kl_buf_add(out, text, (size_t)(nul - text));
		kl_buf_adds(out, "\xef\xbf\xbd");
		text = nul + 1;
	}
	kl_buf_add(out, text, (size_t)(end - text));
}

int kl_stream_add(struct kl_stream *stream, const json_t *text)
{
	size_t n = json_is_string(text) ? json_string_length(text) : 0;

	if (stream->text.len + n > KL_PROVIDER_MAX_TEXT)
		return kl_error(KL_EINVALID, "the reply is larger than %zu MiB",
				KL_PROVIDER_MAX_TEXT >> 20);
	if (!n)
		return 0;
	if (memchr(json_string_value(text), '\0', n))
		kl_stream_flaw(stream, KL_FLAW_NUL);
	if (!stream->text_ns)
		stream->text_ns = kl_clock_ns();
	add_printable(&stream->text, json_string_value(text), n);
	return 0;
}

void kl_stream_hide(struct kl_stream *stream, const json_t *text)
{
	if (json_is_string(text))
		stream->hidden += (int64_t)json_string_length(text);
}

void kl_stream_flaw(struct kl_stream *stream, enum kl_flaw flaw)
{
	if (stream->flaw == KL_FLAW_NONE)
		stream->flaw = flaw;
}

void kl_stream_usage(struct kl_stream *stream, const json_t *usage, const json_t *around)
{
	if (!json_is_object(usage))
		return;
	kl_counts_read(&stream->counts, stream->dialect, usage, around);
	kl_counts_into(stream->out, &stream->counts, stream->dialect, stream->q->cache);
}

const char *kl_stream_words(const json_t *value)
{
	const json_t *error = json_object_get(value, "error");

	if (json_is_string(error))
		return json_string_value(error);
	if (json_is_object(error))
		return kl_json_str_or(error, "message", kl_json_str_or(error, "type", NULL));
	return kl_json_str_or(value, "message", kl_json_str_or(value, "detail", NULL));
}

/* Return true if the type or the code of an error is one of the words, which end with NULL. */
static bool is_called(const json_t *error, const char *const *words)
{
	const char *type = kl_json_str_or(error, "type", "");
	const char *code = kl_json_str_or(error, "code", "");

	for (; *words; words++)
		if (!strcmp(type, *words) || !strcmp(code, *words))
			return true;
	return false;
}

bool kl_stream_is_final(const json_t *error)
{
	static const char *const final[] = {
		"invalid_request_error", "authentication_error",
		"permission_error",      "not_found_error",
		"request_too_large",     "billing_error",
		"insufficient_quota",    "context_length_exceeded",
		"invalid_prompt",        NULL,
	};
	int64_t status = kl_json_int_or(error, "code", 0);

	return is_called(error, final) ||
	       (status >= 400 && status < 500 && !kl_http_status_is_transient((long)status));
}

/*
 * Return true if the server's error says that no model has run, as an overload or a wrong key does.
 */
static bool is_idle(const json_t *error)
{
	static const char *const names[] = {
		"overloaded_error",
		"rate_limit_error",
		"authentication_error",
		"permission_error",
		"not_found_error",
		"request_too_large",
		"billing_error",
		"insufficient_quota",
		"context_length_exceeded",
		"rate_limit_exceeded",
		NULL,
	};
	int64_t status = kl_json_int_or(error, "code", 0);

	return is_called(error, names) || (status > 400 && kl_http_status_is_free((long)status));
}

int kl_stream_error(struct kl_stream *stream, const json_t *value)
{
	KL_AUTO(kl_buf_release) struct kl_buf said = KL_BUF_INIT;
	const char *words = kl_stream_words(value);
	const json_t *error = json_object_get(value, "error");

	stream->refused = kl_stream_is_final(error ? error : value);
	stream->idle = stream->events == 1 && is_idle(error ? error : value);
	if (words)
		kl_secret_quote(&said, stream->key, words, strlen(words), KL_STREAM_MAX_WORDS);
	return kl_error(KL_EIO, "the server reported an error: %s",
			said.len ? said.ptr : "no reason given");
}
