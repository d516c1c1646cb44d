/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations over the wire: what a server was really asked, when each turn is another process's.
 */
#include "chatd_fixture.h"

#include "base/clock.h"
#include "model/ledger.h"
#include "model/request.h"

#define USAGE "\"usage\":{\"input\":20,\"output\":10,\"cache_read\":100,\"cache_write_5m\":30}"

static const char *const said[] = { "the kernel\n\tfor (;;)", "got \"nan\", wanted 1",
				    "slower \xe2\x82\xac", "and now" };

struct wire {
	const char *provider;
	char *dir;
	struct chatd d;
};

static void wire_release(struct wire *wire)
{
	chatd_stop(&wire->d);
	free(wire->dir);
}

static void wire_start(struct wire *wire, const char *provider, const char *script)
{
	wire->provider = provider;
	wire->dir = scratch_repo(provider);
	chatd_start(&wire->d, script, CHATD_TLS);
	sh(wire->dir,
	   "git config klineage.chat.provider %s; git config klineage.chat.url https://127.0.0.1:%d;"
	   "git config klineage.chat.model m-1; git config klineage.chat.timeout 10;"
	   "git config klineage.m-1.price 'input=3 output=15 cache-read=1 cache-write-5m=4 cache-write-1h=6'",
	   provider, wire->d.port);
}

/* Ask as a process of its own would; the reply is the caller's, or NULL with the error set. */
static char *ask(struct wire *wire, size_t turn, int *err)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_session_freep) struct kl_session *session = NULL;
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
	struct kl_session_opts opts = { .workload = "w" };
	struct kl_request request = { .user = said[turn] };
	const char *reply = NULL;

	assert_ok(kl_repo_open_at(&repo, wire->dir));
	assert_ok(kl_session_open(&session, repo, &opts));
	assert_ok(
		kl_session_conversation(&conversation, session, "n", "back-0", request_system, 2));
	*err = kl_request_send(&reply, &conversation, turn, &request);
	return *err < 0 ? NULL : kl_strdup(reply);
}

static void assert_says(struct wire *wire, size_t turn, const char *want)
{
	int err;
	KL_AUTO(kl_freep) char *reply = ask(wire, turn, &err);

	assert_ok(err);
	assert_string_equal(reply, want);
}

static struct kl_ledger_totals totals(struct wire *wire)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_ledger_totals ledger_totals;

	assert_ok(kl_repo_open_at(&repo, wire->dir));
	assert_ok(kl_ledger_totals(&ledger_totals, repo, "w"));
	return ledger_totals;
}

/* Up to where the next request must be the same: the end of the last message's text. */
static size_t covered(const char *body, const char *last)
{
	const char *text = strstr(body, last), *end = NULL;

	for (; text; text = strstr(text + 1, last))
		end = text + strlen(last);
	assert_non_null(end);
	return (size_t)(end - body);
}

static void each_process_sends_what_the_last_had_sent(void **state)
{
	static const char *const provider[] = { "anthropic", "openai" };
	static const char *const last[] = { "wanted 1", "slower \xe2\x82\xac", "and now" };

	for (size_t i = 0; i < 2; i++) {
		KL_AUTO(wire_release) struct wire wire = { 0 };
		KL_AUTO(json_decrefp) json_t *before = NULL;
		size_t n;

		wire_start(&wire, provider[i],
			   "{\"text\":\"r 0 \xc3\xa9\"," USAGE "}\n{\"text\":\"r 1\\n\"," USAGE
			   "}\n"
			   "{\"text\":\"r 2\"," USAGE "}\n{\"text\":\"r 3\"," USAGE "}\n");
		assert_says(&wire, 0, "r 0 \xc3\xa9");
		assert_says(&wire, 1, "r 1\n");
		assert_says(&wire, 0, "r 0 \xc3\xa9"); /* stored: not asked again */
		assert_says(&wire, 2, "r 2");
		assert_says(&wire, 3, "r 3");
		assert_int_equal(chatd_count(&wire.d), 4);
		before = chatd_request(&wire.d, 0, NULL);
		for (n = 1; n < 4; n++) {
			json_t *now = chatd_request(&wire.d, n, NULL);
			const char *left = kl_json_str_or(before, "body", ""),
				   *right = kl_json_str_or(now, "body", "");
			size_t same = covered(left, n == 1 ? "for (;;)" : last[n - 2]);

			if (strncmp(left, right, same))
				fail_msg("turn %zu does not begin as turn %zu did:\n%s\n%s", n,
					 n - 1, left, right);
			assert_true(same > 120);
			json_decref(before);
			before = now;
		}
		assert_int_equal(totals(&wire).of[KL_BUDGET_INDUCE].reserved, 0);
		assert_true(totals(&wire).of[KL_BUDGET_INDUCE].settled > 0);
	}
}

static int64_t elapsed_ms(int64_t from)
{
	return (kl_clock_ns() - from) / 1000000;
}

/* All that passes, one after the other, and no hand is needed; no key is in the repository. */
static void trouble_that_passes_is_outwaited(void **state)
{
#define NOW "\"headers\":{\"retry-after-ms\":\"10\"}"
	static const char trouble[] =
		"{\"fault\":\"close\"}\n{\"status\":529," NOW "}\n{\"status\":429," NOW "}\n"
		"{\"status\":503," NOW "}\n{\"status\":500," NOW "}\n"
		"{\"fault\":\"cut\"," NOW ",\"text\":\"half and half\"," USAGE "}\n"
		"{\"fault\":\"cut-clean\"," NOW ",\"text\":\"half and half\"," USAGE "}\n"
		"{\"fault\":\"error-event\"," NOW ",\"text\":\"half and half\"," USAGE "}\n"
		"{\"fault\":\"bad-json\"," NOW ",\"text\":\"half and half\"," USAGE "}\n"
		"{\"fault\":\"nothing\"," NOW "}\n{\"fault\":\"html\"," NOW "}\n"
		"{\"text\":\"r 0\"," USAGE "}\n";
	static const char *const provider[] = { "anthropic", "openai" };

	for (size_t i = 0; i < 2; i++) {
		KL_AUTO(wire_release) struct wire wire = { 0 };

		wire_start(&wire, provider[i], trouble);
		assert_says(&wire, 0, "r 0");
		assert_int_equal(chatd_count(&wire.d), 12);
		/* of 500, close and no event at all the cost is not known: 12 less 3 */
		assert_sh("12 reserve\n9 settle", wire.dir,
			  "git log --format=%%s refs/klineage/ledger/w | cut -d' ' -f2 | sort | "
			  "uniq -c | sed 's/^ *//'");
		assert_sh("0", wire.dir, "grep -rl sk-test .git | wc -l");
	}
}

static void what_does_not_pass_is_told_at_once(void **state)
{
	KL_AUTO(wire_release) struct wire wire = { 0 };
	int err;

	wire_start(&wire, "anthropic",
		   "{\"status\":400,\"message\":\"no\"}\n{\"fault\":\"echo-key\"}\n");
	assert_null(ask(&wire, 0, &err));
	assert_error(KL_EIO, "400: no", err);
	assert_int_equal(totals(&wire).of[KL_BUDGET_INDUCE].reserved, 0);
	assert_says(&wire, 0, "the key [key] is fine, [key]");
	assert_int_equal(chatd_count(&wire.d), 2);
	assert_sh("0", wire.dir, "grep -rl sk-test .git | wc -l");
}

/* A pause that the server asks for is kept, if it is within the patience. */
static void a_pause_that_is_asked_for_is_kept(void **state)
{
	KL_AUTO(wire_release) struct wire wire = { 0 };
	int64_t from = kl_clock_ns();
	int err;

	wire_start(
		&wire, "openai",
		"{\"status\":429,\"headers\":{\"retry-after\":\"2\"}}\n"
		"{\"text\":\"r 0\"," USAGE "}\n"
		"{\"status\":429,\"message\":\"slow down\",\"headers\":{\"retry-after\":\"3601\"}}\n");
	assert_says(&wire, 0, "r 0");
	assert_in_range(elapsed_ms(from), 2000, 8000);
	from = kl_clock_ns();
	assert_null(ask(&wire, 1, &err));
	assert_error(KL_ETIMEOUT, "429: slow down", err);
	assert_contains(kl_error_last(), "asks for a pause longer than");
	assert_true(elapsed_ms(from) < 5000);
	assert_int_equal(totals(&wire).of[KL_BUDGET_INDUCE].reserved, 0);
}

/* Nobody is there: nothing is paid, and the patience ends in time. */
static void a_lost_network_is_waited_for(void **state)
{
	KL_AUTO(wire_release) struct wire wire = { 0 };
	int64_t from;
	pid_t pid;
	int err, status;

	wire_start(&wire, "openai", "{\"text\":\"r 0\"," USAGE "}\n");
	kill(wire.d.pid, SIGSTOP);
	sh(wire.dir,
	   "git config klineage.chat.url http://127.0.0.1:1; git config klineage.chat.patience 2");
	from = kl_clock_ns();
	assert_null(ask(&wire, 0, &err));
	assert_error(KL_ETIMEOUT, "klineage.chat.patience has passed", err);
	assert_in_range(elapsed_ms(from), 1900, 8000);
	assert_int_equal(totals(&wire).of[KL_BUDGET_INDUCE].reserved, 0);
	/* it comes back: at the same place a server begins to listen */
	kill(wire.d.pid, SIGCONT);
	chatd_stop(&wire.d);
	chatd_start(&wire.d, "{\"text\":\"r 0\"," USAGE "}\n", 0);
	status = wire.d.port;
	chatd_stop(&wire.d);
	sh(wire.dir,
	   "git config klineage.chat.url http://127.0.0.1:%d; git config klineage.chat.patience 60",
	   status);
	pid = fork();
	if (!pid) {
		KL_AUTO(kl_freep) char *reply = ask(&wire, 0, &err);

		_exit(reply && !strcmp(reply, "r 0") ? 0 : 1);
	}
	kl_clock_sleep_ms(2500);
	chatd_start_at(&wire.d, "{\"text\":\"r 0\"," USAGE "}\n", 0, status);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(chatd_count(&wire.d), 1);
}

/* Ctrl-C in a pause ends it, and nothing is reserved. */
static void ctrl_c_ends_a_pause(void **state)
{
	KL_AUTO(wire_release) struct wire wire = { 0 };
	int err, status, tries = 0;
	int64_t from;
	pid_t pid;

	wire_start(&wire, "anthropic", "{\"status\":529,\"headers\":{\"retry-after\":\"60\"}}\n");
	pid = fork();
	if (!pid) {
		kl_proc_catch_signals();
		ask(&wire, 0, &err);
		_exit(err == KL_EINTR ? 0 : 1);
	}
	while (!chatd_count(&wire.d) && tries++ < 500)
		kl_clock_sleep_ms(20);
	kl_clock_sleep_ms(500);
	from = kl_clock_ns();
	kill(pid, SIGINT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(elapsed_ms(from) < 2000);
	assert_int_equal(totals(&wire).of[KL_BUDGET_INDUCE].reserved, 0);
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
		cmocka_unit_test(each_process_sends_what_the_last_had_sent),
		cmocka_unit_test(trouble_that_passes_is_outwaited),
		cmocka_unit_test(what_does_not_pass_is_told_at_once),
		cmocka_unit_test(a_pause_that_is_asked_for_is_kept),
		cmocka_unit_test(a_lost_network_is_waited_for),
		cmocka_unit_test(ctrl_c_ends_a_pause),
	};

	return cmocka_run_group_tests_name("chat/session", tests, setup, scratch_teardown);
}
