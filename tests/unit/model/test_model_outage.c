/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long outages, over HTTP: ten minutes of 529 and ten minutes without a server are outwaited. The
 * clock of base/clock.h is replaced: what the code sleeps passes at once.
 */
#include "chatd_fixture.h"

#include <time.h>

#include "base/clock.h"
#include "model/ledger.h"
#include "model/request.h"

#define MINUTE_NS (INT64_C(60) * 1000000000)
#define OUTAGE_NS (10 * MINUTE_NS)
#define GOOD "{\"text\":\"back again\",\"usage\":{\"input\":20,\"output\":10}}\n"
#define COST 210000 /* of this reply, nano-dollars */
#define BUSY "{\"status\":529,\"message\":\"overloaded\",\"repeat\":999}\n"

static struct {
	bool skips;           /* what is slept passes at once */
	int64_t skipped_ns;   /* time that passed in this way */
	int64_t ends_ns;      /* when the outage ends; 0: it has ended */
	struct chatd *server; /* listens at `port` when the outage ends */
	int port;
	size_t refused; /* requests that the server refused until then */
} outage;

static int64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t kl_clock_ns(void)
{
	return real_ns() + outage.skipped_ns;
}

void kl_clock_sleep_ms(int64_t ms)
{
	struct timespec delay = { ms / 1000, (ms % 1000) * 1000000 };

	if (!outage.skips) {
		nanosleep(&delay, NULL);
		return;
	}
	outage.skipped_ns += ms * 1000000;
	if (!outage.ends_ns || kl_clock_ns() < outage.ends_ns)
		return;
	outage.ends_ns = 0;
	if (outage.server->pid > 0) {
		outage.refused = chatd_count(outage.server);
		chatd_stop(outage.server);
	}
	chatd_start_at(outage.server, GOOD, 0, outage.port);
}

void kl_clock_iso(char out[21])
{
	memcpy(out, "2026-11-20T10:00:00Z", 21);
}

struct fixture {
	char *dir;
	struct chatd d;
};

static void fixture_release(struct fixture *fixture)
{
	chatd_stop(&fixture->d);
	free(fixture->dir);
}

static void fixture_start(struct fixture *fixture, const char *provider, const char *script)
{
	fixture->dir = scratch_repo(provider);
	chatd_start(&fixture->d, script, 0);
	outage.port = fixture->d.port;
	outage.server = &fixture->d;
	sh(fixture->dir,
	   "git config klineage.chat.provider %s; git config klineage.chat.model m-1;"
	   "git config klineage.chat.url http://127.0.0.1:%d; git config klineage.chat.timeout 10;"
	   "git config klineage.m-1.price 'input=3 output=15'",
	   provider, fixture->d.port);
}

/* Ask once, while the outage lasts for `ns`. Returns the minutes until the answer. */
static int64_t ask_during(struct fixture *fixture, int64_t ns, const char *want, int want_err)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_session_freep) struct kl_session *session = NULL;
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
	struct kl_session_opts opts = { .workload = "w" };
	struct kl_request request = { .user = "the kernel" };
	const char *reply = NULL;
	int64_t from;
	int err;

	assert_ok(kl_repo_open_at(&repo, fixture->dir));
	assert_ok(kl_session_open(&session, repo, &opts));
	assert_ok(
		kl_session_conversation(&conversation, session, "n", "back-0", request_system, 2));
	from = kl_clock_ns();
	outage.ends_ns = from + ns;
	outage.skips = true;
	err = kl_request_send(&reply, &conversation, 0, &request);
	outage.skips = false;
	assert_int_equal(err, want_err);
	if (err < 0)
		assert_contains(kl_error_last(), want);
	else
		assert_string_equal(reply, want);
	return (kl_clock_ns() - from) / MINUTE_NS;
}

static void assert_money(struct fixture *fixture, int64_t settled)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_ledger_totals totals;

	assert_ok(kl_repo_open_at(&repo, fixture->dir));
	assert_ok(kl_ledger_totals(&totals, repo, "w"));
	assert_int_equal(totals.of[KL_BUDGET_INDUCE].settled, settled);
	assert_int_equal(totals.of[KL_BUDGET_INDUCE].reserved, 0);
}

/* The pauses grow to two minutes, so the reply comes within them, and the server is not flooded. */
static void ten_minutes_of_overload_are_outwaited(void **state)
{
	KL_AUTO(fixture_release) struct fixture f = { 0 };

	fixture_start(&f, "anthropic", BUSY);
	assert_in_range(ask_during(&f, OUTAGE_NS, "back again", 0), 10, 12);
	assert_in_range(outage.refused, 10, 20);
	assert_int_equal(chatd_count(&f.d), 1);
	assert_money(&f, COST);
}

static void ten_minutes_without_a_network_are_outwaited(void **state)
{
	KL_AUTO(fixture_release) struct fixture f = { 0 };

	fixture_start(&f, "openai", GOOD);
	chatd_stop(&f.d);
	assert_in_range(ask_during(&f, OUTAGE_NS, "back again", 0), 10, 12);
	assert_int_equal(chatd_count(&f.d), 1);
	assert_money(&f, COST);
}

/* The default patience is an hour. */
static void an_outage_of_more_than_an_hour_ends_the_turn(void **state)
{
	KL_AUTO(fixture_release) struct fixture f = { 0 };

	fixture_start(&f, "anthropic", BUSY);
	assert_int_equal(ask_during(&f, 90 * MINUTE_NS, "klineage.chat.patience has passed",
				    KL_ETIMEOUT),
			 60);
	assert_in_range(chatd_count(&f.d), 30, 75);
	assert_money(&f, 0);
}

static int setup_key(void **state)
{
	int failed = chatd_setup(state);

	setenv("KLINEAGE_CHAT_KEY", TEST_KEY, 1);
	return failed;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_minutes_of_overload_are_outwaited),
		cmocka_unit_test(ten_minutes_without_a_network_are_outwaited),
		cmocka_unit_test(an_outage_of_more_than_an_hour_ends_the_turn),
	};

	return cmocka_run_group_tests_name("chat/outage", tests, setup_key, scratch_teardown);
}
