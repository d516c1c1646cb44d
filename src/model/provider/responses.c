/* SPDX-License-Identifier: Apache-2.0 */
/* responses - the protocol "Responses" of OpenAI */
#include <string.h>

#include "base/error.h"
#include "model/provider/body.h"
#include "model/provider/protocol.h"
#include "model/provider/reply.h"

/* Append the system texts, joined, as the member `instructions`. */
static void add_instructions(struct kl_buf *out, const struct kl_provider_request *request)
{
	KL_AUTO(kl_buf_release) struct kl_buf all = KL_BUF_INIT;

	kl_protocol_join_system(&all, request);
	if (!all.len)
		return;
	kl_body_member(out, "instructions", all.ptr);
	kl_buf_addch(out, ',');
}

static void responses_body(struct kl_buf *out, size_t *prefix, const struct kl_service *service,
			   const struct kl_provider_request *request)
{
	kl_protocol_add_begin(out, service, request);
	add_instructions(out, request);
	kl_buf_adds(out, "\"input\":[");
	*prefix = kl_body_messages(out, request, "content");
	kl_buf_addch(out, ']');
	kl_protocol_add_end(out, service, request);
}

/*
 * --- events ------------------------------------------------------------------------------
 */

static int add_delta(struct kl_stream *stream, const json_t *event)
{
	const json_t *text = json_object_get(event, "delta");

	if (!json_is_string(text))
		return kl_error(KL_EINVALID, "JSON: 'delta' is not a string");
	return kl_stream_add(stream, text);
}

static void note_item(struct kl_stream *stream, const json_t *item)
{
	const char *type = kl_json_str_or(item, "type", "message");

	if (strstr(type, "_call"))
		kl_stream_flaw(stream, KL_FLAW_TOOL);
}

/* Read the last event, which has the response as a whole. */
static int end_response(struct kl_stream *stream, const json_t *response, const char *status)
{
	const json_t *usage = json_object_get(response, "usage");
	const char *why = kl_json_str_or(json_object_get(response, "incomplete_details"), "reason",
					 "");

	stream->counts.final |= json_is_object(usage);
	kl_stream_usage(stream, usage, response);
	stream->out->stop = !strcmp(status, "completed")      ? KL_STOP_END :
			    !strcmp(why, "max_output_tokens") ? KL_STOP_LENGTH :
			    !strcmp(why, "content_filter")    ? KL_STOP_REFUSAL :
								KL_STOP_OTHER;
	stream->stopped = stream->ended = true;
	return 0;
}

static void begin_response(struct kl_stream *stream, const json_t *response)
{
	if (stream->begun)
		return;
	stream->begun = true;
	kl_reply_set(&stream->out->model, kl_json_str_or(response, "model", NULL));
	kl_reply_set(&stream->out->request_id, kl_json_str_or(response, "id", NULL));
}

static int responses_event(struct kl_stream *stream, const char *data, const json_t *event)
{
	const char *type = kl_json_str_or(event, "type", "");
	const json_t *response = json_object_get(event, "response");

	if (!strcmp(data, "[DONE]")) /* some gateways end every stream with this text */
		return stream->stopped ? 0 : kl_error(KL_EINVALID, "the stream ends too early");
	if (!*type)
		return kl_error(KL_EINVALID, "no 'type'");
	if (!strcmp(type, "error"))
		return kl_stream_error(stream, event);
	if (response)
		begin_response(stream, response);
	if (!strcmp(type, "response.failed"))
		return kl_stream_error(stream, response);
	if (!strcmp(type, "response.output_text.delta"))
		return add_delta(stream, event);
	if (!strcmp(type, "response.refusal.delta")) {
		kl_stream_flaw(stream, KL_FLAW_REFUSAL);
		return add_delta(stream, event);
	}
	if (!strncmp(type, "response.reasoning", 18))
		kl_stream_hide(stream, json_object_get(event, "delta"));
	if (!strcmp(type, "response.output_item.added"))
		note_item(stream, json_object_get(event, "item"));
	if (!strcmp(type, "response.completed") || !strcmp(type, "response.incomplete"))
		return end_response(stream, response, type + strlen("response."));
	return 0;
}

const struct kl_protocol kl_protocol_responses = { responses_body, responses_event };
