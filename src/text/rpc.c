/* SPDX-License-Identifier: Apache-2.0 */
#include "text/rpc.h"

#include <string.h>

#include "base/error.h"

/* --- splitting a stream into lines --------------------------------------------------- */

void kl_rpc_lines_release(struct kl_rpc_lines *lines)
{
	kl_buf_release(&lines->buf);
	lines->at = lines->seen = 0;
	lines->dropping = false;
}

/* Remove the consumed bytes from the buffer. */
static void shift_lines(struct kl_rpc_lines *lines)
{
	size_t rest = lines->buf.len - lines->at;

	if (!lines->at)
		return;
	memmove(lines->buf.ptr, lines->buf.ptr + lines->at, rest);
	lines->buf.ptr[rest] = '\0';
	lines->buf.len = rest;
	lines->seen -= lines->at;
	lines->at = 0;
}

void kl_rpc_lines_add(struct kl_rpc_lines *lines, const void *data, size_t n)
{
	const char *at = data, *nl;

	shift_lines(lines);
	if (lines->dropping) {
		nl = memchr(at, '\n', n);
		if (!nl)
			return;
		lines->dropping = false;
		n -= (size_t)(nl + 1 - at);
		at = nl + 1;
	}
	kl_buf_add(&lines->buf, at, n);
}

void kl_rpc_lines_end(struct kl_rpc_lines *lines)
{
	if (!lines->dropping && lines->buf.len > lines->at)
		kl_buf_addch(&lines->buf, '\n');
}

static bool is_blank(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
			return false;
	return true;
}

static int too_long(const struct kl_rpc_lines *lines)
{
	return kl_error(KL_EINVALID, "the message is longer than %zu bytes", lines->max);
}

/*
 * Handle a line whose newline has not arrived. Return 0 to wait for more input; if the line is
 * already too long, discard it.
 */
static int refuse_unfinished(struct kl_rpc_lines *lines)
{
	lines->seen = lines->buf.len;
	if (lines->buf.len - lines->at <= lines->max)
		return 0;
	lines->dropping = true;
	lines->at = lines->seen = 0;
	kl_buf_release(&lines->buf);
	return too_long(lines);
}

int kl_rpc_lines_next(const char **line, size_t *len, struct kl_rpc_lines *lines)
{
	for (;;) {
		const char *from = lines->buf.ptr + lines->at;
		const char *nl = memchr(lines->buf.ptr + lines->seen, '\n',
					lines->buf.len - lines->seen);

		if (!nl)
			return refuse_unfinished(lines);
		lines->at = lines->seen = (size_t)(nl + 1 - lines->buf.ptr);
		*len = (size_t)(nl - from);
		*line = from;
		if (*len > lines->max)
			return too_long(lines);
		if (!is_blank(from, *len))
			return 1;
	}
}

/* --- reading and making messages ------------------------------------------------------ */

static int wire_code(enum kl_rpc_code code, const char *what)
{
	kl_error(KL_EINVALID, "%s", what);
	return code;
}

int kl_rpc_parse(json_t **out, const char *line, size_t len)
{
	return kl_json_parse(out, line, len) < 0 ? KL_RPC_PARSE : 0;
}

int kl_rpc_check(struct kl_rpc_message *out, const json_t *value)
{
	const json_t *id = json_object_get(value, "id"), *method = json_object_get(value, "method");
	const json_t *params = json_object_get(value, "params");

	*out = (struct kl_rpc_message){ .kind = KL_RPC_NOTIFICATION };
	if (!json_is_object(value))
		return wire_code(KL_RPC_INVALID, "the message is not a JSON object");
	if (json_is_string(id) || json_is_integer(id))
		out->id = id;
	if (strcmp(kl_json_str_or(value, "jsonrpc", ""), "2.0"))
		return wire_code(KL_RPC_INVALID, "'jsonrpc' is not \"2.0\"");
	if (!method && (json_object_get(value, "result") || json_object_get(value, "error"))) {
		out->kind = KL_RPC_RESPONSE;
		return 0;
	}
	if (!json_is_string(method))
		return wire_code(KL_RPC_INVALID,
				 method ? "'method' is not a string" : "'method' is missing");
	out->method = json_string_value(method);
	if (id && !out->id)
		return wire_code(KL_RPC_INVALID, "'id' is neither a string nor an integer");
	if (id)
		out->kind = KL_RPC_REQUEST;
	if (params && !json_is_object(params))
		return wire_code(KL_RPC_PARAMS, "'params' is not an object");
	out->params = params;
	return 0;
}

bool kl_rpc_same_id(const json_t *a, const json_t *b)
{
	return a && b && json_equal(a, b);
}

static json_t *new_message(void)
{
	json_t *message = json_object();

	kl_json_set_str(message, "jsonrpc", "2.0");
	return message;
}

static json_t *new_answer(const json_t *id)
{
	json_t *message = new_message();

	kl_json_set(message, "id", id ? json_deep_copy(id) : json_null());
	return message;
}

json_t *kl_rpc_result(const json_t *id, json_t *result)
{
	json_t *message = new_answer(id);

	kl_json_set(message, "result", result);
	return message;
}

json_t *kl_rpc_error(const json_t *id, int code, const char *what)
{
	json_t *answer = new_answer(id), *error = json_object();

	kl_json_set_int(error, "code", code);
	kl_json_set_str(error, "message", what);
	kl_json_set(answer, "error", error);
	return answer;
}

json_t *kl_rpc_notification(const char *method, json_t *params)
{
	json_t *message = new_message();

	kl_json_set_str(message, "method", method);
	kl_json_set(message, "params", params);
	return message;
}

void kl_rpc_write(struct kl_buf *out, const json_t *message)
{
	kl_json_canonical(out, message);
	kl_buf_addch(out, '\n');
}
