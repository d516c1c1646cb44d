/* SPDX-License-Identifier: Apache-2.0 */
/* anthropic - the provider for the Anthropic Messages API */
#include <string.h>

#include "base/error.h"
#include "model/provider/body.h"
#include "model/provider/http_shared.h"

/*
 * The stable prefix is marked for caching. A request can have four marks: three go to system blocks
 * (the first and the last two), one to the last message, so it moves with each turn. A mark is
 * written after the text of its block, so the next request begins with the same bytes up to the end
 * of that text.
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
 * Counts are cumulative, and a later event can omit some. Tokens written to the cache are reported
 * as a total and usually also by lifetime; the remainder is counted for the lifetime that we
 * requested.
 */
static void read_usage(struct kl_stream *stream, const json_t *obj, bool final)
{
	struct kl_usage *usage = &stream->out->usage;
	const json_t *by = json_object_get(obj, "cache_creation");
	int64_t total = usage->cache_write_5m + usage->cache_write_1h, rest;
	bool ok = json_is_object(obj);

	ok = ok && kl_stream_count(&usage->input, obj, "input_tokens");
	ok = ok && kl_stream_count(&usage->output, obj, "output_tokens");
	ok = ok && kl_stream_count(&usage->cache_read, obj, "cache_read_input_tokens");
	ok = ok && kl_stream_count(&usage->cache_write_5m, by, "ephemeral_5m_input_tokens");
	ok = ok && kl_stream_count(&usage->cache_write_1h, by, "ephemeral_1h_input_tokens");
	ok = ok && kl_stream_count(&total, obj, "cache_creation_input_tokens");
	rest = total - usage->cache_write_5m - usage->cache_write_1h;
	if (rest > 0 && stream->q->cache == KL_CACHE_1H)
		usage->cache_write_1h += rest;
	else if (rest > 0)
		usage->cache_write_5m += rest;
	usage->known = ok && final && json_is_integer(json_object_get(obj, "output_tokens"));
}

static enum kl_stop stop_of(const char *reason)
{
	if (!strcmp(reason, "end_turn") || !strcmp(reason, "stop_sequence"))
		return KL_STOP_END;
	if (!strcmp(reason, "max_tokens") || !strcmp(reason, "model_context_window_exceeded"))
		return KL_STOP_LENGTH;
	return !strcmp(reason, "refusal") ? KL_STOP_REFUSAL : KL_STOP_OTHER;
}

static int message_start(struct kl_stream *stream, const json_t *event)
{
	const json_t *message = json_object_get(event, "message");
	const char *model = kl_json_str_or(message, "model", NULL);

	if (stream->begun) {
		kl_stream_flaw(stream, KL_FLAW_CHOICES);
		return 0;
	}
	stream->begun = true;
	stream->out->model = model ? kl_strdup(model) : NULL;
	read_usage(stream, json_object_get(message, "usage"), false);
	return 0;
}

static int message_delta(struct kl_stream *stream, const json_t *event)
{
	const char *reason = kl_json_str_or(json_object_get(event, "delta"), "stop_reason", NULL);

	if (reason) {
		stream->out->stop = stop_of(reason);
		stream->stopped = true;
		if (!strcmp(reason, "tool_use"))
			kl_stream_flaw(stream, KL_FLAW_TOOL);
	}
	if (json_object_get(event, "usage"))
		read_usage(stream, json_object_get(event, "usage"), true);
	return 0;
}

static int block_start(struct kl_stream *stream, const json_t *event)
{
	const json_t *block = json_object_get(event, "content_block");
	const char *type = kl_json_str_or(block, "type", "text");

	if (strstr(type, "tool_use"))
		kl_stream_flaw(stream, KL_FLAW_TOOL);
	return strcmp(type, "text") ? 0 : kl_stream_add(stream, json_object_get(block, "text"));
}

static int block_delta(struct kl_stream *stream, const json_t *event)
{
	const json_t *delta = json_object_get(event, "delta");
	const json_t *text = json_object_get(delta, "text");

	if (strcmp(kl_json_str_or(delta, "type", ""), "text_delta")) {
		kl_stream_hide(stream, json_object_get(delta, "thinking"));
		return 0; /* thinking, and any future type */
	}
	if (!json_is_string(text))
		return kl_error(KL_EINVALID, "JSON: 'text' is not a string");
	return kl_stream_add(stream, text);
}

int kl_anthropic_event(struct kl_stream *stream, const char *data, const json_t *event)
{
	const char *type = kl_json_str_or(event, "type", "");

	if (!*type)
		return kl_error(KL_EINVALID, "no 'type'");
	if (!strcmp(type, "error"))
		return kl_stream_error(stream, event);
	if (!strcmp(type, "message_start"))
		return message_start(stream, event);
	if (!strcmp(type, "ping"))
		return 0;
	if (!stream->begun)
		return kl_error(KL_EINVALID, "not preceded by message_start");
	if (!strcmp(type, "content_block_start"))
		return block_start(stream, event);
	if (!strcmp(type, "content_block_delta"))
		return block_delta(stream, event);
	if (!strcmp(type, "message_delta"))
		return message_delta(stream, event);
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
