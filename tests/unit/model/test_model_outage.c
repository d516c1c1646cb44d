/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long outages, over HTTP: ten minutes of 529 and ten minutes without a server are outwaited.
 */
#include "outage_fixture.h"

#define MINUTE_NS (60 * SECOND_NS)
#define OUTAGE_NS (10 * MINUTE_NS)
#define BUSY "{\"status\":529,\"message\":\"overloaded\",\"repeat\":999}\n"

static struct {
	struct chatd *d; /* listens at `port` when the outage ends */
	int port;
	size_t refused; /* requests that it refused until then */
} server;

static void bring_back(void)
{
	if (server.d->pid > 0) {
		server.refused = chatd_count(server.d);
		chatd_stop(server.d);
	}
	chatd_start_at(server.d, GOOD, 0, server.port);
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
	server.port = fixture->d.port;
	server.d = &fixture->d;
	sh(fixture->dir,
	   "git config klineage.chat.provider %s; git config klineage.chat.model m-1;"
	   "git config klineage.chat.url http://127.0.0.1:%d; git config klineage.chat.timeout 10;"
	   "git config klineage.m-1.price 'input=3 output=15'",
	   provider, fixture->d.port);
}

/* Ask once, while the outage lasts for `ns`. Returns the minutes until the answer. */
static int64_t minutes_of(struct fixture *fixture, int64_t ns, const char *says, int want)
{
	int64_t from = kl_clock_ns();

	assert_int_equal(outage_ask_during(fixture->dir, ns, bring_back, says), want);
	return (kl_clock_ns() - from) / MINUTE_NS;
}

/* The pauses grow to two minutes, so the reply comes within them, and the server is not flooded. */
static void ten_minutes_of_overload_are_outwaited(void **state)
{
	KL_AUTO(fixture_release) struct fixture f = { 0 };

	fixture_start(&f, "anthropic", BUSY);
	assert_in_range(minutes_of(&f, OUTAGE_NS, "", 0), 10, 12);
	assert_in_range(server.refused, 10, 20);
	assert_int_equal(chatd_count(&f.d), 1);
	outage_assert_settled(f.dir, COST);
}

static void ten_minutes_without_a_network_are_outwaited(void **state)
{
	KL_AUTO(fixture_release) struct fixture f = { 0 };

	fixture_start(&f, "openai", GOOD);
	chatd_stop(&f.d);
	assert_in_range(minutes_of(&f, OUTAGE_NS, "", 0), 10, 12);
	assert_int_equal(chatd_count(&f.d), 1);
	outage_assert_settled(f.dir, COST);
}

/* The default patience is an hour. */
static void an_outage_of_more_than_an_hour_ends_the_turn(void **state)
{
	KL_AUTO(fixture_release) struct fixture f = { 0 };

	fixture_start(&f, "anthropic", BUSY);
	assert_int_equal(minutes_of(&f, 90 * MINUTE_NS, "klineage.chat.patience has passed",
				    KL_ETIMEOUT),
			 60);
	assert_in_range(chatd_count(&f.d), 30, 75);
	outage_assert_settled(f.dir, 0);
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
