/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations over the wire: what a server was really asked, when each turn is another process's.
 */
#include "chatd_fixture.h"

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

/*
 * The failure may have cost what it may: it stands. The same turn is asked again, and no key is in
 * the repository.
 */
static void a_reply_that_breaks_off_is_paid_for_and_asked_again(void **state)
{
	static const char *const provider[] = { "anthropic", "openai" };

	for (size_t i = 0; i < 2; i++) {
		KL_AUTO(wire_release) struct wire wire = { 0 };
		int64_t stands;
		int err;

		wire_start(
			&wire, provider[i],
			"{\"fault\":\"cut\",\"text\":\"half and half\"," USAGE "}\n"
			"{\"status\":400,\"message\":\"no\"}\n{\"fault\":\"echo-key\"}\n{\"text\":\"r 1\"," USAGE
			"}\n");
		assert_null(ask(&wire, 0, &err));
		assert_error(KL_EINVALID, "truncated", err);
		stands = totals(&wire).of[KL_BUDGET_INDUCE].reserved;
		assert_true(stands > 0);
		assert_null(ask(&wire, 0, &err));
		assert_error(KL_EIO, "400: no", err);
		/* that cost nothing more */
		assert_int_equal(totals(&wire).of[KL_BUDGET_INDUCE].reserved, stands);
		assert_says(&wire, 0, "the key [key] is fine, [key]");
		assert_says(&wire, 1, "r 1");
		assert_int_equal(chatd_count(&wire.d), 4);
		assert_sh(
			"0", wire.dir,
			"git cat-file --batch-all-objects --batch >all; grep -c 'r 1' all >/dev/null; "
			"grep -c sk-test all || :");
		assert_sh("0", wire.dir, "grep -rl sk-test .git | wc -l");
	}
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
		cmocka_unit_test(a_reply_that_breaks_off_is_paid_for_and_asked_again),
	};

	return cmocka_run_group_tests_name("chat/session", tests, setup, scratch_teardown);
}
