/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lost network, as a machine sees it: no route, packets that are lost, a name that does not resolve, a name server that
 * fails or says nothing, a TLS handshake that stalls. Each is outwaited, and costs nothing, since
 * no request left the machine.
 */
#include "chatd_fixture.h"
#include "network_fixture.h"

#include <time.h>

#include "base/clock.h"
#include "model/ledger.h"
#include "model/request.h"

#define SECOND_NS INT64_C(1000000000)
#define OUTAGE_NS (15 * SECOND_NS)
#define GOOD "{\"text\":\"back again\",\"usage\":{\"input\":20,\"output\":10}}\n"
#define COST 210000 /* of this reply, nano-dollars */

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
	const struct loss *loss; /* NULL: time passes as usual */
	int64_t skipped_ns;      /* time that was slept */
	int64_t ends_ns;         /* when the network is there again; 0: it is */
	struct chatd server;
	int port, listener;
} outage;

static int64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

int64_t kl_clock_ns(void)
{
	return real_ns() + outage.skipped_ns;
}

static void bring_back(void)
{
	*network.dns = DNS_ANSWERS;
	if (outage.listener >= 0)
		close(outage.listener);
	outage.listener = -1;
	network_up(true);
	chatd_start_at(&outage.server, GOOD, outage.loss->flags, outage.port);
}

void kl_clock_sleep_ms(int64_t ms)
{
	struct timespec delay = { ms / 1000, (ms % 1000) * 1000000 };

	if (!outage.loss) {
		nanosleep(&delay, NULL);
		return;
	}
	outage.skipped_ns += ms * 1000000;
	if (!outage.ends_ns || kl_clock_ns() < outage.ends_ns)
		return;
	outage.ends_ns = 0;
	bring_back();
}

void kl_clock_iso(char out[21])
{
	memcpy(out, "2026-11-20T10:00:00Z", 21);
}

/* --- a walk's request ------------------------------------------------------------------ */

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
static char *lost(const struct loss *loss)
{
	char *dir = scratch_repo(loss->name);
	struct chatd free_port = { 0 };

	chatd_start(&free_port, GOOD, 0);
	outage.port = free_port.port;
	chatd_stop(&free_port);
	outage.listener = loss->stalls ? listen_at(outage.port) : -1;
	*network.dns = loss->dns;
	network_up(!loss->down);
	sh(dir,
	   "git config klineage.chat.provider anthropic; git config klineage.chat.model m-1;"
	   "git config klineage.chat.url http%s://%s:%d; git config klineage.chat.timeout 1;"
	   "git config klineage.chat.insecure true; git config klineage.m-1.price 'input=3 output=15'",
	   loss->flags & CHATD_TLS ? "s" : "", loss->host, outage.port);
	return dir;
}

static int ask(const char *dir, const char **reply, struct kl_conversation *conversation,
	       struct kl_session **session, struct kl_repo **repo)
{
	struct kl_session_opts opts = { .workload = "w" };
	struct kl_request request = { .user = "the kernel" };

	assert_ok(kl_repo_open_at(repo, dir));
	assert_ok(kl_session_open(session, *repo, &opts));
	assert_ok(
		kl_session_conversation(conversation, *session, "n", "back-0", request_system, 2));
	return kl_request_send(reply, conversation, 0, &request);
}

/* Ask once, while the network is lost for `ns`. Returns the error, whose message has `says`. */
static int ask_during(const char *dir, const struct loss *loss, int64_t ns, const char *says)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_session_freep) struct kl_session *session = NULL;
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
	const char *reply = NULL;
	int err;

	outage.ends_ns = kl_clock_ns() + ns;
	outage.loss = loss;
	err = ask(dir, &reply, &conversation, &session, &repo);
	outage.loss = NULL;
	if (err < 0)
		assert_contains(kl_error_last(), says);
	else
		assert_string_equal(reply, "back again");
	return err;
}

static void assert_money(const char *dir, int64_t settled)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_ledger_totals totals;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_ledger_totals(&totals, repo, "w"));
	assert_int_equal(totals.of[KL_BUDGET_INDUCE].settled, settled);
	assert_int_equal(totals.of[KL_BUDGET_INDUCE].reserved, 0);
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
		KL_AUTO(kl_freep) char *dir = lost(&losses[i]);
		int64_t from = kl_clock_ns(), took;

		assert_ok(ask_during(dir, &losses[i], OUTAGE_NS, ""));
		took = kl_clock_ns() - from;
		if (took < OUTAGE_NS || took > 3 * OUTAGE_NS)
			fail_msg("%s: the reply came after %.1f s", losses[i].name,
				 (double)took / (double)SECOND_NS);
		assert_int_equal(chatd_count(&outage.server), 1);
		assert_money(dir, COST);
		chatd_stop(&outage.server);
	}
}

/* The message has the reason, and nothing is held for requests that never left the machine. */
static void a_network_that_stays_away_ends_the_turn(void **state)
{
	need_network();
	for (size_t i = 0; i < KL_ARRAY_SIZE(losses); i++) {
		KL_AUTO(kl_freep) char *dir = lost(&losses[i]);

		sh(dir, "git config klineage.chat.patience 2");
		assert_int_equal(ask_during(dir, &losses[i], 60 * OUTAGE_NS, losses[i].says),
				 KL_ETIMEOUT);
		assert_contains(kl_error_last(), "klineage.chat.patience has passed");
		assert_money(dir, 0);
		network_up(true);
		if (outage.listener >= 0)
			close(outage.listener);
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
	dir = lost(silent);
	sh(dir, "git config klineage.chat.patience 0");
	from = real_ns();
	assert_int_equal(ask_during(dir, silent, OUTAGE_NS, ""), KL_ETIMEOUT);
	assert_true(real_ns() - from < 4 * SECOND_NS);
	sh(dir, "git config klineage.chat.timeout 60");
	pid = fork();
	if (!pid) {
		KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
		struct kl_session *session = NULL;
		struct kl_repo *repo = NULL;
		const char *reply;

		kl_proc_catch_signals();
		_exit(ask(dir, &reply, &conversation, &session, &repo) == KL_EINTR ? 0 : 1);
	}
	kl_clock_sleep_ms(1500);
	from = real_ns();
	kill(pid, SIGINT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_true(real_ns() - from < 2 * SECOND_NS);
	assert_money(dir, 0);
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
