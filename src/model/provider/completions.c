/* SPDX-License-Identifier: Apache-2.0 */
/* completions - the protocol "chat completions" of OpenAI and many others */
#include <string.h>

#include "base/error.h"
#include "model/provider/body.h"
#include "model/provider/protocol.h"
#include "model/provider/reply.h"

/*
 * Most servers recognize a cached prefix by its bytes. If a service needs marks instead, the
 * content of a message is a list of parts, which can have marks.
 */

/* Append the system texts as parts. A part has a mark if its text is marked for the cache. */
static void add_system_parts(struct kl_buf *out, const struct kl_provider_request *request)
{
	const char *sep = "";

	kl_buf_adds(out, "{\"role\":\"system\",\"content\":[");
	for (size_t i = 0; i < request->nsystem; i++) {
		if (!*request->system[i])
			continue;
		kl_buf_adds(out, sep);
		kl_protocol_add_part(out, request->system[i], kl_protocol_system_mark(request, i));
		sep = ",";
	}
	kl_buf_adds(out, "]},");
}

/*
 * Append the system texts as one message, since the chat templates of many models accept a system
 * message only as the first message.
 */
static void add_system(struct kl_buf *out, const struct kl_provider_request *request, bool marks)
{
	KL_AUTO(kl_buf_release) struct kl_buf all = KL_BUF_INIT;

	kl_protocol_join_system(&all, request);
	if (!all.len)
		return;
	if (marks) {
		add_system_parts(out, request);
		return;
	}
	kl_buf_adds(out, "{\"role\":\"system\",");
	kl_body_member(out, "content", all.ptr);
	kl_buf_adds(out, "},");
}

static void add_message(struct kl_buf *out, size_t *prefix, const struct kl_message *message,
			bool parts, enum kl_cache_ttl mark)
{
	kl_body_member(out, "role", message->assistant ? "assistant" : "user");
	kl_buf_addch(out, ',');
	if (!parts) {
		kl_body_member(out, "content", message->text);
		*prefix = out->len;
		return;
	}
	kl_buf_adds(out, "\"content\":[{\"type\":\"text\",");
	kl_body_member(out, "text", message->text);
	*prefix = out->len;
	if (mark != KL_CACHE_NONE)
		kl_protocol_add_mark(out, mark);
	kl_buf_adds(out, "}]");
}

static void completions_body(struct kl_buf *out, size_t *prefix, const struct kl_service *service,
			     const struct kl_provider_request *request)
{
	bool marks = kl_protocol_marks(service, request);

	kl_protocol_add_begin(out, service, request);
	kl_buf_adds(out, "\"messages\":[");
	add_system(out, request, marks);
	for (size_t i = 0; i < request->nmessage; i++) {
		bool mark = i + 1 == request->nmessage && !request->ends;

		kl_buf_adds(out, i ? ",{" : "{");
		add_message(out, prefix, &request->message[i], marks,
			    mark ? request->cache : KL_CACHE_NONE);
		kl_buf_addch(out, '}');
	}
	kl_buf_addch(out, ']');
	kl_protocol_add_end(out, service, request);
}

static enum kl_stop stop_of(const char *reason)
{
	if (!strcmp(reason, "stop"))
		return KL_STOP_END;
	if (!strcmp(reason, "length"))
		return KL_STOP_LENGTH;
	return !strcmp(reason, "content_filter") ? KL_STOP_REFUSAL : KL_STOP_OTHER;
}

/*
 * Count the reasoning. The protocol defines no member for reasoning, but servers use one of these
 * two members.
 */
static void hide_reasoning(struct kl_stream *stream, const json_t *delta)
{
	const json_t *text = json_object_get(delta, "reasoning_content");

	kl_stream_hide(stream, text ? text : json_object_get(delta, "reasoning"));
}

static void note_calls(struct kl_stream *stream, const json_t *delta, const char *reason)
{
	const json_t *call = json_object_get(delta, "function_call");

	if (json_array_size(json_object_get(delta, "tool_calls")) || json_is_object(call) ||
	    !strcmp(reason, "tool_calls") || !strcmp(reason, "function_call"))
		kl_stream_flaw(stream, KL_FLAW_TOOL);
}

static int add_choice(struct kl_stream *stream, const json_t *choice)
{
	const json_t *delta = json_object_get(choice, "delta");
	const char *reason = kl_json_str_or(choice, "finish_reason", NULL);
	const json_t *text = json_object_get(delta, "content");
	const json_t *refusal = json_object_get(delta, "refusal");
	int err;

	if (kl_json_int_or(choice, "index", 0)) {
		kl_stream_flaw(stream, KL_FLAW_CHOICES);
		return 0;
	}
	if (text && !json_is_string(text) && !json_is_null(text))
		return kl_error(KL_EINVALID, "JSON: 'content' is not a string");
	if (json_is_string(refusal) && json_string_length(refusal))
		kl_stream_flaw(stream, KL_FLAW_REFUSAL);
	hide_reasoning(stream, delta);
	note_calls(stream, delta, reason ? reason : "");
	if ((err = kl_stream_add(stream, text)) < 0 || (err = kl_stream_add(stream, refusal)) < 0)
		return err;
	if (reason) {
		stream->out->stop = stop_of(reason);
		stream->stopped = true;
	}
	return 0;
}

static int completions_event(struct kl_stream *stream, const char *data, const json_t *event)
{
	const json_t *choice, *model = json_object_get(event, "model");
	json_t *choices = json_object_get(event, "choices");
	size_t i;
	int err;

	if (!strcmp(data, "[DONE]")) {
		stream->ended = true;
		return stream->stopped ? 0 :
					 kl_error(KL_EINVALID,
						  "the stream ends before the reply is complete");
	}
	if (!event)
		return kl_error(KL_EINVALID, "not a JSON object");
	if (json_object_get(event, "error") && !json_is_null(json_object_get(event, "error")))
		return kl_stream_error(stream, event);
	if (!stream->out->model && json_is_string(model) && json_string_length(model))
		kl_reply_set(&stream->out->model, json_string_value(model));
	if (!stream->out->request_id)
		kl_reply_set(&stream->out->request_id, kl_json_str_or(event, "id", NULL));
	json_array_foreach(choices, i, choice)
		if ((err = add_choice(stream, choice)) < 0)
			return err;
	stream->counts.final |= json_is_object(json_object_get(event, "usage"));
	kl_stream_usage(stream, json_object_get(event, "usage"), event);
	return 0;
}

const struct kl_protocol kl_protocol_completions = { completions_body, completions_event };
