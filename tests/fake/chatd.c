/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chatd - a pretended provider, on the loopback alone: Anthropic Messages at /v1/messages, chat
 * completions at /v1/chat/completions, both streamed. What it answers stands in a script.
 *
 *	chatd --script <file> --log <file> [--key <key>] [--tls <file> [--expired]] [--port <n>]
 *	      [--address 127.<...>]
 *
 * It prints its port as the first line of stdout and serves until it is killed, or its stdin ends.
 * With
 * --tls it makes a certificate for 127.0.0.1 and localhost and writes it to the file, as a CA bundle.
 *
 * The script is JSON Lines; each request takes the next line (with `match`: the next whose text is
 * in the body; with `repeat`: n more requests get the same). A line over is an error 400.
 *
 *	text		what is replied, in small pieces (`piece` characters each, default 7)
 *	usage		{input, output, cache_read, cache_write_5m, cache_write_1h}; absent: none is said
 *	stop		end, length, refusal
 *	model		that answers; default: the one asked for
 *	status		instead of 200, with `message` as the error's words, `headers` ({name: value}) besides
 *	fault		see enum fault below
 *	raw		of fault raw: bytes in place of a reply, `times` over, and `then` behind them
 *	delay_ms	of fault drip (between bytes), ping (between pings), late (before the answer)
 *
 * The log is JSON Lines: `n`, `path`, `key` ("right", "wrong", "none"), `headers` (less the key),
 * `body`.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum fault {
	NONE,
	CUT,         /* the connection goes amid the stream */
	CUT_CLEAN,   /* the stream ends in good order, but too early */
	CUT_LATE,    /* the connection goes when the text is whole */
	BAD_JSON,    /* an event that is no JSON */
	HTML,        /* a page */
	EMPTY,       /* a reply without text */
	NOTHING,     /* a stream without an event */
	HUGE_TEXT,   /* 50 MB of text */
	HUGE_PAGE,   /* 50 MB that are no stream */
	HUGE_EVENT,  /* one event of 50 MB */
	HANG,        /* never answers */
	STALL,       /* begins, then says no more */
	OPEN_END,    /* a whole reply, but the connection stays */
	DRIP,        /* byte by byte */
	PING,        /* signs of life for ever, and no answer */
	LATE,        /* answers after a while */
	CLOSE,       /* hangs up before answering */
	ERROR_EVENT, /* breaks off with an error in the stream */
	TWO,         /* two answers */
	ECHO_KEY,    /* tells the key in every place it can */
	/* `raw`, byte for byte, `times` over, then `then`; then the connection goes */
	RAW,
};
static const char *const fault_name[] = {
	"",        "cut",       "cut-clean", "cut-late",   "bad-json",    "html",  "empty",
	"nothing", "huge-text", "huge-page", "huge-event", "hang",        "stall", "open-end",
	"drip",    "ping",      "late",      "close",      "error-event", "two",   "echo-key",
	"raw",
};

struct script_line {
	json_t *j;
	long left; /* how often it may still be used */
};

static struct {
	struct script_line line[4096];
	size_t n, used;
	size_t requests;
	FILE *log;
	const char *key;
	SSL_CTX *tls;
	pthread_mutex_t lock;
} server = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct conn {
	int fd;
	SSL *ssl;
	bool anthropic, drip, chunked;
	long delay_ms;
	char *head, *body;
	size_t body_len;
	char key[4200]; /* that came */
	char *model;
	json_t *line;
};

static void die(const char *what)
{
	fprintf(stderr, "chatd: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void nap(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* -- bytes ------------------------------------------------------------------------ */

static bool raw_out(struct conn *c, const char *p, size_t n)
{
	while (n) {
		ssize_t k = c->ssl ? SSL_write(c->ssl, p, n > 1 << 14 ? 1 << 14 : (int)n) :
				     send(c->fd, p, n, MSG_NOSIGNAL);

		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

static bool out(struct conn *c, const char *p, size_t n)
{
	if (!c->drip)
		return raw_out(c, p, n);
	for (; n; n--, p++) {
		if (!raw_out(c, p, 1))
			return false;
		nap(c->delay_ms);
	}
	return true;
}

/* A piece of the body, as a chunk. */
static bool chunk(struct conn *c, const char *p, size_t n)
{
	char size[32];

	snprintf(size, sizeof(size), "%zx\r\n", n);
	return out(c, size, strlen(size)) && out(c, p, n) && out(c, "\r\n", 2);
}

static ssize_t in(struct conn *c, char *p, size_t n)
{
	return c->ssl ? SSL_read(c->ssl, p, (int)n) : read(c->fd, p, n);
}

/* -- the request ------------------------------------------------------------------ */

static const char *header(const char *head, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = strstr(head, "\r\n"); p; p = strstr(p, "\r\n")) {
		p += 2;
		if (!strncasecmp(p, name, n) && p[n] == ':')
			return p + n + 1 + strspn(p + n + 1, " ");
	}
	return NULL;
}

static bool read_request(struct conn *c)
{
	size_t len = 0, room = 1 << 16, want = 0;
	char *buf = malloc(room + 1), *end = NULL;

	for (;;) {
		ssize_t k = in(c, buf + len, room - len);

		if (k <= 0)
			break;
		len += (size_t)k;
		buf[len] = '\0';
		if (!end && (end = strstr(buf, "\r\n\r\n"))) {
			const char *size;

			*end = '\0';
			end += 4;
			size = header(buf, "content-length");
			want = size ? (size_t)atol(size) : 0;
		}
		if (end && len >= (size_t)(end - buf) + want) {
			c->head = strdup(buf);
			c->body = strndup(end, want);
			c->body_len = want;
			free(buf);
			return true;
		}
		if (len == room) {
			size_t at = end ? (size_t)(end - buf) : 0;

			room *= 2;
			buf = realloc(buf, room + 1);
			end = end ? buf + at : NULL;
		}
	}
	free(buf);
	return false;
}

/* The key that came, and the headers without it. */
static json_t *headers_of(struct conn *c)
{
	json_t *all = json_object();

	for (char *p = strstr(c->head, "\r\n"); p;) {
		char *line = p + 2, *end = strstr(line, "\r\n"), *colon = strchr(line, ':');
		size_t n = end ? (size_t)(end - line) : strlen(line);
		char name[128], value[4200];

		p = end;
		if (!colon || colon >= line + n)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(colon - line), line);
		colon += 1 + strspn(colon + 1, " ");
		snprintf(value, sizeof(value), "%.*s", (int)(line + n - colon), colon);
		for (char *q = name; *q; q++)
			*q |= *q >= 'A' && *q <= 'Z' ? 0x20 : 0;
		if (!strcmp(name, "x-api-key"))
			snprintf(c->key, sizeof(c->key), "%s", value);
		else if (!strcmp(name, "authorization"))
			snprintf(c->key, sizeof(c->key), "%s",
				 value + (strncmp(value, "Bearer ", 7) ? 0 : 7));
		else
			json_object_set_new(all, name, json_string(value));
	}
	return all;
}

static void log_request(struct conn *c)
{
	json_t *j = json_object();
	char path[256] = "";

	sscanf(c->head, "%*s %255s", path);
	c->anthropic = strstr(path, "/messages");
	json_object_set_new(j, "headers", headers_of(c));
	json_object_set_new(j, "n", json_integer((json_int_t)server.requests++));
	json_object_set_new(j, "path", json_string(path));
	json_object_set_new(j, "body", json_stringn(c->body, c->body_len));
	json_object_set_new(j, "key",
			    json_string(!*c->key                                  ? "none" :
					server.key && !strcmp(c->key, server.key) ? "right" :
										    "wrong"));
	if (server.log) {
		json_dumpf(j, server.log, JSON_COMPACT | JSON_SORT_KEYS);
		fputc('\n', server.log);
		fflush(server.log);
	}
	json_decref(j);
}

static json_t *next_line(const struct conn *c)
{
	for (size_t i = 0; i < server.n; i++) {
		struct script_line *l = &server.line[i];
		const char *match = json_string_value(json_object_get(l->j, "match"));

		if (!l->left || (match && !strstr(c->body, match)))
			continue;
		l->left--;
		return l->j;
	}
	return NULL;
}

/* -- replies ------------------------------------------------------------------------ */

static const char *str(const json_t *j, const char *key, const char *dflt)
{
	const json_t *v = json_object_get(j, key);

	return json_is_string(v) ? json_string_value(v) : dflt;
}

static long num(const json_t *j, const char *key, long dflt)
{
	const json_t *v = json_object_get(j, key);

	return json_is_integer(v) ? (long)json_integer_value(v) : dflt;
}

static bool head(struct conn *c, long status, const char *type, long length)
{
	char h[8192];
	json_t *more = json_object_get(c->line, "headers"), *v;
	const char *name;
	size_t n;

	n = (size_t)snprintf(h, sizeof(h),
			     "HTTP/1.1 %ld Whatever\r\nconnection: close\r\ncontent-type: %s\r\n"
			     "request-id: req_%zu\r\n",
			     status, type, server.requests);
	if (length >= 0)
		n += (size_t)snprintf(h + n, sizeof(h) - n, "content-length: %ld\r\n", length);
	else
		n += (size_t)snprintf(h + n, sizeof(h) - n, "transfer-encoding: chunked\r\n");
	json_object_foreach(more, name, v)
		n += (size_t)snprintf(h + n, sizeof(h) - n, "%s: %s\r\n", name,
				      json_string_value(v));
	n += (size_t)snprintf(h + n, sizeof(h) - n, "\r\n");
	return out(c, h, n);
}

static void page(struct conn *c, long status, const char *type, const char *text)
{
	if (head(c, status, type, (long)strlen(text)))
		out(c, text, strlen(text));
}

static void error_page(struct conn *c, long status, const char *message)
{
	json_t *e = c->anthropic ? json_pack("{s:s, s:{s:s, s:s}}", "type", "error", "error",
					     "type", "some_error", "message", message) :
				   json_pack("{s:{s:s, s:s, s:n}}", "error", "message", message,
					     "type", "some_error", "code");
	char *text = json_dumps(e, JSON_COMPACT);

	page(c, status, "application/json", text);
	free(text);
	json_decref(e);
}

/* One event; takes the reference. */
static bool event(struct conn *c, const char *type, json_t *j)
{
	char *text = json_dumps(j, JSON_COMPACT), *whole = NULL;
	bool ok = asprintf(&whole, c->anthropic ? "event: %s\ndata: %s\n\n" : "%.0sdata: %s\n\n",
			   type, text) >= 0 &&
		  chunk(c, whole, strlen(whole));

	free(text);
	free(whole);
	json_decref(j);
	return ok;
}

static long used(const struct conn *c, const char *key)
{
	return num(json_object_get(c->line, "usage"), key, 0);
}

static json_t *anthropic_usage(const struct conn *c)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:{s:I, s:I}}", "input_tokens",
			 (json_int_t)used(c, "input"), "output_tokens", (json_int_t)1,
			 "cache_read_input_tokens", (json_int_t)used(c, "cache_read"),
			 "cache_creation_input_tokens",
			 (json_int_t)(used(c, "cache_write_5m") + used(c, "cache_write_1h")),
			 "cache_creation", "ephemeral_5m_input_tokens",
			 (json_int_t)used(c, "cache_write_5m"), "ephemeral_1h_input_tokens",
			 (json_int_t)used(c, "cache_write_1h"));
}

static json_t *choice(const struct conn *c, int index, const char *text, const char *reason)
{
	json_t *j = json_pack("{s:s, s:s, s:s, s:[{s:i, s:{}, s:n}]}", "id", "chatcmpl-1", "object",
			      "chat.completion.chunk", "model", c->model, "choices", "index", index,
			      "delta", "finish_reason");
	json_t *first = json_array_get(json_object_get(j, "choices"), 0);

	if (text)
		json_object_set_new(json_object_get(first, "delta"), "content", json_string(text));
	if (reason)
		json_object_set_new(first, "finish_reason", json_string(reason));
	return j;
}

static bool begin(struct conn *c)
{
	json_t *m;

	if (!c->anthropic)
		return event(c, "", choice(c, 0, "", NULL));
	m = json_pack("{s:s, s:s, s:s, s:s, s:[], s:n}", "id", "msg_1", "type", "message", "role",
		      "assistant", "model", c->model, "content", "stop_reason");
	if (json_object_get(c->line, "usage"))
		json_object_set_new(m, "usage", anthropic_usage(c));
	return event(c, "message_start",
		     json_pack("{s:s, s:o}", "type", "message_start", "message", m)) &&
	       event(c, "content_block_start",
		     json_pack("{s:s, s:i, s:{s:s, s:s}}", "type", "content_block_start", "index",
			       0, "content_block", "type", "text", "text", "")) &&
	       event(c, "ping", json_pack("{s:s}", "type", "ping"));
}

static bool piece(struct conn *c, const char *text)
{
	if (!c->anthropic)
		return event(c, "", choice(c, 0, text, NULL));
	return event(c, "content_block_delta",
		     json_pack("{s:s, s:i, s:{s:s, s:s}}", "type", "content_block_delta", "index",
			       0, "delta", "type", "text_delta", "text", text));
}

static bool pieces(struct conn *c, const char *text)
{
	size_t size = (size_t)num(c->line, "piece", 7), n = strlen(text);

	while (n) {
		size_t k = n < size ? n : size;
		char *part;
		bool ok;

		while (k < n && (text[k] & 0xc0) == 0x80)
			k++;
		part = strndup(text, k);
		ok = piece(c, part);
		free(part);
		if (!ok)
			return false;
		text += k;
		n -= k;
	}
	return true;
}

static const char *reason(const struct conn *c)
{
	const char *stop = str(c->line, "stop", "end");
	bool a = c->anthropic;

	return !strcmp(stop, "length")  ? a ? "max_tokens" : "length" :
	       !strcmp(stop, "refusal") ? a ? "refusal" : "content_filter" :
	       a                        ? "end_turn" :
					  "stop";
}

static bool finish(struct conn *c)
{
	json_t *j, *u = json_object_get(c->line, "usage");

	if (!c->anthropic) {
		if (!event(c, "", choice(c, 0, NULL, reason(c))))
			return false;
		if (!u)
			return true;
		j = json_pack(
			"{s:s, s:s, s:[], s:{s:I, s:I, s:I, s:{s:I}}}", "id", "chatcmpl-1", "model",
			c->model, "choices", "usage", "prompt_tokens",
			(json_int_t)(used(c, "input") + used(c, "cache_read")), "completion_tokens",
			(json_int_t)used(c, "output"), "total_tokens",
			(json_int_t)(used(c, "input") + used(c, "cache_read") + used(c, "output")),
			"prompt_tokens_details", "cached_tokens",
			(json_int_t)used(c, "cache_read"));
		return event(c, "", j);
	}
	j = json_pack("{s:s, s:{s:s, s:n}}", "type", "message_delta", "delta", "stop_reason",
		      reason(c), "stop_sequence");
	if (u)
		json_object_set_new(j, "usage",
				    json_pack("{s:I}", "output_tokens",
					      (json_int_t)used(c, "output")));
	return event(c, "content_block_stop",
		     json_pack("{s:s, s:i}", "type", "content_block_stop", "index", 0)) &&
	       event(c, "message_delta", j);
}

static void end(struct conn *c)
{
	if (c->anthropic)
		event(c, "message_stop", json_pack("{s:s}", "type", "message_stop"));
	else
		chunk(c, "data: [DONE]\n\n", 14);
}

/* Until the other side hangs up. */
static void wait_for_end(struct conn *c)
{
	char gone[256];

	while (in(c, gone, sizeof(gone)) > 0)
		;
}

static void huge_text(struct conn *c)
{
	char *part = malloc((1 << 16) + 1);

	memset(part, 'x', 1 << 16);
	part[1 << 16] = '\0';
	for (long n = 0; n < 50000000 && piece(c, part); n += 1 << 16)
		;
	free(part);
}

static void huge_raw(struct conn *c, bool event_line)
{
	char *part = malloc(1 << 16);

	memset(part, 'x', 1 << 16);
	if (event_line)
		chunk(c, "data: ", 6);
	for (long n = 0;
	     n < 50000000 && (event_line ? chunk(c, part, 1 << 16) : out(c, part, 1 << 16));
	     n += 1 << 16)
		;
	free(part);
}

static void echo_key(struct conn *c)
{
	char text[9000], pad[1200];
	const char *where = str(c->line, "where", "text");

	snprintf(text, sizeof(text), "the key %s is fine, %s", c->key, c->key);
	/* so that what is quoted of it ends within the key */
	memset(pad, 'p', sizeof(pad));
	pad[num(c->line, "pad", 0)] = '\0';
	if (!strcmp(where, "status")) {
		snprintf(text, sizeof(text), "%skey %s refused", pad, c->key);
		error_page(c, 401, text);
	} else if (!strcmp(where, "page")) {
		snprintf(text, sizeof(text), "<html>%s%s", pad, c->key);
		page(c, 200, "text/html", text);
	} else if (!strcmp(where, "location")) {
		snprintf(text, sizeof(text), "https://example.invalid/%s%s", pad, c->key);
		json_object_set_new(c->line, "headers", json_pack("{s:s}", "location", text));
		page(c, 302, "text/plain", "");
	} else if (!strcmp(where, "json")) {
		snprintf(text, sizeof(text), "data: {\"%s%s\n\n", pad, c->key);
		if (head(c, 200, "text/event-stream", -1) && begin(c))
			chunk(c, text, strlen(text));
	} else if (!strcmp(where, "error")) {
		snprintf(text, sizeof(text), "%s%s", pad, c->key);
		if (head(c, 200, "text/event-stream", -1) && begin(c))
			event(c, "error",
			      json_pack("{s:s, s:{s:s}}", "type", "error", "error", "message",
					text));
	} else if (head(c, 200, "text/event-stream", -1) && begin(c) && pieces(c, text) &&
		   finish(c)) {
		end(c);
		chunk(c, "", 0);
	}
}

static void raw(struct conn *c)
{
	const json_t *j = json_object_get(c->line, "raw");
	long times = num(c->line, "times", 1);

	while (times-- > 0 && out(c, json_string_value(j), json_string_length(j)))
		;
	j = json_object_get(c->line, "then");
	out(c, str(c->line, "then", ""), json_string_length(j));
}

static void stream(struct conn *c, enum fault f)
{
	const char *text = str(c->line, "text", "");
	char *half = strndup(text, strlen(text) / 2);

	if (!head(c, 200, "text/event-stream; charset=utf-8", -1) || f == NOTHING)
		goto last;
	if (!begin(c))
		goto done;
	switch (f) {
	case CUT:
	case CUT_CLEAN:
	case STALL:
	case ERROR_EVENT:
	case BAD_JSON:
		pieces(c, half);
		break;
	case HUGE_TEXT:
		huge_text(c);
		break;
	case HUGE_EVENT:
		huge_raw(c, true);
		break;
	case PING:
		while (event(c, "ping",
			     c->anthropic ? json_pack("{s:s}", "type", "ping") :
					    choice(c, 0, "", NULL)))
			nap(c->delay_ms);
		break;
	case EMPTY:
		break;
	default:
		pieces(c, text);
	}
	if (f == STALL)
		wait_for_end(c);
	if (f == BAD_JSON)
		chunk(c, "data: {\"type\": \"content_block_delta\", oops}\n\n", 46);
	if (f == ERROR_EVENT)
		event(c, "error",
		      json_pack("{s:s, s:{s:s, s:s}}", "type", "error", "error", "type",
				"overloaded_error", "message",
				str(c->line, "message", "Overloaded")));
	if (f == TWO && c->anthropic)
		begin(c);
	if (f == TWO && !c->anthropic)
		event(c, "", choice(c, 1, "another", NULL));
	if (f == CUT || f == STALL || f == BAD_JSON || f == HUGE_TEXT || f == HUGE_EVENT)
		goto done;
	if (f != CUT_CLEAN && f != ERROR_EVENT && finish(c) && f != CUT_LATE)
		end(c);
	if (f == OPEN_END)
		wait_for_end(c);
	if (f == CUT_LATE)
		goto done;
last:
	chunk(c, "", 0);
done:
	free(half);
}

static enum fault fault_of(const json_t *line)
{
	const char *name = str(line, "fault", "");

	for (size_t i = 0; i < sizeof(fault_name) / sizeof(*fault_name); i++)
		if (!strcmp(name, fault_name[i]))
			return (enum fault)i;
	fprintf(stderr, "chatd: no fault '%s'\n", name);
	exit(2);
}

static void answer(struct conn *c)
{
	enum fault f = fault_of(c->line);
	long status = num(c->line, "status", 200);

	c->delay_ms = num(c->line, "delay_ms", 0);
	c->drip = f == DRIP;
	if (f == LATE)
		nap(c->delay_ms);
	if (!c->line)
		error_page(c, 400, "chatd: the script has no line left");
	else if (f == HANG)
		wait_for_end(c);
	else if (f == CLOSE)
		return;
	else if (f == HTML)
		page(c, status, "text/html",
		     "<!DOCTYPE html><html><body><h1>Bad \033[31mGateway</h1></body></html>");
	else if (f == HUGE_PAGE && head(c, status, "text/plain", 50000000))
		huge_raw(c, false);
	else if (f == ECHO_KEY)
		echo_key(c);
	else if (f == RAW)
		raw(c);
	else if (status != 200)
		error_page(c, status, str(c->line, "message", "no"));
	else
		stream(c, f);
}

static void *serve(void *payload)
{
	struct conn *c = payload;
	json_t *j;

	if (server.tls) {
		c->ssl = SSL_new(server.tls);
		SSL_set_fd(c->ssl, c->fd);
	}
	if ((!c->ssl || SSL_accept(c->ssl) == 1) && read_request(c)) {
		pthread_mutex_lock(&server.lock);
		log_request(c);
		c->line = json_deep_copy(next_line(c));
		pthread_mutex_unlock(&server.lock);
		j = json_loads(c->body, 0, NULL);
		c->model = strdup(str(c->line, "model", str(j, "model", "unknown")));
		json_decref(j);
		answer(c);
		if (c->ssl && fault_of(c->line) != CUT)
			SSL_shutdown(c->ssl);
	}
	if (c->ssl)
		SSL_free(c->ssl);
	close(c->fd);
	free(c->head);
	free(c->body);
	free(c->model);
	json_decref(c->line);
	free(c);
	return NULL;
}

/* -- start -------------------------------------------------------------------------- */

static void read_script(const char *path)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	json_error_t e;

	if (!f)
		die(path);
	while (getline(&line, &room, f) > 0) {
		struct script_line *l = &server.line[server.n++];

		l->j = json_loads(line, JSON_ALLOW_NUL, &e);
		if (!l->j) {
			fprintf(stderr, "chatd: %s:%zu: %s\n", path, server.n, e.text);
			exit(2);
		}
		fault_of(l->j);
		l->left = 1 + num(l->j, "repeat", 0);
	}
	free(line);
	fclose(f);
}

static void extend(X509 *cert, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	X509_add_ext(cert, ext, -1);
	X509_EXTENSION_free(ext);
}

static void make_certificate(const char *path, bool expired)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	X509_NAME *name = X509_get_subject_name(cert);
	FILE *f = fopen(path, "w");

	if (!f)
		die(path);
	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), (long)time(NULL));
	X509_gmtime_adj(X509_getm_notBefore(cert), -2 * 86400);
	X509_gmtime_adj(X509_getm_notAfter(cert), expired ? -86400 : 86400);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"chatd", -1, -1,
				   0);
	X509_set_issuer_name(cert, name);
	X509_set_pubkey(cert, key);
	extend(cert, NID_basic_constraints, "critical,CA:TRUE");
	extend(cert, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
	X509_sign(cert, key, EVP_sha256());
	PEM_write_X509(f, cert);
	fclose(f);
	server.tls = SSL_CTX_new(TLS_server_method());
	if (!SSL_CTX_use_certificate(server.tls, cert) || !SSL_CTX_use_PrivateKey(server.tls, key))
		die("certificate");
}

static int listen_on(const char *address, long port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (strncmp(address, "127.", 4) || inet_pton(AF_INET, address, &a.sin_addr) != 1)
		die("an address that is not of the loopback");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		die("cannot listen");
	printf("%d\n", ntohs(a.sin_port));
	fflush(stdout);
	return fd;
}

static const char *option(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return i + 1 < argc ? argv[i + 1] : "";
	return NULL;
}

int main(int argc, char **argv)
{
	const char *script = option(argc, argv, "--script"), *log = option(argc, argv, "--log");
	const char *tls = option(argc, argv, "--tls"), *port = option(argc, argv, "--port");
	const char *address = option(argc, argv, "--address");
	struct pollfd p[2] = { { .fd = 0, .events = POLLIN } };
	char gone[256];

	signal(SIGPIPE, SIG_IGN);
	if (!script) {
		fprintf(stderr, "chatd: --script is missing\n");
		return 2;
	}
	read_script(script);
	server.key = option(argc, argv, "--key");
	server.log = log ? fopen(log, "a") : NULL;
	if (tls)
		make_certificate(tls, option(argc, argv, "--expired"));
	p[1] = (struct pollfd){ .fd = listen_on(address ? address : "127.0.0.1",
						port ? atol(port) : 0),
				.events = POLLIN };
	while (poll(p, 2, -1) >= 0 || errno == EINTR) {
		struct conn *c;
		pthread_t t;

		if (p[0].revents && read(0, gone, sizeof(gone)) <= 0)
			return 0;
		if (!(p[1].revents & POLLIN))
			continue;
		c = calloc(1, sizeof(*c));
		c->fd = accept(p[1].fd, NULL, NULL);
		if (c->fd < 0 || pthread_create(&t, NULL, serve, c))
			die("accept");
		pthread_detach(t);
	}
	return 2;
}
