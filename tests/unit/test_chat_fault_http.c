/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same as test_chat_fault.c over HTTP, by both protocols: a talk of two turns with a server, stopped at
 * every durable step and while a reply comes in, by SIGKILL and by a failure, then gone on with. The
 * server's own log says what was asked. Needs the fault points of a build with FAULT=1.
 */
#include "chatd_fixture.h"

#include "base/vec.h"
#include "chat/conversation.h"
#include "chat/ledger.h"

#ifdef KL_FAULT_POINTS
#define LINE(text) "{\"text\":\"" text "\",\"usage\":{\"input\":20,\"output\":10,\"cache_read\":100}}\n"
#define SCRIPT LINE("reply 0 of three") LINE("reply 1 of three") LINE("reply 2 of three")
#define COST (20 * 3000 + 10 * 15000 + 100 * 1000)	/* nano-dollars of one, by the price below */

static const char *const blocks[] = { "the rules" };

static int walk_on(const char *dir)
{
	struct kl_chat_opts o = { .workload = "w" };
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_chat_freep) struct kl_chat *chat = NULL;
	KL_AUTO(kl_talk_freep) struct kl_talk *talk = NULL;
	int err;

	if ((err = kl_repo_open_at(&repo, dir)) < 0 || (err = kl_chat_open(&chat, repo, &o)) < 0 ||
	    (err = kl_talk_open(&talk, chat, "n", "p", blocks, 1)) < 0)
		return err;
	for (size_t i = 0; i < 2; i++) {
		struct kl_ask a = { .user = i ? "second" : "first" };
		const char *reply;

		if ((err = kl_talk_ask(&reply, talk, i, &a)) < 0)
			return err;
	}
	return 0;
}

/* in a process of its own: 0, 1 (an error), or 128 + the signal */
static int run(const char *dir, const char *fault, const char *log)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (fault)
			setenv("KLINEAGE_FAULT", fault, 1);
		if (log)
			setenv("KLINEAGE_FAULT_LOG", log, 1);
		_exit(walk_on(dir) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static char *stored(const char *dir, size_t *n)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_conversation_release) struct kl_conversation c = { 0 };
	struct kl_buf b = KL_BUF_INIT;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_conversation_load(&c, repo, "w", "n", "p"));
	for (size_t i = 0; i < c.n; i++)
		kl_buf_addf(&b, "%s\n", c.turn[i].reply);
	*n = c.n;
	return kl_buf_detach(&b);
}

static void check_money(const char *dir, const struct chatd *d, const char *at)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_ledger_totals t;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_ledger_totals(&t, repo, "w"));
	if ((int64_t)chatd_count(d) * COST > t.of[0].settled + t.of[0].reserved)
		fail_msg("%s: the ledger counts less than was asked for", at);
}

static void stop_at(const char *base, const char *dir, const char *provider, int n, bool dies, const char *name)
{
	KL_AUTO(kl_freep) char *at = kl_asprintf("%s, %d:%s (%s)", provider, n, dies ? "kill" : "fail", name);
	KL_AUTO(kl_freep) char *fault = kl_asprintf("%d:%s", n, dies ? "kill" : "fail");
	KL_AUTO(kl_freep) char *before = NULL, *after = NULL;
	KL_AUTO(chatd_stop) struct chatd d = { 0 };
	size_t had, has, asked;
	int rc;

	chatd_start(&d, SCRIPT, 0);
	sh(base, "rm -rf '%s' && cp -R . '%s' && git -C '%s' config klineage.chat.url http://127.0.0.1:%d", dir, dir, dir,
	   d.port);
	rc = run(dir, fault, NULL);
	/* where the ledger cannot be moved the reply is stored without, and all goes on */
	if (rc != (dies ? 128 + SIGKILL : 1) && (dies || rc))
		fail_msg("%s: ended with %d, the fault was not felt", at, rc);
	check_money(dir, &d, at);
	before = stored(dir, &had);
	asked = chatd_count(&d);
	rc = run(dir, NULL, NULL);
	if (rc)
		fail_msg("%s: cannot be gone on with: %d", at, rc);
	after = stored(dir, &has);
	if (strncmp(after, before, strlen(before)) || has != 2 || chatd_count(&d) != asked + 2 - had)
		fail_msg("%s: what was stored was bought again:\n%s\n%s", at, before, after);
	check_money(dir, &d, at);
	assert_sh("", dir, "find .git -name '*.lock' -not -path '*/klineage/*'");
	assert_sh("", dir, "git fsck --strict --no-dangling 2>&1 | grep -v '^notice' || :");
	assert_sh("0", dir, "grep -rlF '" TEST_KEY "' . | wc -l");
}

static void every_step_with_a_server_may_be_the_last(void **state)
{
	static const char *const provider[] = { "anthropic", "openai" };

	setenv("KLINEAGE_CHAT_KEY", TEST_KEY, 1);
	for (size_t k = 0; k < 2; k++) {
		KL_AUTO(kl_freep) char *base = scratch_repo(provider[k]), *dir = scratch_dir("run"), *log = NULL;
		KL_AUTO(kl_buf_release) struct kl_buf points = KL_BUF_INIT;
		KL_AUTO(kl_strvec_release) struct kl_strvec line = KL_STRVEC_INIT;
		KL_AUTO(chatd_stop) struct chatd d = { 0 };

		log = kl_asprintf("%s.log", dir);
		sh(base, "git config klineage.m.price 'input=3 output=15 cache-read=1'; git config klineage.chat.model m; "
		   "git config klineage.chat.provider %s", provider[k]);
		chatd_start(&d, SCRIPT, 0);
		sh(base, "rm -rf '%s' '%s' && cp -R . '%s' && git -C '%s' config klineage.chat.url http://127.0.0.1:%d", dir, log,
		   dir, dir, d.port);
		assert_int_equal(run(dir, NULL, log), 0);
		chatd_stop(&d);
		assert_ok(kl_fs_read(&points, log, 1 << 20));
		kl_strvec_split(&line, points.ptr, "\n");
		assert_true(line.n >= 30);
		assert_non_null(strstr(points.ptr, "chat-heard"));
		for (size_t i = 0; i < 2 * line.n; i++)
			stop_at(base, dir, provider[k], (int)(i / 2) + 1, i % 2, strchr(line.v[i / 2], ' ') + 1);
		print_message("%s: %zu points, each killed and failed\n", provider[k], line.n);
	}
}
#endif

int main(void)
{
#ifdef KL_FAULT_POINTS
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_step_with_a_server_may_be_the_last) };

	if (!getenv("TMPDIR") && !access("/dev/shm", W_OK | X_OK))
		setenv("TMPDIR", "/dev/shm", 1);
	return cmocka_run_group_tests_name("chat/fault-http", tests, chatd_setup, scratch_teardown);
#else
	/* tests/t/0412-chat-fault.sh runs the one that has them */
	puts("1..0 # SKIP no fault points in this build");
	return 0;
#endif
}
