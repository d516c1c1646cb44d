/* SPDX-License-Identifier: Apache-2.0 */
/* anthropic - provider of the Anthropic Messages API */
#include <string.h>

#include "base/error.h"
#include "model/provider/body.h"
#include "model/provider/http_shared.h"

/*
 * anthropic - the Messages API. The prefix that does not change is marked for its cache:
 * the system blocks (the first and the last two, of the four marks a request may have), and
 * the last message, whose mark moves on at each turn. A mark follows the text it ends, so that
 * all up to there are the bytes the next request begins with.
 */
static const char *const header[] = { "anthropic-version: 2023-06-01", NULL };

static const char *ttl_of(enum kl_cache_ttl cache)
{
	return cache == KL_CACHE_1H ? "1h" : "5m";
}

static void add_block(struct kl_buf *out, const char *text, const char *ttl)
{
	kl_buf_adds(out, "{\"type\":\"text\",");
	kl_body_member(out, "text", text);
	if (ttl)
		kl_buf_addf(out, ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"%s\"}", ttl);
	kl_buf_addch(out, '}');
}

static void add_system(struct kl_buf *out, const struct kl_provider_request *request,
		       const char *ttl)
{
	const char *sep = "";
	size_t n = 0, at = 0;

	for (size_t i = 0; i < request->nsystem; i++)
		n += *request->system[i] != '\0';
	if (!n)
		return;
	kl_buf_adds(out, ",\"system\":[");
	for (size_t i = 0; i < request->nsystem; i++) {
		if (!*request->system[i])
			continue;
		kl_buf_adds(out, sep);
		add_block(out, request->system[i], at == 0 || at + 2 >= n ? ttl : NULL);
		sep = ",";
		at++;
	}
	kl_buf_addch(out, ']');
}

static void anthropic_body(struct kl_buf *out, size_t *prefix, const struct kl_provider *provider,
			   const struct kl_provider_request *request,
			   const struct kl_request_context *context)
{
	const char *ttl = request->cache == KL_CACHE_NONE ? NULL : ttl_of(request->cache);

	kl_buf_addch(out, '{');
	kl_body_member(out, "model", request->model);
	add_system(out, request, ttl);
	kl_buf_adds(out, ",\"messages\":[");
	for (size_t i = 0; i < request->nmessage; i++) {
		bool last = i + 1 == request->nmessage;

		kl_buf_adds(out, i ? ",{" : "{");
		kl_body_member(out, "role", request->message[i].assistant ? "assistant" : "user");
		kl_buf_adds(out, ",\"content\":[{\"type\":\"text\",");
		kl_body_member(out, "text", request->message[i].text);
		if (last && ttl) {
			*prefix = out->len;
			kl_buf_addf(out,
				    ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"%s\"}",
				    ttl);
		}
		kl_buf_adds(out, "}]}");
	}
	kl_buf_addf(out, "],\"max_tokens\":%lld,\"stream\":true}", (long long)request->max_tokens);
}

/*
 * Counts are cumulative, and a later event may leave some out. What was written to
 * the cache is told in all, and mostly also by lifetime; the rest is of the one we asked for.
 */
static void read_usage(struct kl_stream *stream, const json_t *value, bool final)
{
	struct kl_usage *usage = &stream->out->usage;
	const json_t *by = json_object_get(value, "cache_creation");
	int64_t total = usage->cache_write_5m + usage->cache_write_1h, rest;
	bool ok = json_is_object(value);

	ok = ok && kl_stream_count(&usage->input, value, "input_tokens");
	ok = ok && kl_stream_count(&usage->output, value, "output_tokens");
	ok = ok && kl_stream_count(&usage->cache_read, value, "cache_read_input_tokens");
	ok = ok && kl_stream_count(&usage->cache_write_5m, by, "ephemeral_5m_input_tokens");
	ok = ok && kl_stream_count(&usage->cache_write_1h, by, "ephemeral_1h_input_tokens");
	ok = ok && kl_stream_count(&total, value, "cache_creation_input_tokens");
	rest = total - usage->cache_write_5m - usage->cache_write_1h;
	if (rest > 0 && stream->q->cache == KL_CACHE_1H)
		usage->cache_write_1h += rest;
	else if (rest > 0)
		usage->cache_write_5m += rest;
	usage->known = ok && final && json_is_integer(json_object_get(value, "output_tokens"));
}

static enum kl_stop stop_of(const char *reason)
{
	if (!strcmp(reason, "end_turn") || !strcmp(reason, "stop_sequence"))
		return KL_STOP_END;
	if (!strcmp(reason, "max_tokens") || !strcmp(reason, "model_context_window_exceeded"))
		return KL_STOP_LENGTH;
	return !strcmp(reason, "refusal") ? KL_STOP_REFUSAL : KL_STOP_OTHER;
}

static int message_start(struct kl_stream *stream, const json_t *value)
{
	const json_t *member = json_object_get(value, "message");
	const char *model = kl_json_str_or(member, "model", NULL);

	if (stream->begun)
		return kl_error(KL_EINVALID, "the reply has two answers");
	stream->begun = true;
	stream->out->model = model ? kl_strdup(model) : NULL;
	read_usage(stream, json_object_get(member, "usage"), false);
	return 0;
}

static int message_delta(struct kl_stream *stream, const json_t *value)
{
	const char *reason = kl_json_str_or(json_object_get(value, "delta"), "stop_reason", NULL);

	if (reason) {
		stream->out->stop = stop_of(reason);
		stream->stopped = true;
	}
	if (json_object_get(value, "usage"))
		read_usage(stream, json_object_get(value, "usage"), true);
	return 0;
}

static int block_delta(struct kl_stream *stream, const json_t *value)
{
	const json_t *delta = json_object_get(value, "delta");
	const char *text;
	int err;

	if (strcmp(kl_json_str_or(delta, "type", ""), "text_delta"))
		return 0; /* thinking, and what else there will be */
	if ((err = kl_json_str(&text, delta, "text")) < 0)
		return err;
	return kl_stream_add(stream, text);
}

int kl_anthropic_event(struct kl_stream *stream, const char *data, const json_t *value)
{
	const char *type = kl_json_str_or(value, "type", "");

	if (!*type)
		return kl_error(KL_EINVALID, "it has no type");
	if (!strcmp(type, "error"))
		return kl_stream_error(stream, value);
	if (!strcmp(type, "message_start"))
		return message_start(stream, value);
	if (!strcmp(type, "ping"))
		return 0;
	if (!stream->begun)
		return kl_error(KL_EINVALID, "it comes before message_start");
	if (!strcmp(type, "content_block_start"))
		return kl_stream_add(stream, kl_json_str_or(json_object_get(value, "content_block"),
							    "text", ""));
	if (!strcmp(type, "content_block_delta"))
		return block_delta(stream, value);
	if (!strcmp(type, "message_delta"))
		return message_delta(stream, value);
	if (!strcmp(type, "message_stop"))
		stream->stopped = stream->ended = true;
	return 0;
}

static int anthropic_open(struct kl_provider *provider)
{
	static const struct kl_http_kind kind = {
		.url = "https://api.anthropic.com",
		.path = "/v1/messages",
		.key_variable = "ANTHROPIC_API_KEY",
		.key_prefix = "x-api-key: ",
		.header = header,
		.event = kl_anthropic_event,
	};

	return kl_provider_http_open(provider, &kind);
}

const struct kl_provider_ops kl_provider_anthropic = {
	.name = "anthropic",
	.metered = true,
	.blind = true,
	.open = anthropic_open,
	.close = kl_provider_http_close,
	.body = anthropic_body,
	.send = kl_provider_http_send,
};
