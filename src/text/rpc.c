/* SPDX-License-Identifier: Apache-2.0 */
#include "text/rpc.h"

#include <string.h>

#include "base/error.h"

/* --- lines --------------------------------------------------------------------- */

void kl_rpc_lines_release(struct kl_rpc_lines *l)
{
	kl_buf_release(&l->buf);
	l->at = l->seen = 0;
	l->dropping = false;
}

/* what was taken goes, before more comes */
static void shift_lines(struct kl_rpc_lines *l)
{
	size_t left = l->buf.len - l->at;

	if (!l->at)
		return;
	memmove(l->buf.ptr, l->buf.ptr + l->at, left);
	l->buf.ptr[left] = '\0';
	l->buf.len = left;
	l->seen -= l->at;
	l->at = 0;
}

void kl_rpc_lines_add(struct kl_rpc_lines *l, const void *data, size_t n)
{
	const char *p = data, *nl;

	shift_lines(l);
	if (l->dropping) {
		nl = memchr(p, '\n', n);
		if (!nl)
			return;
		l->dropping = false;
		n -= (size_t)(nl + 1 - p);
		p = nl + 1;
	}
	kl_buf_add(&l->buf, p, n);
}

void kl_rpc_lines_end(struct kl_rpc_lines *l)
{
	if (!l->dropping && l->buf.len > l->at)
		kl_buf_addch(&l->buf, '\n');
}

static bool is_blank(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] != ' ' && s[i] != '\t' && s[i] != '\r')
			return false;
	return true;
}

static int too_long(const struct kl_rpc_lines *l)
{
	return kl_error(KL_EINVALID, "a message of more than %zu bytes", l->max);
}

/* No newline so far: wait for it, or give the line up. */
static int refuse_unfinished(struct kl_rpc_lines *l)
{
	l->seen = l->buf.len;
	if (l->buf.len - l->at <= l->max)
		return 0;
	l->dropping = true;
	l->at = l->seen = 0;
	kl_buf_release(&l->buf);
	return too_long(l);
}

int kl_rpc_lines_next(const char **line, size_t *len, struct kl_rpc_lines *l)
{
	for (;;) {
		const char *from = l->buf.ptr + l->at;
		const char *nl = memchr(l->buf.ptr + l->seen, '\n', l->buf.len - l->seen);

		if (!nl)
			return refuse_unfinished(l);
		l->at = l->seen = (size_t)(nl + 1 - l->buf.ptr);
		*len = (size_t)(nl - from);
		*line = from;
		if (*len > l->max)
			return too_long(l);
		if (!is_blank(from, *len))
			return 1;
	}
}

/* --- messages ------------------------------------------------------------------- */

static int wire_code(enum kl_rpc_code c, const char *what)
{
	kl_error(KL_EINVALID, "%s", what);
	return c;
}

int kl_rpc_parse(json_t **out, const char *line, size_t len)
{
	return kl_json_parse(out, line, len) < 0 ? KL_RPC_PARSE : 0;
}

int kl_rpc_check(struct kl_rpc_message *out, const json_t *j)
{
	const json_t *id = json_object_get(j, "id"), *method = json_object_get(j, "method");
	const json_t *params = json_object_get(j, "params");

	*out = (struct kl_rpc_message){ .kind = KL_RPC_NOTIFICATION };
	if (!json_is_object(j))
		return wire_code(KL_RPC_INVALID, "a message is a JSON object");
	if (json_is_string(id) || json_is_integer(id))
		out->id = id;
	if (strcmp(kl_json_str_or(j, "jsonrpc", ""), "2.0"))
		return wire_code(KL_RPC_INVALID, "'jsonrpc' is not \"2.0\"");
	if (!method && (json_object_get(j, "result") || json_object_get(j, "error"))) {
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
	json_t *j = json_object();

	kl_json_set_str(j, "jsonrpc", "2.0");
	return j;
}

static json_t *new_answer(const json_t *id)
{
	json_t *j = new_message();

	kl_json_set(j, "id", id ? json_deep_copy(id) : json_null());
	return j;
}

json_t *kl_rpc_result(const json_t *id, json_t *result)
{
	json_t *j = new_answer(id);

	kl_json_set(j, "result", result);
	return j;
}

json_t *kl_rpc_error(const json_t *id, int c, const char *text)
{
	json_t *j = new_answer(id), *e = json_object();

	kl_json_set_int(e, "code", c);
	kl_json_set_str(e, "message", text);
	kl_json_set(j, "error", e);
	return j;
}

json_t *kl_rpc_notification(const char *method, json_t *params)
{
	json_t *j = new_message();

	kl_json_set_str(j, "method", method);
	kl_json_set(j, "params", params);
	return j;
}

void kl_rpc_write(struct kl_buf *out, const json_t *j)
{
	kl_json_canonical(out, j);
	kl_buf_addch(out, '\n');
}
