/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations: stored turns are free, the others reserved, asked and settled, whatever goes
 * wrong.
 */
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "chat_fake.h"
#include "model/ledger.h"
#include "model/money.h"
#include "model/request.h"

struct fixture {
	char *dir;
	struct kl_repo *r;
	struct kl_session *session;
	struct kl_conversation c;
};

static const char *const sys[] = { "the rules", "the contract" };

static void close_all(struct fixture *fixture)
{
	kl_conversation_release(&fixture->c);
	kl_session_free(fixture->session);
	kl_repo_free(fixture->r);
	fixture->session = NULL;
	fixture->r = NULL;
}

static void fixture_release(struct fixture *fixture)
{
	close_all(fixture);
	free(fixture->dir);
}

/* as a new process would */
static int open_session(struct fixture *fixture)
{
	struct kl_session_opts opts = { .workload = "w", .provider = "fake" };

	close_all(fixture);
	assert_ok(kl_repo_open_at(&fixture->r, fixture->dir));
	return kl_session_open(&fixture->session, fixture->r, &opts);
}

static void open_conversation(struct fixture *fixture)
{
	assert_ok(open_session(fixture));
	assert_ok(kl_session_conversation(&fixture->c, fixture->session, "n", "back-0", sys, 2));
}

static struct fixture fixture(const char *name)
{
	struct fixture other = { .dir = scratch_repo(name) };

	free(fake.last);
	free(fake.till);
	memset(&fake, 0, sizeof(fake));
	fake.till = kl_asprintf("%s.till", other.dir);
	unlink(fake.till);
	fake.out = 100;
	sh(other.dir,
	   "git config klineage.chat.model m-1; git config klineage.m-1.price 'input=3 output=15 "
	   "cache-write-5m=3 cache-write-1h=3'");
	open_conversation(&other);
	return other;
}

#define FIXTURE(name) KL_AUTO(fixture_release) struct fixture f = fixture(name)

static const char *ask(struct fixture *fixture, size_t turn, const char *user)
{
	struct kl_request request = { .user = user };
	const char *reply = NULL;

	assert_ok(kl_request_send(&reply, &fixture->c, turn, &request));
	return reply;
}

static int try_ask(struct fixture *fixture, size_t turn, const char *user)
{
	struct kl_request request = { .user = user };
	const char *reply = NULL;

	return kl_request_send(&reply, &fixture->c, turn, &request);
}

static void assert_money(struct fixture *fixture, int64_t settled, int64_t reserved)
{
	struct kl_ledger_totals totals;

	assert_ok(kl_ledger_totals(&totals, fixture->r, "w"));
	assert_int_equal(totals.of[KL_BUDGET_INDUCE].settled, settled);
	assert_int_equal(totals.of[KL_BUDGET_INDUCE].reserved, reserved);
}

static int64_t charged(void)
{
	size_t n;

	return fake_charged(&n);
}

/* what the request of these bytes reserves, with this many tokens of reply */
static int64_t worst(int64_t bytes, int64_t tokens)
{
	return (bytes + 1024) * FAKE_IN + tokens * FAKE_OUT;
}

static void a_reply_is_bought_once(void **state)
{
	FIXTURE("once");
	size_t n;

	assert_int_equal(f.c.n, 0);
	assert_string_equal(ask(&f, 0, "first"), "reply 0 of back-0 to: first");
	assert_string_equal(ask(&f, 1, "second"), "reply 1 of back-0 to: second");
	assert_int_equal(fake.asked, 2);
	/* what is stored stands, whatever is asked */
	assert_string_equal(ask(&f, 0, "something else"), "reply 0 of back-0 to: first");
	open_conversation(&f);
	assert_int_equal(f.c.n, 2);
	assert_string_equal(f.c.turn[1].user, "second");
	assert_string_equal(f.c.turn[0].reply, "reply 0 of back-0 to: first");
	assert_string_equal(ask(&f, 1, "yet another"), "reply 1 of back-0 to: second");
	assert_int_equal(fake.asked, 2);
	assert_money(&f, charged(), 0);
	fake_charged(&n);
	assert_int_equal(n, 2);
}

/* They are stored with the turn, and its digest covers them. */
static void options_belong_to_a_turn(void **state)
{
	FIXTURE("options");
	char plain[KL_DIGEST_HEX];

	ask(&f, 0, "first");
	assert_null(f.c.turn[0].options);
	memcpy(plain, f.c.turn[0].prompt, sizeof(plain));
	sh(f.dir, "git config klineage.chat.effort low; git config klineage.chat.temperature 0.7");
	for (int i = 0; i < 2; i++) { /* sent, then stored */
		assert_ok(open_session(&f));
		assert_ok(kl_session_conversation(&f.c, f.session, "n", "back-1", sys, 2));
		ask(&f, 0, "first");
	}
	assert_int_equal(fake.asked, 2);
	assert_string_equal(f.c.turn[0].options,
			    "{\"effort\":\"low\",\"extra\":{\"temperature\":0.69999999999999996}}");
	assert_string_not_equal(f.c.turn[0].prompt, plain);
}

static void a_resumed_conversation_sends_the_same_bytes(void **state)
{
	FIXTURE("prefix");
	static const char *const changed[] = { "new rules" };
	KL_AUTO(kl_freep) char *second = NULL;

	ask(&f, 0, "first\r\n \t");
	ask(&f, 1, "second");
	second = kl_strdup(fake.last);
	/* the templates have changed since; the conversation goes on as it began */
	assert_ok(open_session(&f));
	assert_ok(kl_session_conversation(&f.c, f.session, "n", "back-0", changed, 1));
	ask(&f, 2, "third");
	assert_true(!strncmp(fake.last, second, strlen(second)));
	assert_string_equal(fake.last + strlen(second),
			    "A:reply 1 of back-0 to: second\nU:third\n");
}

static struct fixture *seen_by;
static int64_t reserved_then;

static void look_at_the_ledger(void)
{
	struct kl_ledger_totals totals;

	assert_ok(kl_ledger_totals(&totals, seen_by->r, "w"));
	reserved_then = totals.of[0].reserved;
	assert_int_equal(totals.of[0].settled, 0);
}

static void the_worst_is_reserved_before_anything_is_sent(void **state)
{
	FIXTURE("worst");

	seen_by = &f;
	fake.before = look_at_the_ledger;
	ask(&f, 0, "first");
	assert_int_equal(reserved_then, worst((int64_t)strlen(fake.last), 32768));
	assert_money(&f, charged(), 0);
}

static void a_reply_shrinks_near_the_cap(void **state)
{
	FIXTURE("cap");
	int64_t bytes = (int64_t)strlen("m-1\nS:the rules\nS:the contract\nU:first\n"), spent, cap;

	/* room for 5000 tokens, and a bit that is no token */
	sh(f.dir, "git config klineage.budget.induce 0.%09lld", (long long)worst(bytes, 5000) + 7);
	open_conversation(&f);
	fake.out = 0;
	ask(&f, 0, "first");
	assert_int_equal(fake.max_tokens, 5000);
	assert_ok(kl_session_money(&spent, &cap, f.session));
	assert_int_equal(spent, charged());
	assert_true(spent <= cap);
	assert_error(KL_ENO, "the budget does not allow a request", try_ask(&f, 1, "second"));
	assert_contains(kl_error_last(), "back-0, turn 1");
	assert_int_equal(fake.asked, 1);
	assert_int_equal(f.c.n, 1);
	assert_string_equal(ask(&f, 0, "first"), "reply 0 of back-0 to: first");
}

static void with_a_budget_of_nothing_nothing_is_sent(void **state)
{
	FIXTURE("zero");

	sh(f.dir, "git config klineage.budget.induce 0");
	open_conversation(&f);
	assert_error(KL_ENO, "budget", try_ask(&f, 0, "first"));
	assert_int_equal(fake.asked, 0);
	sh(f.dir, "git config klineage.m-1.price free");
	open_conversation(&f);
	assert_error(KL_ENO, "budget", try_ask(&f, 0, "first"));
	assert_int_equal(fake.asked, 0);
	/* what costs nothing anyway needs no budget */
	fake.unmetered = true;
	open_conversation(&f);
	ask(&f, 0, "first");
	assert_sh("refs/klineage/chat/w/n/back-0", f.dir,
		  "git for-each-ref --format='%%(refname)' refs/klineage");
}

static void missing_usage_counts_as_what_was_reserved(void **state)
{
	static const enum fake_way way[] = { FAKE_SILENT, FAKE_ABSURD };
	FIXTURE("silent");
	int64_t sum = 0;

	for (size_t i = 0; i < KL_ARRAY_SIZE(way); i++) {
		fake.way = way[i];
		ask(&f, i, "question");
		sum += worst((int64_t)strlen(fake.last), 32768);
		assert_money(&f, sum, 0);
		assert_true(sum >= charged());
	}
	assert_sh("null", f.dir,
		  "git show refs/klineage/chat/w/n/back-0:meta.json | sed -n 's/.*\"usage\": "
		  "\\([a-z]*\\).*/\\1/p'");
}

static void an_error_that_cost_nothing_gives_the_reservation_back(void **state)
{
	FIXTURE("refused");

	fake.way = FAKE_REFUSED;
	assert_error(KL_EIO, "529: overloaded", try_ask(&f, 0, "first"));
	assert_money(&f, 0, 0);
	assert_sh("2", f.dir, "git rev-list --count refs/klineage/ledger/w");
	fake.way = FAKE_GOOD;
	ask(&f, 0, "first");
	assert_money(&f, charged(), 0);
}

static void what_broke_off_stays_reserved(void **state)
{
	FIXTURE("cut");
	int64_t left;

	fake.way = FAKE_CUT;
	assert_error(KL_EIO, "the connection broke", try_ask(&f, 0, "first"));
	left = worst((int64_t)strlen(fake.last), 32768);
	assert_money(&f, 0, left);
	assert_int_equal(f.c.n, 0);
	fake.way = FAKE_GOOD;
	ask(&f, 0, "first");
	assert_money(&f, charged() - fake.out * FAKE_OUT - (int64_t)strlen(fake.last) * FAKE_IN,
		     left);
}

/* the server may charge for an attempt that broke off: it keeps a reservation of its own */
static void each_attempt_is_reserved(void **state)
{
	FIXTURE("again");
	int64_t one, cap;

	fake.way = FAKE_BROKEN;
	fake.times = 2;
	ask(&f, 0, "first");
	one = worst((int64_t)strlen(fake.last), 32768);
	assert_money(&f, charged() / 3, 2 * one);
	assert_sh("4", f.dir, "git rev-list --count refs/klineage/ledger/w");
	/* a budget for one attempt, and not quite for the second */
	cap = 3 * one + worst(200, 900);
	sh(f.dir, "git config klineage.budget.induce %lld.%09lld", (long long)(cap / KL_DOLLAR),
	   (long long)(cap % KL_DOLLAR));
	open_conversation(&f);
	fake.times = 99;
	assert_error(KL_ENO, "the budget does not allow a request", try_ask(&f, 1, "second"));
	assert_contains(kl_error_last(), "no further attempt after: the connection broke");
	assert_contains(kl_error_hints(), "the cap is config klineage.budget.induce");
	assert_int_equal(f.c.n, 1);
}

/* what costs nothing is given back before the pause, so that others can use it */
static int64_t reserved_most;

static void note_reserved(void)
{
	struct kl_ledger_totals totals;

	assert_ok(kl_ledger_totals(&totals, seen_by->r, "w"));
	if (totals.of[0].reserved > reserved_most)
		reserved_most = totals.of[0].reserved;
}

static void overload_is_waited_for_and_costs_nothing(void **state)
{
	FIXTURE("busy");

	fake.way = FAKE_BUSY;
	fake.times = 3;
	seen_by = &f;
	reserved_most = 0;
	fake.before = note_reserved;
	ask(&f, 0, "first");
	assert_int_equal(fake.asked, 4);
	assert_money(&f, charged(), 0);
	assert_int_equal(reserved_most, worst((int64_t)strlen(fake.last), 32768));
	assert_sh("8", f.dir, "git rev-list --count refs/klineage/ledger/w");
}

/* one outage is waited for once: further turns have one attempt each, until there is a reply */
static void patience_ends_once_for_an_outage(void **state)
{
	FIXTURE("patience");
	int64_t from = kl_clock_ns();

	sh(f.dir, "git config klineage.chat.patience 2");
	open_conversation(&f);
	fake.way = FAKE_BUSY;
	fake.times = 999;
	assert_error(KL_ETIMEOUT, "529: overloaded (gave up after", try_ask(&f, 0, "first"));
	assert_contains(kl_error_last(), "klineage.chat.patience has passed");
	assert_in_range((kl_clock_ns() - from) / 1000000, 1900, 5000);
	assert_true(fake.asked >= 3);
	assert_money(&f, 0, 0);
	fake.asked = 0;
	from = kl_clock_ns();
	assert_error(KL_ETIMEOUT, "gave up after 1 attempt:", try_ask(&f, 0, "first"));
	assert_int_equal(fake.asked, 1);
	assert_true(kl_clock_ns() - from < INT64_C(1000000000));
	fake.way = FAKE_GOOD;
	ask(&f, 0, "first");
	fake.way = FAKE_BUSY;
	fake.asked = 0;
	fake.times = 2;
	ask(&f, 1, "second");
	assert_int_equal(fake.asked, 3);
	/* none at all */
	sh(f.dir, "git config klineage.chat.patience 0");
	open_conversation(&f);
	fake.asked = 0;
	assert_error(KL_ETIMEOUT, "gave up after 1 attempt:", try_ask(&f, 2, "third"));
	assert_int_equal(fake.asked, 1);
}

/* a request that breaks its provider each time is not paid for without end */
static void attempts_that_cost_money_are_counted(void **state)
{
	FIXTURE("costly");
	size_t n;

	sh(f.dir, "git config klineage.m-1.price 'input=0 output=0.001'");
	open_conversation(&f);
	fake.way = FAKE_BROKEN;
	fake.times = 999;
	fake.at_once = true;
	assert_error(KL_ETIMEOUT, "may have cost money", try_ask(&f, 0, "first"));
	fake_charged(&n);
	assert_int_equal(n, 8);
}

static void a_reply_with_a_flaw_is_a_turn(void **state)
{
	FIXTURE("empty");

	fake.way = FAKE_EMPTY;
	ask(&f, 0, "first");
	assert_money(&f, charged(), 0);
	assert_int_equal(f.c.n, 1);
	open_conversation(&f);
	assert_int_equal(f.c.turn[0].flaw, KL_FLAW_REFUSAL);
	assert_sh("refusal", f.dir,
		  "git show refs/klineage/chat/w/n/back-0:meta.json | sed -n 's/.*\"flaw\": "
		  "\"\\([a-z]*\\).*/\\1/p'");
}

static void who_is_not_metered_pays_nothing(void **state)
{
	FIXTURE("unmetered");
	int64_t least, most;

	fake.unmetered = true;
	sh(f.dir, "git config --unset klineage.chat.model");
	open_conversation(&f);
	ask(&f, 0, "first");
	kl_session_cost(&least, &most, f.session, 100000, 1000);
	assert_int_equal(most, 0);
	assert_money(&f, 0, 0);
	/* unless the user wants it counted */
	sh(f.dir, "git config klineage.chat.metered true");
	assert_error(KL_EINVALID, "no model", open_session(&f));
	sh(f.dir, "git config klineage.chat.model m-1");
	open_conversation(&f);
	ask(&f, 1, "second");
	assert_money(&f, (int64_t)strlen(fake.last) * FAKE_IN + 100 * FAKE_OUT, 0);
}

static void what_is_not_configured_is_said(void **state)
{
	FIXTURE("config");
	/* clang-format off */
	static const struct { const char *key, *value, *says; } t[] = {
		{ "klineage.chat.model", "m-2", "the model 'm-2' has no price" },
		{ "klineage.chat.model", "m 1", "not a valid model name" },
		{ "klineage.budget.induce", "-1", "klineage.budget.induce" },
		{ "klineage.chat.maxTokens", "0", "klineage.chat.maxTokens" },
		{ "klineage.chat.maxTokens", "2000000", "1 to 1000000" },
		{ "klineage.chat.leastTokens", "x", "klineage.chat.leastTokens" },
		{ "klineage.chat.cache", "2h", "not one of auto, none, 5m, 1h" },
		{ "klineage.chat.patience", "-1", "klineage.chat.patience: must be 0 to 604800" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(t); i++) {
		sh(f.dir, "cp .git/config saved; git config %s '%s'", t[i].key, t[i].value);
		assert_error(KL_EINVALID, t[i].says, open_session(&f));
		sh(f.dir, "mv saved .git/config");
	}
	assert_int_equal(fake.asked, 0);
	{
		struct kl_session_opts opts = { .workload = "w" };

		assert_error(KL_EINVALID, "no provider", kl_session_open(&f.session, f.r, &opts));
		opts.workload = "../w";
		assert_error(KL_EINVALID, "not a valid workload name",
			     kl_session_open(&f.session, f.r, &opts));
	}
}

static void a_ledger_that_cannot_be_read_stops_all(void **state)
{
	FIXTURE("badledger");

	sh(f.dir, "git update-ref refs/klineage/ledger/w HEAD");
	assert_error(KL_EINVALID, "refs/klineage/ledger/w", try_ask(&f, 0, "first"));
	assert_int_equal(fake.asked, 0);
}

/* --- what is known of the request beside its text --------------------------------- */

static void the_key_is_what_it_is_told(void **state)
{
	FIXTURE("key");
	struct kl_request request = { .user = "at 12:34 it took 17 ms", .key = "stable" };
	const char *reply;
	KL_AUTO(kl_freep) char *want = NULL;

	assert_ok(kl_request_send(&reply, &f.c, 0, &request));
	ask(&f, 1, "plain");
	want = sh_text(f.dir, "printf '6\\0stable5\\0plain' | sha256sum | cut -c1-64");
	assert_sh("stable", f.dir, "git show refs/klineage/chat/w/n/back-0~1:key");
	{
		KL_AUTO(kl_freep) char *line = sh_text(f.dir, "tail -n 1 %s | cut -d' ' -f3",
						       fake.till);

		assert_string_equal(line, want);
	}
}

static int leave_a_file(struct kl_buf *reply, const char *dir, void *payload)
{
	kl_buf_addf(reply, "\n[%s: %s]", dir, (const char *)payload);
	return 0;
}

static int fail_to_collect(struct kl_buf *reply, const char *dir, void *payload)
{
	return kl_error(KL_EINVALID, "a file of 9 GB");
}

static void what_a_command_left_is_part_of_its_reply(void **state)
{
	FIXTURE("collect");
	struct kl_request request = {
		.user = "u", .dir = "/tmp/x", .collect = fail_to_collect, .payload = (void *)"file"
	};
	const char *reply;

	assert_error(KL_EINVALID, "a file of 9 GB", kl_request_send(&reply, &f.c, 0, &request));
	assert_int_equal(f.c.n, 0);
	assert_money(&f, charged(), 0);
	request.collect = leave_a_file;
	assert_ok(kl_request_send(&reply, &f.c, 0, &request));
	assert_string_equal(reply, "reply 0 of back-0 to: u\n[/tmp/x: file]");
	open_conversation(&f);
	assert_string_equal(f.c.turn[0].reply, "reply 0 of back-0 to: u\n[/tmp/x: file]");
	assert_money(&f, charged(), 0);
}

static void the_cache_lives_as_long_as_gating_takes(void **state)
{
	FIXTURE("cache");
	struct kl_session_opts opts = { .workload = "w", .provider = "fake", .pause_ms = 239000 };

	for (int i = 0; i < 2; i++) {
		close_all(&f);
		assert_ok(kl_repo_open_at(&f.r, f.dir));
		assert_ok(kl_session_open(&f.session, f.r, &opts));
		assert_ok(kl_session_conversation(&f.c, f.session, "n", i ? "slow" : "quick", sys,
						  2));
		ask(&f, 0, "u");
		opts.pause_ms = 241000;
	}
	assert_sh(
		"\"5m\"", f.dir,
		"git show refs/klineage/chat/w/n/quick:meta.json | sed -n 's/.*\"cache\": \\(.*\\),/\\1/p'");
	assert_sh(
		"\"1h\"", f.dir,
		"git show refs/klineage/chat/w/n/slow:meta.json | sed -n 's/.*\"cache\": \\(.*\\),/\\1/p'");
}

/* --- several at once, and kills --------------------------------------------------- */

static void doze(void)
{
	usleep(300000);
}

/* the second process comes while the first one waits for its answer */
static void two_processes_pay_for_one_answer(void **state)
{
	FIXTURE("two");
	int status;
	size_t n;
	pid_t first;

	fake.after = doze;
	first = fork();
	if (!first) {
		struct kl_request request = { .user = "from the child" };
		const char *reply;

		close_all(&f);
		if (kl_repo_open_at(&f.r, f.dir) || open_session(&f) ||
		    kl_session_conversation(&f.c, f.session, "n", "back-0", sys, 2))
			_exit(2);
		_exit(kl_request_send(&reply, &f.c, 0, &request) ? 1 : 0);
	}
	while (!kl_fs_exists(fake.till))
		usleep(1000);
	assert_string_equal(ask(&f, 0, "from the parent"), "reply 0 of back-0 to: from the child");
	assert_int_equal(waitpid(first, &status, 0), first);
	assert_int_equal(status, 0);
	assert_int_equal(fake.asked, 0);
	fake_charged(&n);
	assert_int_equal(n, 1);
	assert_money(&f, charged(), 0);
	ask(&f, 1, "go on");
	assert_int_equal(f.c.n, 2);
}

static void die(void)
{
	kill(getpid(), SIGKILL);
}

static void who_is_killed_leaves_his_reservation(void **state)
{
	FIXTURE("killed");
	int status;
	pid_t child;
	int64_t reserved;

	fake.after = die;
	child = fork();
	if (!child) {
		close_all(&f);
		open_conversation(&f);
		_exit(try_ask(&f, 0, "first") ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	fake.after = NULL;
	open_conversation(&f);
	assert_int_equal(f.c.n, 0);
	reserved = worst((int64_t)strlen("m-1\nS:the rules\nS:the contract\nU:first\n"), 32768);
	assert_money(&f, 0, reserved);
	assert_true(charged() <= reserved);
	ask(&f, 0, "first");
	assert_money(&f, charged() / 2, reserved);
}

static int interrupt(struct kl_buf *reply, const char *dir, void *payload)
{
	raise(SIGINT);
	return 0;
}

static void be_interrupted(void)
{
	raise(SIGINT);
}

/*
 * a child, since an interrupt is for the whole process; its exit code is what kl_request_send says
 */
static int ask_interrupted(struct fixture *fixture, bool while_it_comes)
{
	int status;
	pid_t child = fork();

	if (!child) {
		struct kl_request request = { .user = "u",
					      .collect = while_it_comes ? NULL : interrupt };
		const char *reply;

		kl_proc_catch_signals();
		fake.after = while_it_comes ? be_interrupted : NULL;
		fake.way = while_it_comes ? FAKE_SILENT : FAKE_GOOD;
		open_conversation(fixture);
		_exit(-kl_request_send(&reply, &fixture->c, 0, &request));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void an_interrupt_ends_the_wait_and_not_the_storing(void **state)
{
	FIXTURE("interrupt");
	int64_t reserved = worst((int64_t)strlen("m-1\nS:the rules\nS:the contract\nU:u\n"), 32768);

	assert_int_equal(ask_interrupted(&f, true), KL_EINTR);
	open_conversation(&f);
	assert_int_equal(f.c.n, 0);
	assert_money(&f, 0, reserved);
	/* what has come is paid for, so it is kept */
	assert_int_equal(ask_interrupted(&f, false), 0);
	open_conversation(&f);
	assert_int_equal(f.c.n, 1);
	assert_money(&f, charged() / 2, reserved);
}

static void a_talk_that_was_rewritten_is_not_gone_on_with(void **state)
{
	FIXTURE("rewritten");

	ask(&f, 0, "first");
	sh(f.dir, "git update-ref -d refs/klineage/chat/w/n/back-0");
	assert_error(KL_ECHANGED, "rewritten by another process", try_ask(&f, 1, "second"));
	assert_int_equal(fake.asked, 1);
	assert_money(&f, charged(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_is_bought_once),
		cmocka_unit_test(options_belong_to_a_turn),
		cmocka_unit_test(a_resumed_conversation_sends_the_same_bytes),
		cmocka_unit_test(the_worst_is_reserved_before_anything_is_sent),
		cmocka_unit_test(a_reply_shrinks_near_the_cap),
		cmocka_unit_test(with_a_budget_of_nothing_nothing_is_sent),
		cmocka_unit_test(missing_usage_counts_as_what_was_reserved),
		cmocka_unit_test(an_error_that_cost_nothing_gives_the_reservation_back),
		cmocka_unit_test(what_broke_off_stays_reserved),
		cmocka_unit_test(each_attempt_is_reserved),
		cmocka_unit_test(overload_is_waited_for_and_costs_nothing),
		cmocka_unit_test(patience_ends_once_for_an_outage),
		cmocka_unit_test(attempts_that_cost_money_are_counted),
		cmocka_unit_test(a_reply_with_a_flaw_is_a_turn),
		cmocka_unit_test(who_is_not_metered_pays_nothing),
		cmocka_unit_test(what_is_not_configured_is_said),
		cmocka_unit_test(a_ledger_that_cannot_be_read_stops_all),
		cmocka_unit_test(the_key_is_what_it_is_told),
		cmocka_unit_test(what_a_command_left_is_part_of_its_reply),
		cmocka_unit_test(the_cache_lives_as_long_as_gating_takes),
		cmocka_unit_test(two_processes_pay_for_one_answer),
		cmocka_unit_test(who_is_killed_leaves_his_reservation),
		cmocka_unit_test(an_interrupt_ends_the_wait_and_not_the_storing),
		cmocka_unit_test(a_talk_that_was_rewritten_is_not_gone_on_with),
	};

	return cmocka_run_group_tests_name("model/session", tests, scratch_setup, scratch_teardown);
}
