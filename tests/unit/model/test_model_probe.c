/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `chat probe` at a stand-in for every provider: what is sent is as documented, and the ledger has
 * what the documented usage costs, to the nano-dollar.
 */
#include "chatd_fixture.h"
#include "provider_rows.h"

#include <sys/wait.h>

#include "base/clock.h"
#include "model/ledger.h"
#include "model/money.h"
#include "model/probe.h"

#define PRICE "input=100 output=500 cache-read=10 cache-write-5m=125 cache-write-1h=200"

/* A repository that asks the row at this server, its path being the row's own. */
static char *configured(const char *row, int port)
{
	char *dir = scratch_repo("probe");

	sh(dir,
	   "git config klineage.chat.provider %s; git config klineage.chat.url http://127.0.0.1:%d;"
	   "git config klineage.chat.model test-model-1; git config klineage.chat.price '" PRICE
	   "';"
	   "git config klineage.chat.resource r-1; git config klineage.chat.region eu-1;"
	   "git config klineage.chat.project p-1; git config klineage.chat.version 2024-10-21;"
	   "git config klineage.chat.cache 5m",
	   row, port);
	return dir;
}

/* What the documented usage of a row costs, nano-dollars: worked out apart from the code. */
static int64_t bill_of(const struct row *row)
{
	int64_t sum = row->usage.input * 100000 + row->usage.output * 500000 +
		      row->usage.cache_read * 10000 + row->usage.cache_write_5m * 125000 +
		      row->usage.cache_write_1h * 200000;

	/* the usage states the charged amount */
	return strcmp(row->name, "openrouter") ? sum / 1000 * row->permille : 950000000;
}

static void assert_money(struct kl_repo *repo, const char *name, int64_t settled, int64_t reserved)
{
	struct kl_ledger_totals totals;

	assert_ok(kl_ledger_totals(&totals, repo, KL_PROBE_WORKLOAD));
	if (totals.of[KL_BUDGET_INDUCE].settled != settled ||
	    totals.of[KL_BUDGET_INDUCE].reserved != reserved)
		fail_msg("%s: %lld settled and %lld reserved, not %lld and %lld", name,
			 (long long)totals.of[KL_BUDGET_INDUCE].settled,
			 (long long)totals.of[KL_BUDGET_INDUCE].reserved, (long long)settled,
			 (long long)reserved);
}

/* The end of the body as in the row, with the limit of a probe and its key of the cache. */
static char *tail_of(const struct row *row, const json_t *body)
{
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;

	for (const char *at = row->tail; *at; at++) {
		if (!strncmp(at, ":1000", 5)) {
			kl_buf_addf(&out, ":%d", KL_PROBE_TOKENS);
			at += 4;
		} else if (!strncmp(at, "\"k-1\"", 5)) {
			kl_buf_addf(&out, "\"%s\"",
				    kl_json_str_or(body, "prompt_cache_key", "none"));
			at += 4;
		} else {
			kl_buf_addch(&out, *at);
		}
	}
	return kl_buf_detach(&out);
}

static void check_request(const struct row *row, const struct chatd *chatd)
{
	KL_AUTO(json_decrefp) json_t *body = NULL;
	size_t count;
	KL_AUTO(json_decrefp) json_t *log = chatd_request(chatd, 0, &count);
	const json_t *head = json_object_get(log, "headers");
	const char *text = kl_json_str_or(log, "body", "");
	KL_AUTO(kl_freep) char *tail = NULL;

	assert_int_equal(count, 1);
	assert_string_equal(kl_json_str_or(log, "path", ""), row->path);
	assert_string_equal(kl_json_str_or(log, "key", ""), "right");
	assert_non_null(json_object_get(head, row->header));
	assert_string_equal(kl_json_str_or(head, "anthropic-version", "none"),
			    row->version ? row->version : "none");
	assert_ok(kl_json_parse(&body, text, strlen(text)));
	tail = tail_of(row, body);
	if (strlen(text) < strlen(tail) || strcmp(text + strlen(text) - strlen(tail), tail))
		fail_msg("%s: the body does not end with %s: %s", row->name, tail, text);
}

static void each_row_is_probed_and_billed_to_the_cent(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		KL_AUTO(kl_freep) char *line = kl_asprintf("{\"text\":\"ready\",%s}\n",
							   rows[i].line);
		KL_AUTO(kl_freep) char *dir = NULL;
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		KL_AUTO(kl_probe_release) struct kl_probe probe = { 0 };

		chatd_start(&chatd, line, 0);
		dir = configured(rows[i].name, chatd.port);
		assert_ok(kl_repo_open_at(&repo, dir));
		assert_ok(kl_probe_run(&probe, repo));
		assert_true(kl_probe_works(&probe));
		assert_string_equal(probe.provider, rows[i].name);
		assert_string_equal(probe.reply.text, "ready");
		check_request(&rows[i], &chatd);
		assert_int_equal(probe.nano, bill_of(&rows[i]));
		assert_money(repo, rows[i].name, bill_of(&rows[i]), 0);
	}
}

/*
 * A probe that does not work is a result. A failed request is settled at its cost and not repeated.
 */
static void a_probe_that_fails_is_settled(void **state)
{
	/* clang-format off */
	static const struct { const char *line; int err; const char *says; enum kl_cost_by by; bool held; } is[] = {
		{ "{\"text\":\"ready\"}", 0, NULL, KL_COST_RESERVED, false },
		{ "{\"text\":\"ready\",\"usage\":{\"input\":900000,\"output\":1}}", 0, NULL, KL_COST_IMPLAUSIBLE, false },
		{ "{\"text\":\"no\",\"stop\":\"refusal\",\"usage\":{\"input\":9,\"output\":1}}", 0, NULL, KL_COST_COUNTED, false },
		{ "{\"status\":401,\"message\":\"withdrawn\"}", KL_EIO, "401: withdrawn", 0, false },
		{ "{\"status\":529,\"message\":\"overloaded\",\"repeat\":9}", KL_EIO, "529: overloaded", 0, false },
		{ "{\"status\":500,\"message\":\"broken\",\"repeat\":9}", KL_EIO, "500: broken", 0, true },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		KL_AUTO(kl_freep) char *line = kl_asprintf("%s\n", is[i].line), *dir = NULL;
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		KL_AUTO(kl_probe_release) struct kl_probe probe = { 0 };
		KL_AUTO(json_decrefp) json_t *log = NULL;
		struct kl_ledger_totals totals;
		size_t count;
		int err;

		chatd_start(&chatd, line, 0);
		dir = configured("anthropic", chatd.port);
		assert_ok(kl_repo_open_at(&repo, dir));
		err = kl_probe_run(&probe, repo);
		log = chatd_request(&chatd, 0, &count);
		assert_int_equal(count, 1);
		assert_ok(kl_ledger_totals(&totals, repo, KL_PROBE_WORKLOAD));
		assert_int_equal(totals.of[KL_BUDGET_INDUCE].reserved > 0, is[i].held);
		if (is[i].err) {
			assert_error(is[i].err, is[i].says, err);
			continue;
		}
		assert_ok(err);
		assert_int_equal(probe.by, is[i].by);
		assert_false(kl_probe_works(&probe));
		assert_int_equal(totals.of[KL_BUDGET_INDUCE].settled, probe.nano);
		assert_true(probe.nano > 0);
	}
}

/* Remove the lock of the ledger after `ms`; a process that sh() leaves behind would be killed. */
static pid_t unlock_later(const char *dir, int ms)
{
	KL_AUTO(kl_freep) char *lock = kl_asprintf("%s/.git/refs/klineage/ledger/probe.lock", dir);
	pid_t child = fork();

	assert_true(child >= 0);
	if (child)
		return child;
	kl_clock_sleep_ms(ms);
	_exit(unlink(lock) != 0);
}

/* The time has the server's part, but not the wait for a ledger that is locked for two seconds. */
static void the_time_is_that_of_the_reply(void **state)
{
	KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
	KL_AUTO(kl_freep) char *dir = NULL;
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_probe_release) struct kl_probe probe = { 0 };
	int64_t start;
	pid_t child;

	chatd_start(&chatd, "{\"text\":\"ready\",\"fault\":\"late\",\"delay_ms\":300}\n", 0);
	dir = configured("anthropic", chatd.port);
	assert_ok(kl_repo_open_at(&repo, dir));
	sh(dir, "git config core.filesRefLockTimeout 60000;"
		"mkdir -p .git/refs/klineage/ledger; : >.git/refs/klineage/ledger/probe.lock");
	start = kl_clock_ns();
	child = unlock_later(dir, 2000);
	assert_ok(kl_probe_run(&probe, repo));
	assert_true(kl_clock_ns() - start >= INT64_C(2000000000));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(probe.ms >= 300);
	assert_true(probe.ms < 2000);
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
		cmocka_unit_test(each_row_is_probed_and_billed_to_the_cent),
		cmocka_unit_test(a_probe_that_fails_is_settled),
		cmocka_unit_test(the_time_is_that_of_the_reply),
	};

	return cmocka_run_group_tests_name("chat/probe", tests, setup, scratch_teardown);
}
