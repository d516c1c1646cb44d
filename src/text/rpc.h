/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_RPC_H
#define KL_TEXT_RPC_H

#include "text/json.h"

/*
 * rpc - JSON-RPC 2.0 on a stream of bytes, one message a line. Whoever writes the stream is not
 * trusted: a line has a ceiling, and what is longer is dropped as it comes, not kept.
 *
 *	struct kl_rpc_lines in = KL_RPC_LINES_INIT;
 *	kl_rpc_lines_add(&in, bytes, n);
 *	while ((more = kl_rpc_lines_next(&line, &len, &in)) != 0) {
 *		code = more < 0 ? KL_RPC_PARSE : kl_rpc_parse(&j, line, len);
 *		if (!code)
 *			code = kl_rpc_check(&m, j);
 *		if (code)
 *			answer kl_rpc_error(m.id, code, kl_error_last())
 *		...
 *		json_decref(j);
 *	}
 *
 * Functions that say "or a code" return 0 or one of enum kl_rpc_code, and set the message of
 * kl_error_last().
 */
#define KL_RPC_LINE_MAX ((size_t)4 << 20)

enum kl_rpc_code {
	KL_RPC_PARSE = -32700,   /* no JSON */
	KL_RPC_INVALID = -32600, /* JSON, and no message */
	KL_RPC_METHOD = -32601,  /* nobody knows this method */
	KL_RPC_PARAMS = -32602,  /* it wants other parameters */
	KL_RPC_INTERNAL = -32603,
};

/* --- lines --------------------------------------------------------------------- */

struct kl_rpc_lines {
	struct kl_buf buf;
	size_t at;   /* what lies before was taken */
	size_t seen; /* no newline between `at` and here */
	size_t max;
	bool dropping; /* in a line that is too long */
};

#define KL_RPC_LINES_INIT                                  \
	{                                                  \
		.buf = KL_BUF_INIT, .max = KL_RPC_LINE_MAX \
	}

void kl_rpc_lines_release(struct kl_rpc_lines *lines);
void kl_rpc_lines_add(struct kl_rpc_lines *lines, const void *data, size_t n);
/** The stream has ended: what came after the last newline is a line, too. */
void kl_rpc_lines_end(struct kl_rpc_lines *lines);

/**
 * 1: a line that is not blank, without its end, borrowed until the next kl_rpc_lines_add(). 0: more
 * has to come. KL_EINVALID: one was too long and is gone; said once for each, as soon as that is
 * known.
 */
int kl_rpc_lines_next(const char **line, size_t *len, struct kl_rpc_lines *lines);

/* --- messages ------------------------------------------------------------------- */

enum kl_rpc_kind { KL_RPC_REQUEST, KL_RPC_NOTIFICATION, KL_RPC_RESPONSE };

struct kl_rpc_message {
	enum kl_rpc_kind kind;
	const json_t *id; /* string or integer; of what could not be read NULL */
	const char *method;
	const json_t *params; /* an object, or NULL: none */
};

/** An object, or an array of messages; or a code. The caller's. */
int kl_rpc_parse(json_t **out, const char *line, size_t len);
/** All of `out` is borrowed from `value`; or a code, and then `out` has what could be read. */
int kl_rpc_check(struct kl_rpc_message *out, const json_t *value);
/** Do both name the same request? */
bool kl_rpc_same_id(const json_t *left, const json_t *right);

/* Answers, the caller's. `id` NULL: null. `result` and `params` are taken. */
json_t *kl_rpc_result(const json_t *id, json_t *result);
json_t *kl_rpc_error(const json_t *id, int code, const char *message);
json_t *kl_rpc_notification(const char *method, json_t *params);

/** Append a message as its line. */
void kl_rpc_write(struct kl_buf *out, const json_t *message);

#endif
