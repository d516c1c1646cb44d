/* SPDX-License-Identifier: Apache-2.0 */
#include "chatd_fixture.h"

#include <pthread.h>

#include "base/clock.h"
#include "model/provider/flaw.h"

/*
 * The providers against a server (tests/fake/chatd.c) that answers, or fails in every way we
 * thought of: each protocol, over TLS and plain.
 */
static const struct way {
	const char *name;
	bool tls;
} ways[] = {
	{ "anthropic", true },
	{ "anthropic", false },
	{ "openai", true },
	{ "openai", false },
};

struct seen {
	struct kl_reply r;
	size_t heard;
	int64_t bytes;
	struct kl_usage so_far;
	int64_t stop_at; /* heard() ends it at so many bytes; 0: never */
};

static int heard(int64_t bytes, const struct kl_usage *usage, void *payload)
{
	struct seen *seen = payload;

	assert_true(bytes >= seen->bytes);
	seen->heard++;
	seen->bytes = bytes;
	seen->so_far = *usage;
	return seen->stop_at && bytes >= seen->stop_at;
}

static void open_at(struct kl_provider **providers, const struct chatd *chatd, const char *name,
		    int64_t timeout_ms)
{
	KL_AUTO(kl_freep) char *url = kl_asprintf("%s://127.0.0.1:%d",
						  chatd->tls ? "https" : "http", chatd->port);
	struct kl_provider_opts opts = { .name = name, .url = url, .timeout_ms = timeout_ms };

	assert_ok(kl_provider_open(providers, NULL, &opts));
}

/* Ask one turn; whatever happens no message has the key in it. */
static int ask(struct seen *seen, const struct chatd *chatd, const char *name, int64_t timeout_ms)
{
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	struct kl_provider_watch watch = { .heard = heard, .payload = seen };
	struct request request;
	int err;

	kl_error_clear();
	REQUEST(&request, "first", "answer", "and then?");
	open_at(&provider, chatd, name, timeout_ms);
	err = kl_provider_send(&seen->r, provider, &request.q, &request.x, &watch);
	assert_null(strstr(kl_error_last(), "sk-test"));
	assert_null(strstr(kl_error_hints(), "sk-test"));
	return err;
}

static void release(struct seen *seen)
{
	kl_reply_release(&seen->r);
	memset(seen, 0, sizeof(*seen));
}

#define USAGE \
	"\"usage\":{\"input\":120,\"output\":45,\"cache_read\":1000,\"cache_write_5m\":300,\"cache_write_1h\":7}"
#define GOOD \
	"{\"text\":\"Sure: \xe2\x82\xac \\\"x\\\"\\n\\ttwo\"," USAGE ",\"model\":\"answers-1\"}\n"
#define TEXT "Sure: \xe2\x82\xac \"x\"\n\ttwo"

static void assert_good(const struct seen *seen, const char *name)
{
	bool _bool = !strcmp(name, "anthropic");

	assert_string_equal(seen->r.text, TEXT);
	assert_string_equal(seen->r.model, "answers-1");
	assert_contains(seen->r.request_id, "req_");
	assert_int_equal(seen->r.stop, KL_STOP_END);
	assert_true(seen->r.usage.known);
	assert_int_equal(seen->r.usage.input, 120);
	assert_int_equal(seen->r.usage.output, 45);
	assert_int_equal(seen->r.usage.cache_read, 1000);
	assert_int_equal(seen->r.usage.cache_write_5m, _bool ? 300 : 0);
	assert_int_equal(seen->r.usage.cache_write_1h, _bool ? 7 : 0);
}

static bool is_zero(const struct kl_usage *usage)
{
	return usage->known && !usage->input && !usage->output && !usage->cache_read &&
	       !usage->cache_write_5m && !usage->cache_write_1h;
}

static void a_reply_streams_in_and_the_request_is_right(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(ways); i++) {
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		KL_AUTO(json_decrefp) json_t *log = NULL, *body = NULL;
		KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
		KL_AUTO(kl_buf_release) struct kl_buf want = KL_BUF_INIT;
		struct seen seen = { 0 };
		const json_t *head;
		const char *text;
		struct request request;

		chatd_start(&chatd, GOOD, ways[i].tls ? CHATD_TLS : 0);
		assert_ok(ask(&seen, &chatd, ways[i].name, 0));
		assert_good(&seen, ways[i].name);
		assert_true(seen.heard >= 1);
		assert_int_equal(seen.bytes, strlen(TEXT));
		release(&seen);
		log = chatd_request(&chatd, 0, NULL);
		assert_string_equal(kl_json_str_or(log, "key", ""), "right");
		head = json_object_get(log, "headers");
		assert_string_equal(kl_json_str_or(head, "content-type", ""), "application/json");
		assert_string_equal(kl_json_str_or(head, "user-agent", ""),
				    "git-klineage/" KL_VERSION);
		if (!strcmp(ways[i].name, "anthropic")) {
			assert_string_equal(kl_json_str_or(log, "path", ""), "/v1/messages");
			assert_string_equal(kl_json_str_or(head, "anthropic-version", ""),
					    "2023-06-01");
		} else {
			assert_string_equal(kl_json_str_or(log, "path", ""),
					    "/v1/chat/completions");
		}
		/* what went over the wire is what kl_provider_body says */
		REQUEST(&request, "first", "answer", "and then?");
		open_at(&provider, &chatd, ways[i].name, 0);
		assert_ok(kl_provider_body(&want, NULL, provider, &request.q));
		text = kl_json_str_or(log, "body", "");
		assert_string_equal(text, want.ptr);
		assert_ok(kl_json_parse(&body, text, strlen(text)));
	}
}

static void stops_have_their_names(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(ways); i += 2) {
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		struct seen seen = { 0 };

		chatd_start(&chatd,
			    "{\"text\":\"cut sho\",\"stop\":\"length\"," USAGE "}\n"
			    "{\"text\":\"I will not\",\"stop\":\"refusal\"," USAGE "}\n"
			    "{\"text\":\"\",\"stop\":\"length\"," USAGE "}\n"
			    "{\"text\":\"\",\"stop\":\"refusal\"," USAGE "}\n",
			    CHATD_TLS);
		assert_ok(ask(&seen, &chatd, ways[i].name, 0));
		assert_int_equal(seen.r.stop, KL_STOP_LENGTH);
		assert_int_equal(seen.r.flaw, KL_FLAW_LENGTH);
		assert_string_equal(seen.r.text, "cut sho");
		release(&seen);
		assert_ok(ask(&seen, &chatd, ways[i].name, 0));
		assert_int_equal(seen.r.stop, KL_STOP_REFUSAL);
		assert_int_equal(seen.r.flaw, KL_FLAW_REFUSAL);
		release(&seen);
		assert_ok(ask(&seen, &chatd, ways[i].name, 0));
		assert_int_equal(seen.r.flaw, KL_FLAW_REASONING);
		assert_string_equal(seen.r.text, "[All tokens were spent before any text.]");
		assert_true(seen.r.usage.known); /* it was paid for */
		assert_int_equal(seen.r.usage.output, 45);
		release(&seen);
		assert_ok(ask(&seen, &chatd, ways[i].name, 0));
		assert_int_equal(seen.r.flaw, KL_FLAW_REFUSAL);
		release(&seen);
	}
}

/* One script line, what is to come of it, what is known of its cost, and whether it may pass. */
struct fault {
	const char *line;
	int kind;         /* 0: a complete reply */
	const char *part; /* of the message; of a complete reply: its text */
	enum { UNKNOWN, ZERO, KNOWN } cost;
	enum { FINAL, PASSES } then;
	int64_t timeout_ms, max_ms;
};

static void try_fault(const struct fault *fault, const struct way *way)
{
	KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
	struct seen seen = { 0 };
	const char *said;
	int64_t from;
	int err;

	chatd_start(&chatd, fault->line, way->tls ? CHATD_TLS : 0);
	from = kl_clock_ns();
	err = ask(&seen, &chatd, way->name, fault->timeout_ms ? fault->timeout_ms : 20000);
	said = err ? kl_error_last() : seen.r.text;
	if (err != fault->kind || !strstr(said, fault->part))
		fail_msg("%s%s, %s: %d: %s", way->name, way->tls ? " over TLS" : "", fault->line,
			 err, said);
	if (kl_clock_ns() - from > fault->max_ms * 1000000)
		fail_msg("%s, %s: took %lld ms", way->name, fault->line,
			 (long long)(kl_clock_ns() - from) / 1000000);
	if ((fault->cost == ZERO) != is_zero(&seen.r.usage) ||
	    (fault->cost == UNKNOWN) == seen.r.usage.known)
		fail_msg("%s, %s: usage known %d, output %lld", way->name, fault->line,
			 seen.r.usage.known, (long long)seen.r.usage.output);
	if (err && seen.r.failure.transient != (fault->then == PASSES))
		fail_msg("%s, %s: transient %d", way->name, fault->line, seen.r.failure.transient);
	assert_int_equal(chatd_count(&chatd), 1);
	release(&seen);
}

static void each_fault_is_a_clear_error_that_may_pass_or_not(void **state)
{
#define T "\"text\":\"Sure: \xe2\x82\xac \\\"x\\\"\\n\\ttwo\""
#define F(name) "{\"fault\":\"" name "\"," T "," USAGE "}\n"
#define S(status, message) "{\"status\":" #status ",\"message\":\"" message "\"}\n"
/* an event stream that begins with an error */
#define FIRST(members)                                                                                  \
	"{\"fault\":\"raw\",\"raw\":\"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\n\\r\\n" \
	"data: {\\\"type\\\":\\\"error\\\",\\\"error\\\":{\\\"message\\\":\\\"Busy\\\"," members        \
	"}}\\n\\n\"}\n"
	/* clang-format off */
	static const struct fault faults[] = {
		{ F("cut"), KL_EINVALID, "truncated", UNKNOWN, PASSES, 0, 5000 },
		{ F("cut-clean"), KL_EINVALID, "truncated after", UNKNOWN, PASSES, 0, 5000 },
		{ F("cut-late"), 0, TEXT, KNOWN, FINAL, 0, 5000 },
		{ F("bad-json"), KL_EINVALID, "not JSON: {\"type\": \"content_block_delta\", oops}", UNKNOWN, PASSES, 0, 5000 },
		{ F("html"), KL_EINVALID, "not an event stream (text/html): <!DOCTYPE html>", ZERO, PASSES, 0, 5000 },
		{ "{\"fault\":\"html\",\"status\":403}\n", KL_EIO, "403: <!DOCTYPE html><html><body><h1>Bad ?[31mG",
		  ZERO, FINAL, 0, 5000 },
		{ "{\"fault\":\"html\",\"status\":503}\n", KL_EIO, "503: <!DOCTYPE html>", ZERO, PASSES, 0, 5000 },
		{ "{\"fault\":\"html\",\"status\":502}\n", KL_EIO, "502: <!DOCTYPE html>", UNKNOWN, PASSES, 0, 5000 },
		{ F("empty"), 0, "[The reply had no text.]", KNOWN, FINAL, 0, 5000 },
		{ F("nothing"), KL_EINVALID, "the reply is empty", UNKNOWN, PASSES, 0, 5000 },
		{ F("huge-text"), KL_EINVALID, "larger than 8 MiB", UNKNOWN, PASSES, 0, 20000 },
		{ F("huge-event"), KL_EINVALID, "than 16 MiB", UNKNOWN, PASSES, 0, 20000 },
		{ F("huge-page"), KL_EINVALID, "not an event stream (text/plain): xxx", UNKNOWN, FINAL, 0, 5000 },
		{ "{\"fault\":\"huge-page\",\"status\":400}\n", KL_EIO, "400: xxx", ZERO, FINAL, 0, 5000 },
		{ F("hang"), KL_ETIMEOUT, "sent nothing for 0.2 s", UNKNOWN, PASSES, 200, 3000 },
		{ F("stall"), KL_ETIMEOUT, "sent nothing for 0.2 s", UNKNOWN, PASSES, 200, 3000 },
		{ "{\"fault\":\"ping\",\"delay_ms\":10}\n", KL_ETIMEOUT, "did not complete its reply within 0.9 s",
		  UNKNOWN, PASSES, 150, 5000 },
		{ F("open-end"), 0, TEXT, KNOWN, FINAL, 10000, 5000 },
		{ "{\"fault\":\"drip\",\"delay_ms\":0,\"piece\":50," T "," USAGE "}\n", 0, TEXT, KNOWN, FINAL, 2000, 20000 },
		{ F("close"), KL_EIO, "127.0.0.1", UNKNOWN, PASSES, 0, 5000 },
		{ F("error-event"), KL_EIO, "the server reported an error: Overloaded", UNKNOWN, PASSES, 0, 5000 },
		{ "{\"fault\":\"error-event\",\"type\":\"invalid_request_error\"," T "}\n", KL_EIO, "Overloaded", UNKNOWN,
		  FINAL, 0, 5000 },
		{ FIRST("\\\"type\\\":\\\"overloaded_error\\\""), KL_EIO, "an error: Busy", ZERO, PASSES, 0, 5000 },
		{ FIRST("\\\"code\\\":429"), KL_EIO, "an error: Busy", ZERO, PASSES, 0, 5000 },
		{ FIRST("\\\"code\\\":502"), KL_EIO, "an error: Busy", UNKNOWN, PASSES, 0, 5000 },
		{ FIRST("\\\"type\\\":\\\"authentication_error\\\""), KL_EIO, "an error: Busy", ZERO, FINAL, 0, 5000 },
		{ FIRST("\\\"type\\\":\\\"api_error\\\""), KL_EIO, "an error: Busy", UNKNOWN, PASSES, 0, 5000 },
		{ "{\"status\":307,\"headers\":{\"location\":\"https://elsewhere.example/v1\"}}\n", KL_EIO,
		  "redirects (status 307) to 'https://elsewhere.example/v1', and redirects are not followed", ZERO, FINAL, 0, 5000 },
		{ S(400, "max_tokens: \\u001b[2Jtoo\\nlarge"), KL_EIO,
		  "400: max_tokens: ?[2Jtoo large (request req_1)", ZERO, FINAL, 0, 5000 },
		{ S(401, "invalid x-api-key"), KL_EIO, "401: invalid x-api-key", ZERO, FINAL, 0, 5000 },
		{ S(429, "slow down"), KL_EIO, "429: slow down", ZERO, PASSES, 0, 5000 },
		{ S(429, "you have insufficient_quota"), KL_EIO, "429: you", ZERO, FINAL, 0, 5000 },
		{ S(529, "Overloaded"), KL_EIO, "529: Overloaded", ZERO, PASSES, 0, 5000 },
		{ "{" T "}\n", 0, TEXT, UNKNOWN, FINAL, 0, 5000 },	/* no usage is no zero */
		{ "", KL_EIO, "the script has no line left", ZERO, FINAL, 0, 5000 },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(faults); i++)
		for (size_t k = 0; k < KL_ARRAY_SIZE(ways); k++)
			try_fault(&faults[i], &ways[k]);
}

/* A reply that is whole, paid for, and of no use: its flaw is named, its text made harmless. */
static void a_flaw_is_no_error(void **state)
{
	static const struct {
		const char *members;
		enum kl_flaw flaw;
		const char *text;
	} is[] = {
		{ "\"fault\":\"two\"," T, KL_FLAW_CHOICES, TEXT },
		{ "\"fault\":\"tool\",\"text\":\"\"", KL_FLAW_TOOL,
		  "[The reply was a call of a tool.]" },
		{ "\"fault\":\"tool\",\"text\":\"let me look\"", KL_FLAW_TOOL, "let me look" },
		{ "\"text\":\"a\\u0000b\"", KL_FLAW_NUL,
		  "a\xef\xbf\xbd"
		  "b" },
		{ "\"text\":\" \\n\\n\"", KL_FLAW_EMPTY, "[The reply had no text.]" },
		{ "\"reasoning\":\"hm, hm\",\"text\":\"\",\"stop\":\"length\"", KL_FLAW_REASONING,
		  "[All tokens were spent before any text.]" },
		{ "\"reasoning\":\"hm, hm\",\"text\":\"so\"", KL_FLAW_NONE, "so" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++)
		for (size_t k = 0; k < KL_ARRAY_SIZE(ways); k++) {
			KL_AUTO(kl_freep) char *line = kl_asprintf("{%s," USAGE "}\n",
								   is[i].members);
			KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
			struct seen seen = { 0 };

			chatd_start(&chatd, line, ways[k].tls ? CHATD_TLS : 0);
			assert_ok(ask(&seen, &chatd, ways[k].name, 0));
			if (seen.r.flaw != is[i].flaw)
				fail_msg("%s, %s: flaw %s", ways[k].name, line,
					 kl_flaw_name(seen.r.flaw));
			assert_string_equal(seen.r.text, is[i].text);
			assert_true(seen.r.usage.known);
			assert_int_equal(seen.r.usage.output, 45);
			release(&seen);
		}
}

/* A count that no number can hold is no count; the reply is as good as any. */
static void a_number_of_the_usage_spoils_no_reply(void **state)
{
	static const char *const raw[] = {
		"99999999999999999999999999", "-1", "1.5", "\\\"45\\\"", "true",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(raw); i++)
		for (size_t k = 0; k < KL_ARRAY_SIZE(ways); k += 2) {
			KL_AUTO(kl_freep) char *line = kl_asprintf(
				"{" T ",\"raw_output\":\"%s\"," USAGE "}\n", raw[i]);
			KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
			struct seen seen = { 0 };

			chatd_start(&chatd, line, CHATD_TLS);
			assert_ok(ask(&seen, &chatd, ways[k].name, 0));
			assert_string_equal(seen.r.text, TEXT);
			assert_false(seen.r.usage.known);
			release(&seen);
		}
}

/*
 * A status alone is no bill: where tokens may have been made before it came its cost is not known.
 */
static void a_status_is_free_only_if_no_model_began(void **state)
{
	/* clang-format off */
	static const struct { int status; bool free, again; const char *message; } is[] = {
		{ 400, true, false, "no such model" }, { 400, false, false, "stopped by content_filter" },
		{ 401, true, false, "no" }, { 402, true, false, "no" }, { 403, true, false, "no" },
		{ 404, true, false, "no" }, { 408, false, true, "too slow" }, { 409, true, true, "no" },
		{ 413, true, false, "no" }, { 425, true, true, "no" }, { 429, true, true, "no" },
		{ 499, false, false, "no" }, { 500, false, true, "oh" }, { 501, true, false, "no" },
		{ 502, false, true, "oh" }, { 503, true, true, "no" }, { 504, false, true, "oh" },
		{ 505, true, false, "no" }, { 524, false, true, "oh" }, { 529, true, true, "no" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		KL_AUTO(kl_freep) char *line = kl_asprintf(
			"{\"status\":%d,\"message\":\"%s\",\"headers\":{\"retry-after\":\"7\"}}\n",
			is[i].status, is[i].message);
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		struct seen seen = { 0 };

		chatd_start(&chatd, line, 0);
		assert_error(KL_EIO, is[i].message, ask(&seen, &chatd, ways[i % 4].name, 0));
		assert_int_equal(is_zero(&seen.r.usage), is[i].free);
		assert_int_equal(seen.r.failure.transient, is[i].again);
		assert_int_equal(seen.r.failure.after_ms, 7000);
		assert_int_equal(chatd_count(&chatd), 1);
		release(&seen);
	}
}

/* What came of a reply that broke off: the counts of its beginning, the bytes, the time. */
static void what_is_known_of_a_broken_reply_is_kept(void **state)
{
	for (size_t k = 0; k < KL_ARRAY_SIZE(ways); k++) {
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		struct seen seen = { 0 };
		bool told = !strcmp(ways[k].name, "anthropic");

		chatd_start(&chatd,
			    "{\"fault\":\"cut\",\"reasoning\":\"hm, hm\"," T "," USAGE "}\n",
			    ways[k].tls ? CHATD_TLS : 0);
		assert_error(KL_EINVALID, "truncated", ask(&seen, &chatd, ways[k].name, 0));
		assert_false(seen.r.usage.known);
		assert_int_equal(seen.r.usage.input, told ? 120 : 0);
		assert_int_equal(seen.r.usage.cache_read, told ? 1000 : 0);
		assert_int_equal(seen.r.failure.bytes, 6 + strlen(TEXT) / 2);
		assert_true(seen.r.failure.wait_ms >= 0 && seen.r.failure.wait_ms < 5000);
		release(&seen);
	}
}

/*
 * Servers that break HTTP itself: an error in time, whose cost is not known (but for the last,
 * whose status says so), and nothing that would steer a terminal. Nothing is unpacked, since
 * nothing packed is asked for.
 */
static void what_is_no_http_is_an_error(void **state)
{
#define RAW(bytes, times, then) \
	"{\"fault\":\"raw\",\"raw\":\"" bytes "\",\"times\":" #times ",\"then\":\"" then "\"}\n"
#define OK_HEAD "HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\n"
#define CHUNKED OK_HEAD "transfer-encoding: chunked\\r\\n\\r\\n"
	static const char *const script[] = {
		RAW("hello, world\\n", 1, ""),
		RAW("HTTP/1.1 200 OK\\r\\n", 1, "\\u0000\\u0001\\u001b[31m\\r\\n\\r\\n"),
		RAW(OK_HEAD "content-encoding: gzip\\r\\n\\r\\n", 1, "\\u001f\\b\\u0000"),
		RAW(CHUNKED, 1, "ffffffffffffffffffff\\r\\nx\\r\\n"),
		RAW(CHUNKED, 1, "-5\\r\\nhello\\r\\n0\\r\\n\\r\\n"),
		RAW(CHUNKED, 1, "7\\r\\ndata: {\\r\\n0\\r\\nx-more: \\u001b[2J\\r\\n\\r\\n"),
		RAW(OK_HEAD "content-length: 3\\r\\n\\r\\n", 1, "data: {\\n\\n"),
		RAW(OK_HEAD "content-length: 99999999999999999999\\r\\n\\r\\n", 1,
		    "data: {}\\n\\n"),
		RAW("HTTP/1.1 200 OK\\r\\nx: ", 1, ""),
		RAW("HTTP/1.1 100 Continue\\r\\n\\r\\n", 5000, ""),
		RAW("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		    50000, ""),
		RAW("HTTP/1.1 200 OK\\r\\nx: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\\r\\n",
		    1, "\\r\\n<html>"),
		RAW(OK_HEAD "\\r\\ndata: [", 20000, ""),
		RAW(OK_HEAD "request-id: a\\u001b[31m\\rb\\r\\n\\r\\n", 1,
		    "data: {\\u001b[2J\\n\\n"),
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(script); i++)
		for (size_t k = 0; k < KL_ARRAY_SIZE(ways); k++) {
			KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
			KL_AUTO(json_decrefp) json_t *log = NULL;
			struct seen seen = { 0 };
			int64_t from = kl_clock_ns();
			int err;

			chatd_start(&chatd, script[i], ways[k].tls ? CHATD_TLS : 0);
			err = ask(&seen, &chatd, ways[k].name, 2000);
			if (err != KL_EIO && err != KL_EINVALID && err != KL_ETIMEOUT)
				fail_msg("%s: %d: %s", script[i], err, kl_error_last());
			for (const char *ch = kl_error_last(); *ch; ch++)
				if ((unsigned char)*ch < ' ' || *ch == 0x7f)
					fail_msg("%s: a control byte in: %s", script[i],
						 kl_error_last());
			if (seen.r.usage.known)
				fail_msg("%s: it is said to have cost nothing", script[i]);
			assert_true(kl_clock_ns() - from < INT64_C(20000000000));
			log = chatd_request(&chatd, 0, NULL);
			assert_null(json_object_get(json_object_get(log, "headers"),
						    "accept-encoding"));
			release(&seen);
		}
}

static void who_is_not_there_costs_nothing(void **state)
{
	struct chatd chatd = { .port = 1 };
	struct seen seen = { 0 };

	assert_error(KL_EIO, "http://127.0.0.1:1: ", ask(&seen, &chatd, "openai", 100));
	assert_true(seen.r.failure.transient);
	assert_true(is_zero(&seen.r.usage));
	release(&seen);
}

static void the_peer_is_verified(void **state)
{
	static const struct {
		int flags;
		const char *why;
	} who[] = {
		{ CHATD_TLS | CHATD_EXPIRED, "expired" },
		{ CHATD_TLS | CHATD_STRANGER, "self" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(who); i++) {
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		struct seen seen = { 0 };

		chatd_start(&chatd, GOOD, who[i].flags);
		assert_error(KL_EIO, who[i].why, ask(&seen, &chatd, "anthropic", 0));
		assert_contains(kl_error_last(), "certificate");
		assert_false(seen.r.failure.transient);
		assert_true(is_zero(&seen.r.usage));
		assert_int_equal(chatd_count(&chatd), 0);
		release(&seen);
	}
}

static void a_name_that_is_not_in_the_certificate_is_refused(void **state)
{
	KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(kl_freep) char *url = NULL;
	struct kl_provider_opts opts = { .name = "anthropic" };
	struct kl_reply reply;
	struct request request;

	chatd_start(&chatd, GOOD, CHATD_TLS | CHATD_ELSEWHERE);
	REQUEST(&request, "hello");
	opts.url = url = kl_asprintf("https://127.0.0.2:%d", chatd.port);
	assert_ok(kl_provider_open(&provider, NULL, &opts));
	assert_error(KL_EIO, "certificate",
		     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	assert_contains(kl_error_last(), "127.0.0.2");
	kl_reply_release(&reply);
	assert_int_equal(chatd_count(&chatd), 0);
}

/* git's own settings: a CA file, and a proxy. */
static void trust_and_route_come_from_git_too(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("trust");
	KL_AUTO(chatd_stop) struct chatd chatd = { 0 }, proxy = { 0 };
	KL_AUTO(json_decrefp) json_t *log = NULL;
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(kl_freep) char *url = NULL;
	struct kl_provider_opts opts = { .name = "anthropic", .timeout_ms = 3000 };
	struct kl_reply reply;
	struct request request;

	chatd_start(&chatd, GOOD GOOD, CHATD_TLS | CHATD_STRANGER);
	opts.url = url = kl_asprintf("https://localhost:%d", chatd.port);
	REQUEST(&request, "hello");
	sh(dir, "git config http.sslCAInfo %s; git config http.sslVerify false", chatd.ca);
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_provider_open(&provider, repo, &opts));
	assert_ok(kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	assert_string_equal(reply.text, TEXT);
	kl_reply_release(&reply);
	kl_provider_free(kl_steal(&provider));
	kl_repo_free(kl_steal(&repo));

	/* http.sslVerify=false is not heard */
	sh(dir, "git config --unset http.sslCAInfo");
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_provider_open(&provider, repo, &opts));
	assert_error(KL_EIO, "certificate",
		     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	kl_reply_release(&reply);
	kl_provider_free(kl_steal(&provider));
	kl_repo_free(kl_steal(&repo));

	/* the proxy is asked for a tunnel, and given no key */
	chatd_start(&proxy, "{\"status\":403}\n", CHATD_SECOND);
	sh(dir, "git config http.sslCAInfo %s; git config http.proxy http://127.0.0.1:%d", chatd.ca,
	   proxy.port);
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_provider_open(&provider, repo, &opts));
	assert_error(KL_EIO, "403",
		     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	assert_true(is_zero(&reply.usage));
	kl_reply_release(&reply);
	assert_int_equal(chatd_count(&chatd), 1);
	log = chatd_request(&proxy, 0, NULL);
	assert_string_equal(kl_json_str_or(log, "path", ""), strchr(url, '/') + 2);
	assert_string_equal(kl_json_str_or(log, "key", ""), "none");
}

/* A plain request never goes through a proxy: it would take the key along. */
static void plain_requests_meet_no_proxy(void **state)
{
	KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
	struct seen seen = { 0 };

	chatd_start(&chatd, GOOD, 0);
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("all_proxy", "http://127.0.0.1:1", 1);
	assert_ok(ask(&seen, &chatd, "openai", 0));
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	assert_good(&seen, "openai");
	release(&seen);
}

static void the_key_is_in_nothing_that_comes_back(void **state)
{
	/* clang-format off */
	static const struct { const char *where, *part; bool anthropic_only; } echo[] = {
		{ "status", "key [key] refused", false }, { "page", "<html>", false },
		{ "location", "https://example.invalid/[key]", false }, { "json", "[key]", false },
		{ "error", "the server reported an error", false },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(echo); i++) {
		for (size_t k = 0; k < KL_ARRAY_SIZE(ways); k++) {
			/* kept up to 1024 bytes */
			bool location = !strcmp(echo[i].where, "location");

			for (int pad = 0; pad < (location ? 1030 : 560);
			     pad += location              ? pad ? 9 : 950 :
				    pad < 60 || pad > 480 ? 7 :
							    60) {
				KL_AUTO(kl_freep) char *line = kl_asprintf(
					"{\"fault\":\"echo-key\",\"where\":\"%s\",\"pad\":%d}\n",
					echo[i].where, pad);
				KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
				struct seen seen = { 0 };

				if (pad && ways[k].tls)
					continue;
				chatd_start(&chatd, line, ways[k].tls ? CHATD_TLS : 0);
				assert_true(ask(&seen, &chatd, ways[k].name, 0) <
					    0); /* looks for "sk-test" itself */
				if (!pad)
					assert_contains(kl_error_last(), echo[i].part);
				release(&seen);
			}
		}
	}
}

static void a_reply_that_tells_the_key_is_cleaned_of_it(void **state)
{
	for (size_t k = 0; k < KL_ARRAY_SIZE(ways); k++) {
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		struct seen seen = { 0 };

		chatd_start(&chatd,
			    "{\"fault\":\"echo-key\",\"where\":\"text\",\"model\":\"m-" TEST_KEY
			    "\"}\n",
			    0);
		assert_ok(ask(&seen, &chatd, ways[k].name, 0));
		assert_string_equal(seen.r.text, "the key [key] is fine, [key]");
		assert_string_equal(seen.r.model, "m-[key]");
		release(&seen);
	}
}

static void the_watcher_can_end_it(void **state)
{
	for (size_t k = 0; k < KL_ARRAY_SIZE(ways); k++) {
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		struct seen seen = { .stop_at = 5 };

		chatd_start(&chatd, "{\"fault\":\"stall\",\"piece\":1," T "," USAGE "}\n",
			    ways[k].tls ? CHATD_TLS : 0);
		assert_error(KL_EINTR, "interrupted", ask(&seen, &chatd, ways[k].name, 0));
		assert_true(strlen(seen.r.text) >= 5 && strlen(seen.r.text) < strlen(TEXT));
		assert_false(seen.r.usage.known);
		release(&seen);
	}
}

/* In a process of its own: an interruption is for good. */
static void ctrl_c_ends_it_within_a_moment(void **state)
{
	static const char *const lines[] = { F("hang"), F("stall") };

	for (size_t i = 0; i < KL_ARRAY_SIZE(lines); i++) {
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		int status, tries = 0;
		int64_t from;
		pid_t pid;

		chatd_start(&chatd, lines[i], CHATD_TLS);
		pid = fork();
		if (!pid) {
			struct seen seen = { 0 };

			kl_proc_catch_signals();
			_exit(ask(&seen, &chatd, "anthropic", 60000) == KL_EINTR ? 0 : 1);
		}
		while (!chatd_count(&chatd) && tries++ < 500)
			kl_clock_sleep_ms(20);
		kl_clock_sleep_ms(300);
		from = kl_clock_ns();
		kill(pid, SIGINT);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		assert_true(kl_clock_ns() - from < INT64_C(2000000000));
	}
}

/* 2 MB of request, as a long conversation has. */
static void a_long_request_gets_there_whole(void **state)
{
	for (size_t k = 0; k < KL_ARRAY_SIZE(ways); k++) {
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
		KL_AUTO(kl_freep) char *big = kl_malloc(2000001);
		KL_AUTO(json_decrefp) json_t *log = NULL;
		KL_AUTO(kl_reply_release) struct kl_reply reply;
		struct request request;

		memset(big, 'b', 2000000);
		big[2000000] = '\0';
		chatd_start(&chatd, GOOD, ways[k].tls ? CHATD_TLS : 0);
		open_at(&provider, &chatd, ways[k].name, 0);
		REQUEST(&request, big);
		assert_ok(kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
		assert_string_equal(reply.text, TEXT);
		log = chatd_request(&chatd, 0, NULL);
		assert_contains(kl_json_str_or(log, "body", ""), big);
	}
}

/* Several in one process, as a walk and its re-derivations may be. */
static void *ask_in_thread(void *payload)
{
	struct chatd *chatd = payload;
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(kl_reply_release) struct kl_reply reply = { 0 };
	KL_AUTO(kl_freep) char *url = kl_asprintf("https://127.0.0.1:%d", chatd->port);
	struct kl_provider_opts opts = { .name = "openai", .url = url };
	struct request request;

	REQUEST(&request, "hello");
	if (kl_provider_open(&provider, NULL, &opts) ||
	    kl_provider_send(&reply, provider, &request.q, &request.x, NULL))
		return NULL;
	return !strcmp(reply.text, TEXT) ? payload : NULL;
}

static void two_at_once_do_not_meet(void **state)
{
	KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
	pthread_t pthreads[4];
	void *ok;

	chatd_start(&chatd, "{\"repeat\":9," T "," USAGE "}\n", CHATD_TLS);
	for (size_t i = 0; i < KL_ARRAY_SIZE(pthreads); i++)
		assert_int_equal(pthread_create(&pthreads[i], NULL, ask_in_thread, &chatd), 0);
	for (size_t i = 0; i < KL_ARRAY_SIZE(pthreads); i++) {
		pthread_join(pthreads[i], &ok);
		assert_non_null(ok);
	}
}

static bool mapped(const char *what)
{
	KL_AUTO(kl_buf_release) struct kl_buf maps = KL_BUF_INIT;

	assert_ok(kl_fs_read(&maps, "/proc/self/maps", 1 << 24));
	return strstr(maps.ptr, what);
}

/* First of all tests: nothing of libcurl is here until something is sent. */
static void libcurl_is_opened_when_it_is_used(void **state)
{
	KL_AUTO(kl_freep) char *self = chatd_path();
	KL_AUTO(kl_freep) char *program = kl_asprintf("%.*s/../git-klineage",
						      (int)(strrchr(self, '/') - self), self);
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
	struct seen seen = { 0 };

	assert_true(kl_fs_exists(program));
	assert_sh("0", scratch_root,
		  "ldd %s >libraries 2>&1 || exit 9; grep -c libcurl libraries || :", program);
	assert_sh("0", "/", "ldd /proc/%d/exe | grep -c libcurl || :", (int)getpid());
	chatd_start(&chatd, GOOD, 0);
	open_at(&provider, &chatd, "anthropic", 0);
	assert_false(mapped("libcurl"));
	assert_ok(ask(&seen, &chatd, "openai", 0));
	assert_true(mapped("libcurl"));
	release(&seen);
}

static int setup(void **state)
{
	int err = chatd_setup(state);

	setenv("KLINEAGE_CHAT_KEY", TEST_KEY, 1);
	return err;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libcurl_is_opened_when_it_is_used),
		cmocka_unit_test(a_reply_streams_in_and_the_request_is_right),
		cmocka_unit_test(stops_have_their_names),
		cmocka_unit_test(each_fault_is_a_clear_error_that_may_pass_or_not),
		cmocka_unit_test(a_flaw_is_no_error),
		cmocka_unit_test(a_number_of_the_usage_spoils_no_reply),
		cmocka_unit_test(a_status_is_free_only_if_no_model_began),
		cmocka_unit_test(what_is_known_of_a_broken_reply_is_kept),
		cmocka_unit_test(what_is_no_http_is_an_error),
		cmocka_unit_test(who_is_not_there_costs_nothing),
		cmocka_unit_test(the_peer_is_verified),
		cmocka_unit_test(a_name_that_is_not_in_the_certificate_is_refused),
		cmocka_unit_test(trust_and_route_come_from_git_too),
		cmocka_unit_test(plain_requests_meet_no_proxy),
		cmocka_unit_test(the_key_is_in_nothing_that_comes_back),
		cmocka_unit_test(a_reply_that_tells_the_key_is_cleaned_of_it),
		cmocka_unit_test(the_watcher_can_end_it),
		cmocka_unit_test(ctrl_c_ends_it_within_a_moment),
		cmocka_unit_test(a_long_request_gets_there_whole),
		cmocka_unit_test(two_at_once_do_not_meet),
	};

	return cmocka_run_group_tests_name("chat/http", tests, setup, scratch_teardown);
}
