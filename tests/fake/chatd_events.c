/* SPDX-License-Identifier: Apache-2.0 */
/* chatd_events - replies as streams of events, in three protocols */
#include "chatd.h"

#include <stdlib.h>
#include <string.h>

/* Put the raw number of the script in the place of the output tokens. */
static char *with_raw(struct conn *conn, char *text)
{
	static const char *const count[] = { "\"output_tokens\":", "\"completion_tokens\":" };
	const char *raw = str(conn->line, "raw_output", NULL);

	for (size_t i = 0; raw && i < 2; i++) {
		char *at = strstr(text, count[i]), *whole = NULL;

		if (!at)
			continue;
		at += strlen(count[i]);
		if (asprintf(&whole, "%.*s%s%s", (int)(at - text), text, raw,
			     at + strspn(at, "-0123456789")) < 0)
			die("asprintf");
		free(text);
		return whole;
	}
	return text;
}

/* One event; takes the reference. */
static bool event(struct conn *conn, const char *type, json_t *value)
{
	char *text = with_raw(conn, json_dumps(value, JSON_COMPACT)), *whole = NULL;
	bool ok = asprintf(&whole,
			   conn->protocol != COMPLETIONS ? "event: %s\ndata: %s\n\n" :
							   "%.0sdata: %s\n\n",
			   type, text) >= 0 &&
		  chunk(conn, whole, strlen(whole));

	free(text);
	free(whole);
	json_decref(value);
	return ok;
}

/* Members that the script adds to the object around the usage. */
static json_t *with_around(const struct conn *conn, json_t *value)
{
	json_object_update(value, json_object_get(conn->line, "around"));
	return value;
}

/* --- usage --------------------------------------------------------------------------- */

/* `usage_as` of the script goes out as it is. */
static json_t *usage_as(const struct conn *conn)
{
	json_t *as = json_object_get(conn->line, "usage_as");

	return as ? json_deep_copy(as) : NULL;
}

static json_t *messages_usage(const struct conn *conn)
{
	const struct usage *usage = &conn->usage;

	return json_pack("{s:I, s:I, s:I, s:I, s:{s:I, s:I}}", "input_tokens",
			 (json_int_t)usage->input, "output_tokens", (json_int_t)1,
			 "cache_read_input_tokens", (json_int_t)usage->cache_read,
			 "cache_creation_input_tokens",
			 (json_int_t)(usage->cache_write_5m + usage->cache_write_1h),
			 "cache_creation", "ephemeral_5m_input_tokens",
			 (json_int_t)usage->cache_write_5m, "ephemeral_1h_input_tokens",
			 (json_int_t)usage->cache_write_1h);
}

static json_t *openai_usage(const struct conn *conn, const char *in, const char *out,
			    const char *details)
{
	const struct usage *usage = &conn->usage;
	json_int_t prompt = usage->input + usage->cache_read;

	return json_pack("{s:I, s:I, s:I, s:{s:I}}", in, prompt, out, (json_int_t)usage->output,
			 "total_tokens", prompt + (json_int_t)usage->output, details,
			 "cached_tokens", (json_int_t)usage->cache_read);
}

/* --- chat completions --------------------------------------------------------------- */

static json_t *choice(const struct conn *conn, int index)
{
	return json_pack("{s:s, s:s, s:s, s:[{s:i, s:{}, s:n}]}", "id", "chatcmpl-1", "object",
			 "chat.completion.chunk", "model", conn->model, "choices", "index", index,
			 "delta", "finish_reason");
}

/* A chunk whose delta has one member; takes the reference. */
static bool delta(struct conn *conn, int index, const char *key, json_t *value)
{
	json_t *all = choice(conn, index);
	json_t *first = json_array_get(json_object_get(all, "choices"), 0);

	json_object_set_new(json_object_get(first, "delta"), key, value);
	return event(conn, "", all);
}

static bool finish_completion(struct conn *conn, const char *reason)
{
	json_t *all = choice(conn, 0), *usage = usage_as(conn);

	json_object_set_new(json_array_get(json_object_get(all, "choices"), 0), "finish_reason",
			    json_string(reason));
	if (!event(conn, "", all))
		return false;
	if (!usage && conn->usage.told)
		usage = openai_usage(conn, "prompt_tokens", "completion_tokens",
				     "prompt_tokens_details");
	return !usage ||
	       event(conn, "",
		     with_around(conn, json_pack("{s:s, s:s, s:[], s:o}", "id", "chatcmpl-1",
						 "model", conn->model, "choices", "usage", usage)));
}

/* --- messages -------------------------------------------------------------------------- */

static bool begin_message(struct conn *conn)
{
	json_t *usage = json_object_get(conn->line, "usage_start");
	json_t *message = json_pack("{s:s, s:s, s:s, s:s, s:[], s:n}", "id", "msg_1", "type",
				    "message", "role", "assistant", "model", conn->model, "content",
				    "stop_reason");

	if (usage)
		json_object_set(message, "usage", usage);
	else if (conn->usage.told)
		json_object_set_new(message, "usage", messages_usage(conn));
	return event(conn, "message_start",
		     json_pack("{s:s, s:o}", "type", "message_start", "message", message)) &&
	       event(conn, "content_block_start",
		     json_pack("{s:s, s:i, s:{s:s, s:s}}", "type", "content_block_start", "index",
			       0, "content_block", "type", "text", "text", "")) &&
	       send_ping(conn);
}

static bool block_delta(struct conn *conn, const char *type, const char *key, json_t *value)
{
	return event(conn, "content_block_delta",
		     json_pack("{s:s, s:i, s:{s:s, s:o}}", "type", "content_block_delta", "index",
			       0, "delta", "type", type, key, value));
}

static bool finish_message(struct conn *conn, const char *reason)
{
	json_t *value = json_pack("{s:s, s:{s:s, s:n}}", "type", "message_delta", "delta",
				  "stop_reason", reason, "stop_sequence");
	json_t *usage = usage_as(conn);

	if (!usage && conn->usage.told)
		usage = json_pack("{s:I}", "output_tokens", (json_int_t)conn->usage.output);
	if (usage)
		json_object_set_new(value, "usage", usage);
	return event(conn, "content_block_stop",
		     json_pack("{s:s, s:i}", "type", "content_block_stop", "index", 0)) &&
	       event(conn, "message_delta", value);
}

/* --- responses ------------------------------------------------------------------------- */

static json_t *response(const struct conn *conn, const char *status)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:[]}", "id", "resp_1", "object", "response",
			 "model", conn->model, "status", status, "output");
}

static bool response_event(struct conn *conn, const char *type, json_t *whole)
{
	return event(conn, type, json_pack("{s:s, s:o}", "type", type, "response", whole));
}

static bool item(struct conn *conn, const char *type)
{
	return event(conn, "response.output_item.added",
		     json_pack("{s:s, s:i, s:{s:s, s:s}}", "type", "response.output_item.added",
			       "output_index", 0, "item", "type", type, "id", "item_1"));
}

static bool text_delta(struct conn *conn, const char *type, json_t *text)
{
	return event(conn, type,
		     json_pack("{s:s, s:s, s:i, s:o}", "type", type, "item_id", "item_1",
			       "output_index", 0, "delta", text));
}

static bool finish_response(struct conn *conn, const char *why)
{
	json_t *whole = response(conn, why ? "incomplete" : "completed"), *usage = usage_as(conn);

	if (!usage && conn->usage.told)
		usage = openai_usage(conn, "input_tokens", "output_tokens", "input_tokens_details");
	if (usage)
		json_object_set_new(whole, "usage", usage);
	if (why)
		json_object_set_new(whole, "incomplete_details", json_pack("{s:s}", "reason", why));
	return response_event(conn, why ? "response.incomplete" : "response.completed",
			      with_around(conn, whole));
}

/* --- for all ------------------------------------------------------------------------------ */

bool begin_reply(struct conn *conn)
{
	if (conn->protocol == MESSAGES)
		return begin_message(conn);
	if (conn->protocol == COMPLETIONS)
		return delta(conn, 0, "content", json_string(""));
	return response_event(conn, "response.created", response(conn, "in_progress")) &&
	       item(conn, "message");
}

bool send_thought(struct conn *conn, const char *text)
{
	conn->sent += strlen(text);
	if (conn->protocol == MESSAGES)
		return block_delta(conn, "thinking_delta", "thinking", json_string(text));
	if (conn->protocol == COMPLETIONS)
		return delta(conn, 0, "reasoning_content", json_string(text));
	return text_delta(conn, "response.reasoning_text.delta", json_string(text));
}

bool send_piece(struct conn *conn, const char *text, size_t n)
{
	conn->sent += n;
	if (conn->protocol == MESSAGES)
		return block_delta(conn, "text_delta", "text", json_stringn(text, n));
	if (conn->protocol == COMPLETIONS)
		return delta(conn, 0, "content", json_stringn(text, n));
	return text_delta(conn, "response.output_text.delta", json_stringn(text, n));
}

bool send_second(struct conn *conn)
{
	if (conn->protocol == MESSAGES)
		return begin_message(conn);
	return conn->protocol == COMPLETIONS ? delta(conn, 1, "content", json_string("another")) :
					       true;
}

bool send_call(struct conn *conn)
{
	if (conn->protocol == RESPONSES)
		return item(conn, "function_call");
	if (conn->protocol == COMPLETIONS)
		return delta(conn, 0, "tool_calls",
			     json_pack("[{s:i, s:s, s:{s:s, s:s}}]", "index", 0, "type", "function",
				       "function", "name", "read_file", "arguments", "{}"));
	return event(conn, "content_block_start",
		     json_pack("{s:s, s:i, s:{s:s, s:s, s:s, s:{}}}", "type", "content_block_start",
			       "index", 1, "content_block", "type", "tool_use", "id", "t_1", "name",
			       "read_file", "input"));
}

bool send_ping(struct conn *conn)
{
	if (conn->protocol == MESSAGES)
		return event(conn, "ping", json_pack("{s:s}", "type", "ping"));
	if (conn->protocol == COMPLETIONS)
		return delta(conn, 0, "content", json_string(""));
	return response_event(conn, "response.in_progress", response(conn, "in_progress"));
}

bool send_error(struct conn *conn, const char *type, const char *message)
{
	if (conn->protocol == RESPONSES)
		return event(conn, "error",
			     json_pack("{s:s, s:s, s:s}", "type", "error", "code", type, "message",
				       message));
	return event(conn, "error",
		     json_pack("{s:s, s:{s:s, s:s}}", "type", "error", "error", "type", type,
			       "message", message));
}

bool finish_reply(struct conn *conn)
{
	static const char *const reasons[4][3] = {
		{ "end_turn", "stop", NULL },
		{ "max_tokens", "length", "max_output_tokens" },
		{ "refusal", "content_filter", "content_filter" },
		{ "tool_use", "tool_calls", NULL },
	};
	const char *stop = str(conn->line, "stop", "end");
	size_t i = !strcmp(stop, "length") ? 1 : !strcmp(stop, "refusal") ? 2 : 0;

	if (!strcmp(str(conn->line, "fault", ""), "tool"))
		i = 3;
	return conn->protocol == MESSAGES    ? finish_message(conn, reasons[i][0]) :
	       conn->protocol == COMPLETIONS ? finish_completion(conn, reasons[i][1]) :
					       finish_response(conn, reasons[i][2]);
}

void end_reply(struct conn *conn)
{
	if (conn->protocol == MESSAGES)
		event(conn, "message_stop", json_pack("{s:s}", "type", "message_stop"));
	else if (conn->protocol == COMPLETIONS)
		chunk(conn, "data: [DONE]\n\n", 14);
}

json_t *error_document(const struct conn *conn, const char *message)
{
	return conn->protocol == MESSAGES ?
		       json_pack("{s:s, s:{s:s, s:s}}", "type", "error", "error", "type",
				 "some_error", "message", message) :
		       json_pack("{s:{s:s, s:s, s:n}}", "error", "message", message, "type",
				 "some_error", "code");
}
