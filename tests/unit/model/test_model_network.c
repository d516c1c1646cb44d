/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lost network, as a machine sees it: no route, packets that are lost, a name that does not resolve, a name server that
 * fails or says nothing, a TLS handshake that stalls. Each is outwaited, and costs nothing, since
 * no request left the machine.
 */
#include "network_fixture.h"
#include "outage_fixture.h"

#define OUTAGE_NS (15 * SECOND_NS)

/* One way in which the network is lost. */
struct loss {
	const char *name;
	const char *host;
	const char *says; /* part of the message */
	bool down;        /* of the only interface */
	enum network_dns dns;
	int flags;   /* of chatd */
	bool stalls; /* connections are accepted, but no byte comes back */
};

static const struct loss losses[] = {
	{ "no-route", NETWORK_NAME, "Couldn't connect to server", false, DNS_NO_ROUTE, 0, false },
	{ "no-packets", "127.0.0.1", "Timeout was reached", true, 0, 0, false },
	{ "no-name", NETWORK_NAME, "Could not resolve host", false, DNS_NO_NAME, 0, false },
	{ "broken-dns", NETWORK_NAME, "Could not resolve host", false, DNS_BROKEN, 0, false },
	{ "silent-dns", NETWORK_NAME, "Resolving timed out", false, DNS_SILENT, 0, false },
	{ "stalled-tls", "127.0.0.1", "", false, 0, CHATD_TLS, true },
};

static struct {
	const struct loss *loss;
	struct chatd server; /* listens at `port` when the network is there again */
	int port;
	int listener; /* listens there and does not answer; -1 if there is none */
} lost;

static void bring_back(void)
{
	*network.dns = DNS_ANSWERS;
	if (lost.listener >= 0)
		close(lost.listener);
	lost.listener = -1;
	network_up(true);
	chatd_start_at(&lost.server, GOOD, lost.loss->flags, lost.port);
}

/* Listen and accept nothing: the kernel completes connections, and nobody answers them. */
static int listen_at(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)) | listen(fd, 16), 0);
	return fd;
}

/* A repository that asks a server which cannot be reached. The caller frees. */
static char *lose(const struct loss *loss)
{
	char *dir = scratch_repo(loss->name);
	struct chatd free_port = { 0 };

	chatd_start(&free_port, GOOD, 0);
	lost.port = free_port.port;
	chatd_stop(&free_port);
	lost.loss = loss;
	lost.listener = loss->stalls ? listen_at(lost.port) : -1;
	*network.dns = loss->dns;
	network_up(!loss->down);
	sh(dir,
	   "git config klineage.chat.provider anthropic; git config klineage.chat.model m-1;"
	   "git config klineage.chat.url http%s://%s:%d; git config klineage.chat.timeout 1;"
	   "git config klineage.chat.insecure true; git config klineage.m-1.price 'input=3 output=15'",
	   loss->flags & CHATD_TLS ? "s" : "", loss->host, lost.port);
	return dir;
}

static void need_network(void)
{
	if (network.is_there)
		return;
	print_message("SKIPPED: this system allows no namespaces\n");
	skip();
}

/* --- tests ----------------------------------------------------------------------------- */

static void a_lost_network_is_outwaited(void **state)
{
	need_network();
	for (size_t i = 0; i < KL_ARRAY_SIZE(losses); i++) {
		KL_AUTO(kl_freep) char *dir = lose(&losses[i]);
		int64_t from = kl_clock_ns(), took;

		assert_ok(outage_ask_during(dir, OUTAGE_NS, bring_back, ""));
		took = kl_clock_ns() - from;
		if (took < OUTAGE_NS || took > 3 * OUTAGE_NS)
			fail_msg("%s: the reply came after %.1f s", losses[i].name,
				 (double)took / (double)SECOND_NS);
		assert_int_equal(chatd_count(&lost.server), 1);
		outage_assert_settled(dir, COST);
		chatd_stop(&lost.server);
	}
}

/* The message has the reason, and nothing is held for requests that never left the machine. */
static void a_network_that_stays_away_ends_the_turn(void **state)
{
	need_network();
	for (size_t i = 0; i < KL_ARRAY_SIZE(losses); i++) {
		KL_AUTO(kl_freep) char *dir = lose(&losses[i]);

		sh(dir, "git config klineage.chat.patience 2");
		assert_int_equal(outage_ask_during(dir, 60 * OUTAGE_NS, bring_back, losses[i].says),
				 KL_ETIMEOUT);
		assert_contains(kl_error_last(), "klineage.chat.patience has passed");
		outage_assert_settled(dir, 0);
		network_up(true);
		if (lost.listener >= 0)
			close(lost.listener);
	}
}

/* Neither the time limit nor an interrupt waits for the C library's resolver. */
static void a_silent_name_server_holds_up_nothing(void **state)
{
	const struct loss *silent = &losses[4];
	KL_AUTO(kl_freep) char *dir = NULL;
	int64_t from;
	int status;
	pid_t pid;

	need_network();
	dir = lose(silent);
	sh(dir, "git config klineage.chat.patience 0");
	from = real_ns();
	assert_int_equal(outage_ask_during(dir, OUTAGE_NS, bring_back, ""), KL_ETIMEOUT);
	assert_true(real_ns() - from < 4 * SECOND_NS);
	sh(dir, "git config klineage.chat.timeout 60");
	pid = fork();
	if (!pid) {
		kl_proc_catch_signals();
		_exit(outage_ask(dir) == KL_EINTR ? 0 : 1);
	}
	kl_clock_sleep_ms(1500);
	from = real_ns();
	kill(pid, SIGINT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_true(real_ns() - from < 2 * SECOND_NS);
	outage_assert_settled(dir, 0);
}

static int setup_network(void **state)
{
	int failed = chatd_setup(state);

	unsetenv("KLINEAGE_CHAT_KEY");
	network_enter();
	return failed;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lost_network_is_outwaited),
		cmocka_unit_test(a_network_that_stays_away_ends_the_turn),
		cmocka_unit_test(a_silent_name_server_holds_up_nothing),
	};

	return cmocka_run_group_tests_name("model/network", tests, setup_network, scratch_teardown);
}
