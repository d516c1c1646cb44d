/* SPDX-License-Identifier: Apache-2.0 */
/* messages - the protocol "Messages" of Anthropic */
#include <string.h>

#include "base/error.h"
#include "model/provider/body.h"
#include "model/provider/protocol.h"
#include "model/provider/reply.h"

/*
 * Marks tell the server which prefix of a request to cache. The last message has a mark, unless the
 * conversation ends with it, so the mark moves with each turn. Since a mark is written after the
 * text of its part, the next request begins with the same bytes up to the end of this text.
 */
static void add_system(struct kl_buf *out, const struct kl_provider_request *request, bool marks)
{
	const char *sep = "\"system\":[";
	bool any = false;

	for (size_t i = 0; i < request->nsystem; i++) {
		if (!*request->system[i])
			continue;
		kl_buf_adds(out, sep);
		kl_protocol_add_part(out, request->system[i],
				     marks ? kl_protocol_system_mark(request, i) : KL_CACHE_NONE);
		sep = ",";
		any = true;
	}
	if (any)
		kl_buf_adds(out, "],");
}

static void add_message(struct kl_buf *out, size_t *prefix,
			const struct kl_provider_request *request, size_t i, bool mark)
{
	kl_buf_adds(out, i ? ",{" : "{");
	kl_body_member(out, "role", request->message[i].assistant ? "assistant" : "user");
	kl_buf_adds(out, ",\"content\":[{\"type\":\"text\",");
	kl_body_member(out, "text", request->message[i].text);
	if (mark) {
		*prefix = out->len;
		kl_protocol_add_mark(out, request->cache);
	}
	kl_buf_adds(out, "}]}");
}

static void messages_body(struct kl_buf *out, size_t *prefix, const struct kl_service *service,
			  const struct kl_provider_request *request)
{
	bool marks = kl_protocol_marks(service, request);

	kl_protocol_add_begin(out, service, request);
	add_system(out, request, marks);
	kl_buf_adds(out, "\"messages\":[");
	for (size_t i = 0; i < request->nmessage; i++)
		add_message(out, prefix, request, i,
			    marks && !request->ends && i + 1 == request->nmessage);
	kl_buf_addch(out, ']');
	kl_protocol_add_end(out, service, request);
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
	kl_reply_set(&stream->out->model, model);
	kl_reply_set(&stream->out->request_id, kl_json_str_or(message, "id", NULL));
	kl_stream_usage(stream, json_object_get(message, "usage"), message);
	/*
	 * the output count of the first event does not cover the reply: use only the counts of
	 * later events
	 */
	stream->counts.output = -1;
	return 0;
}

static int message_delta(struct kl_stream *stream, const json_t *event)
{
	const char *reason = kl_json_str_or(json_object_get(event, "delta"), "stop_reason", NULL);
	const json_t *usage = json_object_get(event, "usage");

	if (reason) {
		stream->out->stop = stop_of(reason);
		stream->stopped = true;
		if (!strcmp(reason, "tool_use"))
			kl_stream_flaw(stream, KL_FLAW_TOOL);
	}
	stream->counts.final |= json_is_object(usage) && json_object_get(usage, "output_tokens");
	kl_stream_usage(stream, usage, event);
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
		return 0; /* thinking, or a type that is not known yet */
	}
	if (!json_is_string(text))
		return kl_error(KL_EINVALID, "JSON: 'text' is not a string");
	return kl_stream_add(stream, text);
}

static int messages_event(struct kl_stream *stream, const char *data, const json_t *event)
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
		return kl_error(KL_EINVALID, "the event is not preceded by message_start");
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

const struct kl_protocol kl_protocol_messages = { messages_body, messages_event };
