/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/stream.h"

#include <string.h>

#include "base/error.h"
#include "model/provider/ops.h"
#include "model/provider/reply.h"

#define MAX_WORDS 500 /* of a server, in our message */

static int read_event(struct kl_stream *s, const char *data, size_t len)
{
	KL_AUTO(json_decrefp) json_t *j = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf start = KL_BUF_INIT;
	int err = kl_json_parse(&j, data, len);

	/* not the parser's words: they quote what they stumble over, cut where they like */
	if (err < 0 && *data == '{') {
		kl_secret_quote(&start, s->key, data, len, 80);
		return kl_error(KL_EINVALID, "it is no JSON: %s", start.ptr);
	}
	if (err < 0)
		kl_error_clear();
	return s->event(s, data, json_is_object(j) ? j : NULL);
}

static int on_event(const char *type, const char *data, size_t len, void *payload)
{
	struct kl_stream *s = payload;
	int err;

	if (s->ended)
		return 0;
	s->events++;
	err = read_event(s, data, len);
	s->broken = err < 0;
	return err < 0 ? kl_error_in(err, "event %zu", s->events) : 0;
}

void kl_stream_begin(struct kl_stream *s, kl_stream_event_fn *event,
		     const struct kl_provider_request *q, struct kl_reply *out,
		     const struct kl_secret *key)
{
	*s = (struct kl_stream){
		.q = q,
		.key = key,
		.out = out,
		.text = KL_BUF_INIT,
		.event = event,
		.sse = KL_SSE_INIT(on_event, s),
	};
}

int kl_stream_feed(struct kl_stream *s, const char *p, size_t n)
{
	return kl_sse_feed(&s->sse, p, n);
}

int kl_stream_check(const struct kl_stream *s)
{
	if (s->stopped || s->ended)
		return 0;
	if (!s->events && !kl_sse_pending(&s->sse))
		return kl_error(KL_EINVALID, "the reply is empty");
	return kl_error(KL_EINVALID, "the reply is cut off after %zu events", s->events);
}

void kl_stream_release(struct kl_stream *s)
{
	kl_buf_release(&s->text);
	kl_sse_release(&s->sse);
}

int kl_stream_add(struct kl_stream *s, const char *text)
{
	size_t n = strlen(text);

	if (s->text.len + n > KL_PROVIDER_MAX_TEXT)
		return kl_error(KL_EINVALID, "a reply of more than %zu MiB",
				KL_PROVIDER_MAX_TEXT >> 20);
	kl_buf_add(&s->text, text, n);
	return 0;
}

bool kl_stream_count(int64_t *out, const json_t *obj, const char *key)
{
	const json_t *v = json_object_get(obj, key);

	if (!v || json_is_null(v) || !kl_reply_tokens(out, obj, key))
		return true;
	kl_error_clear();
	return false;
}

const char *kl_stream_words(const json_t *j)
{
	const json_t *e = json_object_get(j, "error");

	if (json_is_string(e))
		return json_string_value(e);
	if (json_is_object(e))
		return kl_json_str_or(e, "message", kl_json_str_or(e, "type", NULL));
	return kl_json_str_or(j, "message", kl_json_str_or(j, "detail", NULL));
}

int kl_stream_error(const struct kl_stream *s, const json_t *j)
{
	KL_AUTO(kl_buf_release) struct kl_buf said = KL_BUF_INIT;
	const char *words = kl_stream_words(j);

	if (words)
		kl_secret_quote(&said, s->key, words, strlen(words), MAX_WORDS);
	return kl_error(KL_EIO, "the server broke off: %s",
			said.len ? said.ptr : "it does not say why");
}
