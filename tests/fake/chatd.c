/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chatd - a pretended provider, on the loopback alone: Anthropic Messages at .../messages, OpenAI
 * Responses at .../responses, chat completions anywhere else, all streamed. What it answers stands
 * in a script.
 *
 *	chatd --script <file> --log <file> [--key <key>] [--tls <file> [--expired]] [--port <n>]
 *	      [--address 127.<...>] [--account] [--bill <file>] [--chaos <seed>]
 *
 * With --account the usage is that of a cache (chatd_account.c), not of the script; --bill writes
 * what is charged as JSON Lines; with --chaos a third of the requests meets a fault that passes.
 * It prints its port as the first line of stdout and serves until it is killed, or its stdin ends.
 * With
 * --tls it makes a certificate for 127.0.0.1 and localhost and writes it to the file, as a CA bundle.
 *
 * The script is JSON Lines; each request takes the next line (with `match`: the next whose text is
 * in the body; with `repeat`: n more requests get the same). A line over is an error 400.
 *
 *	text		what is replied, in small pieces (`piece` characters each, default 7)
 *	usage		{input, output, cache_read, cache_write_5m, cache_write_1h}; absent: none is said
 *	usage_as	a usage object that goes out as it is; `usage_start`: that of message_start;
 *			`around`: members beside it
 *	stop		end, length, refusal
 *	reasoning	what is thought before the text
 *	raw_output	stands for the output tokens in the usage, as it is
 *	type		of the error of fault error-event
 *	model		that answers; default: the one asked for
 *	status		instead of 200, with `message` as the error's words, `headers` ({name: value}) besides
 *	fault		see enum fault below
 *	raw		of fault raw: bytes in place of a reply, `times` over, and `then` behind them
 *	delay_ms	of fault drip (between bytes), ping (between pings), late (before the answer)
 *
 * The log is JSON Lines: `n`, `path`, `key` ("right", "wrong", "none"), `headers` (less the key),
 * `body`.
 */
#include "chatd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
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
	TOOL,        /* calls a tool, after the text */
	ECHO_KEY,    /* tells the key in every place it can */
	/* `raw`, byte for byte, `times` over, then `then`; then the connection goes */
	RAW,
};
static const char *const fault_name[] = {
	"",         "cut",       "cut-clean", "cut-late",   "bad-json",    "html",  "empty",
	"nothing",  "huge-text", "huge-page", "huge-event", "hang",        "stall", "open-end",
	"drip",     "ping",      "late",      "close",      "error-event", "two",   "tool",
	"echo-key", "raw",
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
	bool account;
	FILE *bill;
	unsigned long chaos; /* state of the strikes; 0: none */
	size_t struck;
	pthread_mutex_t lock;
} server = { .lock = PTHREAD_MUTEX_INITIALIZER };

void die(const char *what)
{
	fprintf(stderr, "chatd: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void nap(long ms)
{
	struct timespec now = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&now, NULL);
}

/* -- bytes ------------------------------------------------------------------------ */

static bool raw_out(struct conn *conn, const char *at, size_t n)
{
	while (n) {
		ssize_t k = conn->ssl ? SSL_write(conn->ssl, at, n > 1 << 14 ? 1 << 14 : (int)n) :
					send(conn->fd, at, n, MSG_NOSIGNAL);

		if (k <= 0)
			return false;
		at += k;
		n -= (size_t)k;
	}
	return true;
}

static bool out(struct conn *conn, const char *at, size_t n)
{
	if (!conn->drip)
		return raw_out(conn, at, n);
	for (; n; n--, at++) {
		if (!raw_out(conn, at, 1))
			return false;
		nap(conn->delay_ms);
	}
	return true;
}

/* A piece of the body, as a chunk. */
bool chunk(struct conn *conn, const char *at, size_t n)
{
	char size[32];

	snprintf(size, sizeof(size), "%zx\r\n", n);
	return out(conn, size, strlen(size)) && out(conn, at, n) && out(conn, "\r\n", 2);
}

static ssize_t in(struct conn *conn, char *at, size_t n)
{
	return conn->ssl ? SSL_read(conn->ssl, at, (int)n) : read(conn->fd, at, n);
}

/* -- the request ------------------------------------------------------------------ */

static const char *header(const char *head, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = strstr(head, "\r\n"); at; at = strstr(at, "\r\n")) {
		at += 2;
		if (!strncasecmp(at, name, n) && at[n] == ':')
			return at + n + 1 + strspn(at + n + 1, " ");
	}
	return NULL;
}

static bool read_request(struct conn *conn)
{
	size_t len = 0, room = 1 << 16, want = 0;
	char *buf = malloc(room + 1), *end = NULL;

	for (;;) {
		ssize_t k = in(conn, buf + len, room - len);

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
			conn->head = strdup(buf);
			conn->body = strndup(end, want);
			conn->body_len = want;
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
static json_t *headers_of(struct conn *conn)
{
	json_t *all = json_object();

	for (char *at = strstr(conn->head, "\r\n"); at;) {
		char *line = at + 2, *end = strstr(line, "\r\n"), *colon = strchr(line, ':');
		size_t n = end ? (size_t)(end - line) : strlen(line);
		char name[128], value[4200];

		at = end;
		if (!colon || colon >= line + n)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(colon - line), line);
		colon += 1 + strspn(colon + 1, " ");
		snprintf(value, sizeof(value), "%.*s", (int)(line + n - colon), colon);
		for (char *next = name; *next; next++)
			*next |= *next >= 'A' && *next <= 'Z' ? 0x20 : 0;
		if (!strcmp(name, "x-api-key") || !strcmp(name, "api-key"))
			snprintf(conn->key, sizeof(conn->key), "%s", value);
		else if (!strcmp(name, "authorization"))
			snprintf(conn->key, sizeof(conn->key), "%s",
				 value + (strncmp(value, "Bearer ", 7) ? 0 : 7));
		else {
			json_object_set_new(all, name, json_string(value));
			continue;
		}
		/* the header is told, its key not */
		json_object_set_new(all, name,
				    json_string(!strncmp(value, "Bearer ", 7) ? "Bearer" : ""));
	}
	return all;
}

static void log_request(struct conn *conn)
{
	json_t *value = json_object();
	char path[256] = "";

	sscanf(conn->head, "%*s %255s", path);
	conn->protocol = strstr(path, "/messages") || strstr(path, "RawPredict") ? MESSAGES :
			 strstr(path, "/responses")                              ? RESPONSES :
										   COMPLETIONS;
	conn->n = server.requests;
	json_object_set_new(value, "headers", headers_of(conn));
	json_object_set_new(value, "n", json_integer((json_int_t)server.requests++));
	json_object_set_new(value, "path", json_string(path));
	json_object_set_new(value, "body", json_stringn(conn->body, conn->body_len));
	json_object_set_new(value, "key",
			    json_string(!*conn->key                                  ? "none" :
					server.key && !strcmp(conn->key, server.key) ? "right" :
										       "wrong"));
	if (server.log) {
		json_dumpf(value, server.log, JSON_COMPACT | JSON_SORT_KEYS);
		fputc('\n', server.log);
		fflush(server.log);
	}
	json_decref(value);
}

/*
 * A third of all requests is struck by a fault that passes; the script's line stays for the next
 * attempt. xorshift by the seed, so that a run can be repeated.
 */
static json_t *strike(void)
{
	static const char *const faults[] = {
		"{\"status\":529,\"message\":\"Overloaded\",\"headers\":{\"retry-after-ms\":\"20\"}}",
		"{\"status\":429,\"message\":\"slow down\",\"headers\":{\"retry-after-ms\":\"20\"}}",
		"{\"status\":503,\"headers\":{\"retry-after-ms\":\"20\"}}",
		"{\"status\":500,\"headers\":{\"retry-after-ms\":\"20\"}}",
		"{\"fault\":\"html\",\"status\":502,\"headers\":{\"retry-after-ms\":\"20\"}}",
		"{\"fault\":\"close\"}",
		"{\"fault\":\"cut\",\"text\":\"half of an answer, no more\",\"headers\":{\"retry-after-ms\":\"20\"}}",
		"{\"fault\":\"cut-clean\",\"text\":\"half of an answer, no more\",\"headers\":{\"retry-after-ms\":\"20\"}}",
		"{\"fault\":\"error-event\",\"text\":\"half of an answer\",\"headers\":{\"retry-after-ms\":\"20\"}}",
		"{\"fault\":\"bad-json\",\"text\":\"half of an answer\",\"headers\":{\"retry-after-ms\":\"20\"}}",
		"{\"fault\":\"nothing\",\"headers\":{\"retry-after-ms\":\"20\"}}",
		"{\"fault\":\"html\",\"headers\":{\"retry-after-ms\":\"20\"}}",
	};
	unsigned long *x = &server.chaos;

	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	if (*x % 3)
		return NULL;
	server.struck++;
	return json_loads(faults[*x / 3 % (sizeof(faults) / sizeof(*faults))], 0, NULL);
}

static json_t *next_line(const struct conn *conn)
{
	for (size_t i = 0; i < server.n; i++) {
		struct script_line *line = &server.line[i];
		const char *match = json_string_value(json_object_get(line->j, "match"));

		if (!line->left || (match && !strstr(conn->body, match)))
			continue;
		line->left--;
		return line->j;
	}
	return NULL;
}

/* -- replies ------------------------------------------------------------------------ */

const char *str(const json_t *item, const char *key, const char *dflt)
{
	const json_t *value = json_object_get(item, key);

	return json_is_string(value) ? json_string_value(value) : dflt;
}

long num(const json_t *item, const char *key, long dflt)
{
	const json_t *value = json_object_get(item, key);

	return json_is_integer(value) ? (long)json_integer_value(value) : dflt;
}

static bool head(struct conn *conn, long status, const char *type, long length)
{
	char hex[8192];
	json_t *more = json_object_get(conn->line, "headers"), *value;
	const char *name;
	size_t n;

	n = (size_t)snprintf(hex, sizeof(hex),
			     "HTTP/1.1 %ld Whatever\r\nconnection: close\r\ncontent-type: %s\r\n"
			     "request-id: req_%zu\r\n",
			     status, type, server.requests);
	if (length >= 0)
		n += (size_t)snprintf(hex + n, sizeof(hex) - n, "content-length: %ld\r\n", length);
	else
		n += (size_t)snprintf(hex + n, sizeof(hex) - n, "transfer-encoding: chunked\r\n");
	json_object_foreach(more, name, value)
		n += (size_t)snprintf(hex + n, sizeof(hex) - n, "%s: %s\r\n", name,
				      json_string_value(value));
	n += (size_t)snprintf(hex + n, sizeof(hex) - n, "\r\n");
	return out(conn, hex, n);
}

static void page(struct conn *conn, long status, const char *type, const char *text)
{
	if (head(conn, status, type, (long)strlen(text)))
		out(conn, text, strlen(text));
}

static void error_page(struct conn *conn, long status, const char *message)
{
	json_t *entry = error_document(conn, message);
	char *text = json_dumps(entry, JSON_COMPACT);

	page(conn, status, "application/json", text);
	free(text);
	json_decref(entry);
}

/* Until the other side hangs up. */
static void wait_for_end(struct conn *conn)
{
	char gone[256];

	while (in(conn, gone, sizeof(gone)) > 0)
		;
}

static bool pieces(struct conn *conn, const char *text, size_t n)
{
	size_t size = (size_t)num(conn->line, "piece", 7);

	while (n) {
		size_t k = n < size ? n : size;

		while (k < n && (text[k] & 0xc0) == 0x80)
			k++;
		if (!send_piece(conn, text, k))
			return false;
		text += k;
		n -= k;
	}
	return true;
}

static void huge_text(struct conn *conn)
{
	char *part = malloc((1 << 16) + 1);

	memset(part, 'x', 1 << 16);
	part[1 << 16] = '\0';
	for (long n = 0; n < 50000000 && send_piece(conn, part, 1 << 16); n += 1 << 16)
		;
	free(part);
}

static void huge_raw(struct conn *conn, bool event_line)
{
	char *part = malloc(1 << 16);

	memset(part, 'x', 1 << 16);
	if (event_line)
		chunk(conn, "data: ", 6);
	for (long n = 0;
	     n < 50000000 && (event_line ? chunk(conn, part, 1 << 16) : out(conn, part, 1 << 16));
	     n += 1 << 16)
		;
	free(part);
}

static void echo_key(struct conn *conn)
{
	char text[9000], pad[1200];
	const char *where = str(conn->line, "where", "text");

	snprintf(text, sizeof(text), "the key %s is fine, %s", conn->key, conn->key);
	/* so that what is quoted of it ends within the key */
	memset(pad, 'p', sizeof(pad));
	pad[num(conn->line, "pad", 0)] = '\0';
	if (!strcmp(where, "status")) {
		snprintf(text, sizeof(text), "%skey %s refused", pad, conn->key);
		error_page(conn, 401, text);
	} else if (!strcmp(where, "page")) {
		snprintf(text, sizeof(text), "<html>%s%s", pad, conn->key);
		page(conn, 200, "text/html", text);
	} else if (!strcmp(where, "location")) {
		snprintf(text, sizeof(text), "https://example.invalid/%s%s", pad, conn->key);
		json_object_set_new(conn->line, "headers", json_pack("{s:s}", "location", text));
		page(conn, 302, "text/plain", "");
	} else if (!strcmp(where, "json")) {
		snprintf(text, sizeof(text), "data: {\"%s%s\n\n", pad, conn->key);
		if (head(conn, 200, "text/event-stream", -1) && begin_reply(conn))
			chunk(conn, text, strlen(text));
	} else if (!strcmp(where, "error")) {
		snprintf(text, sizeof(text), "%s%s", pad, conn->key);
		if (head(conn, 200, "text/event-stream", -1) && begin_reply(conn))
			send_error(conn, "some_error", text);
	} else if (head(conn, 200, "text/event-stream", -1) && begin_reply(conn) &&
		   pieces(conn, text, strlen(text)) && finish_reply(conn)) {
		end_reply(conn);
		chunk(conn, "", 0);
	}
}

static void raw(struct conn *conn)
{
	const json_t *value = json_object_get(conn->line, "raw");
	long times = num(conn->line, "times", 1);

	while (times-- > 0 && out(conn, json_string_value(value), json_string_length(value)))
		;
	value = json_object_get(conn->line, "then");
	out(conn, str(conn->line, "then", ""), json_string_length(value));
}

static void stream(struct conn *conn, enum fault fault)
{
	const json_t *whole = json_object_get(conn->line, "text");
	const char *text = json_is_string(whole) ? json_string_value(whole) : "";
	size_t n = json_is_string(whole) ? json_string_length(whole) : 0;

	if (!head(conn, 200, "text/event-stream; charset=utf-8", -1) || fault == NOTHING)
		goto last;
	conn->charged = true;
	if (!begin_reply(conn) || (json_object_get(conn->line, "reasoning") &&
				   !send_thought(conn, str(conn->line, "reasoning", ""))))
		return;
	switch (fault) {
	case CUT:
	case CUT_CLEAN:
	case STALL:
	case ERROR_EVENT:
	case BAD_JSON:
		pieces(conn, text, n / 2);
		break;
	case HUGE_TEXT:
		huge_text(conn);
		break;
	case HUGE_EVENT:
		huge_raw(conn, true);
		break;
	case PING:
		while (send_ping(conn))
			nap(conn->delay_ms);
		break;
	case EMPTY:
		break;
	default:
		pieces(conn, text, n);
	}
	if (fault == STALL)
		wait_for_end(conn);
	if (fault == BAD_JSON)
		chunk(conn, "data: {\"type\": \"content_block_delta\", oops}\n\n", 46);
	if (fault == ERROR_EVENT)
		send_error(conn, str(conn->line, "type", "overloaded_error"),
			   str(conn->line, "message", "Overloaded"));
	if (fault == TOOL)
		send_call(conn);
	if (fault == TWO)
		send_second(conn);
	if (fault == CUT || fault == STALL || fault == BAD_JSON || fault == HUGE_TEXT ||
	    fault == HUGE_EVENT)
		return;
	if (fault != CUT_CLEAN && fault != ERROR_EVENT && finish_reply(conn) && fault != CUT_LATE)
		end_reply(conn);
	if (fault == OPEN_END)
		wait_for_end(conn);
	if (fault == CUT_LATE)
		return;
last:
	chunk(conn, "", 0);
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

static void answer(struct conn *conn)
{
	enum fault fault = fault_of(conn->line);
	long status = num(conn->line, "status", 200);

	conn->delay_ms = num(conn->line, "delay_ms", 0);
	conn->drip = fault == DRIP;
	if (fault == LATE)
		nap(conn->delay_ms);
	if (!conn->line)
		error_page(conn, 400, "chatd: the script has no line left");
	else if (fault == HANG)
		wait_for_end(conn);
	else if (fault == CLOSE)
		return;
	else if (fault == HTML)
		page(conn, status, "text/html",
		     "<!DOCTYPE html><html><body><h1>Bad \033[31mGateway</h1></body></html>");
	else if (fault == HUGE_PAGE && head(conn, status, "text/plain", 50000000))
		huge_raw(conn, false);
	else if (fault == ECHO_KEY)
		echo_key(conn);
	else if (fault == RAW)
		raw(conn);
	else if (status != 200)
		error_page(conn, status, str(conn->line, "message", "no"));
	else
		stream(conn, fault);
}

/* What the script says, or the accounts. */
static void find_usage(struct conn *conn)
{
	const json_t *usage = json_object_get(conn->line, "usage");

	if (server.account && conn->line) {
		account_request(conn);
		return;
	}
	conn->usage = (struct usage){
		.told = usage,
		.input = num(usage, "input", 0),
		.output = num(usage, "output", 0),
		.cache_read = num(usage, "cache_read", 0),
		.cache_write_5m = num(usage, "cache_write_5m", 0),
		.cache_write_1h = num(usage, "cache_write_1h", 0),
	};
}

static void *serve(void *payload)
{
	struct conn *conn = payload;
	json_t *value;

	if (server.tls) {
		conn->ssl = SSL_new(server.tls);
		SSL_set_fd(conn->ssl, conn->fd);
	}
	if ((!conn->ssl || SSL_accept(conn->ssl) == 1) && read_request(conn)) {
		pthread_mutex_lock(&server.lock);
		log_request(conn);
		conn->line = server.chaos ? strike() : NULL;
		if (!conn->line)
			conn->line = json_deep_copy(next_line(conn));
		find_usage(conn);
		pthread_mutex_unlock(&server.lock);
		value = json_loads(conn->body, 0, NULL);
		conn->model = strdup(str(conn->line, "model", str(value, "model", "unknown")));
		json_decref(value);
		answer(conn);
		pthread_mutex_lock(&server.lock);
		if (server.bill && conn->charged)
			charge_request(conn, server.bill);
		pthread_mutex_unlock(&server.lock);
		if (conn->ssl && fault_of(conn->line) != CUT)
			SSL_shutdown(conn->ssl);
	}
	if (conn->ssl)
		SSL_free(conn->ssl);
	close(conn->fd);
	free(conn->head);
	free(conn->body);
	free(conn->model);
	json_decref(conn->line);
	free(conn);
	return NULL;
}

/* -- start -------------------------------------------------------------------------- */

static void read_script(const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	json_error_t error;

	if (!file)
		die(path);
	while (getline(&line, &room, file) > 0) {
		struct script_line *script_line = &server.line[server.n++];

		script_line->j = json_loads(line, JSON_ALLOW_NUL, &error);
		if (!script_line->j) {
			fprintf(stderr, "chatd: %s:%zu: %s\n", path, server.n, error.text);
			exit(2);
		}
		fault_of(script_line->j);
		script_line->left = 1 + num(script_line->j, "repeat", 0);
	}
	free(line);
	fclose(file);
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
	FILE *file = fopen(path, "w");

	if (!file)
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
	PEM_write_X509(file, cert);
	fclose(file);
	server.tls = SSL_CTX_new(TLS_server_method());
	if (!SSL_CTX_use_certificate(server.tls, cert) || !SSL_CTX_use_PrivateKey(server.tls, key))
		die("certificate");
}

static int listen_on(const char *address, long port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (strncmp(address, "127.", 4) || inet_pton(AF_INET, address, &in.sin_addr) != 1)
		die("an address that is not of the loopback");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &len) < 0)
		die("cannot listen");
	printf("%d\n", ntohs(in.sin_port));
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
	struct pollfd pollfds[2] = { { .fd = 0, .events = POLLIN } };
	char gone[256];

	signal(SIGPIPE, SIG_IGN);
	if (!script) {
		fprintf(stderr, "chatd: --script is missing\n");
		return 2;
	}
	read_script(script);
	server.key = option(argc, argv, "--key");
	server.account = option(argc, argv, "--account");
	if (option(argc, argv, "--bill") &&
	    !(server.bill = fopen(option(argc, argv, "--bill"), "a")))
		die("--bill");
	if (option(argc, argv, "--chaos"))
		server.chaos = strtoul(option(argc, argv, "--chaos"), NULL, 10) * 2 + 1;
	server.log = log ? fopen(log, "a") : NULL;
	if (tls)
		make_certificate(tls, option(argc, argv, "--expired"));
	pollfds[1] = (struct pollfd){ .fd = listen_on(address ? address : "127.0.0.1",
						      port ? atol(port) : 0),
				      .events = POLLIN };
	while (poll(pollfds, 2, -1) >= 0 || errno == EINTR) {
		struct conn *conn;
		pthread_t pthread;

		if (pollfds[0].revents && read(0, gone, sizeof(gone)) <= 0)
			return 0;
		if (!(pollfds[1].revents & POLLIN))
			continue;
		conn = calloc(1, sizeof(*conn));
		conn->fd = accept(pollfds[1].fd, NULL, NULL);
		if (conn->fd < 0 || pthread_create(&pthread, NULL, serve, conn))
			die("accept");
		pthread_detach(pthread);
	}
	return 2;
}
