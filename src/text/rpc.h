/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_RPC_H
#define KL_TEXT_RPC_H

#include "text/json.h"

/*
 * rpc - JSON-RPC 2.0 over a byte stream, one message per line.
 *
 * The peer is not trusted: lines have a maximum length, and a longer line is discarded as it
 * arrives instead of being buffered.
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
 * kl_rpc_parse() and kl_rpc_check() return 0 or one of enum kl_rpc_code; the message is then in
 * kl_error_last().
 */
#define KL_RPC_LINE_MAX ((size_t)4 << 20)

enum kl_rpc_code {
	KL_RPC_PARSE = -32700,   /* not JSON */
	KL_RPC_INVALID = -32600, /* JSON, but not a valid message */
	KL_RPC_METHOD = -32601,  /* unknown method */
	KL_RPC_PARAMS = -32602,  /* invalid parameters */
	KL_RPC_INTERNAL = -32603,
};

/* --- splitting a stream into lines --------------------------------------------------- */

struct kl_rpc_lines {
	struct kl_buf buf;
	size_t at; /* start of the next line; bytes before it are consumed */
	/* end of the bytes after `at` that were searched for a newline without finding one */
	size_t seen;
	size_t max;    /* maximum length of a line in bytes */
	bool dropping; /* the rest of a line that is too long is being discarded */
};

#define KL_RPC_LINES_INIT                                  \
	{                                                  \
		.buf = KL_BUF_INIT, .max = KL_RPC_LINE_MAX \
	}

void kl_rpc_lines_release(struct kl_rpc_lines *lines);
void kl_rpc_lines_add(struct kl_rpc_lines *lines, const void *data, size_t n);
/** Call this at the end of the stream: bytes after the last newline then count as a line. */
void kl_rpc_lines_end(struct kl_rpc_lines *lines);

/**
 * Get the next line that is not blank, without its newline. Return 1 for a line and 0 if more input
 * is needed. The line is borrowed until the next kl_rpc_lines_add(). Return KL_EINVALID if a line
 * was too long and was discarded; this is reported once for each such line, as soon as its length
 * is known.
 */
int kl_rpc_lines_next(const char **line, size_t *len, struct kl_rpc_lines *lines);

/* --- reading and making messages ------------------------------------------------------ */

enum kl_rpc_kind { KL_RPC_REQUEST, KL_RPC_NOTIFICATION, KL_RPC_RESPONSE };

struct kl_rpc_message {
	enum kl_rpc_kind kind;
	const json_t *id; /* a string or an integer; NULL if the id is absent or of another type */
	const char *method;
	const json_t *params; /* an object; NULL if absent */
};

/**
 * Parse a line, which must be an object or an array; the caller owns *out. Return 0 or
 * KL_RPC_PARSE.
 */
int kl_rpc_parse(json_t **out, const char *line, size_t len);
/**
 * Check a message and fill in `out`, which borrows from `value`. Return 0 or one of enum
 * kl_rpc_code. If the message is invalid, `out` still has the members that could be read, such as
 * the id.
 */
int kl_rpc_check(struct kl_rpc_message *out, const json_t *value);
/** Check that both ids are present and equal. */
bool kl_rpc_same_id(const json_t *a, const json_t *b);

/*
 * Make a message, owned by the caller. If `id` is NULL, the message has the id null. The functions
 * take over the caller's references to `result` and `params`.
 */
json_t *kl_rpc_result(const json_t *id, json_t *result);
json_t *kl_rpc_error(const json_t *id, int code, const char *what);
json_t *kl_rpc_notification(const char *method, json_t *params);

/** Append a message as one line, with its newline. */
void kl_rpc_write(struct kl_buf *out, const json_t *message);

#endif
