/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A talk of two turns, stopped at every durable step, by SIGKILL and by a failure, then gone on with: nothing
 * that is stored is bought again, and the ledger counts all that was charged. Needs the fault points of a
 * build with FAULT=1.
 */
#include <signal.h>
#include <sys/wait.h>

#include "chat_fake.h"
#include "chat/conversation.h"
#include "chat/ledger.h"

#ifdef KL_FAULT_POINTS
static const char *const blocks[] = { "the rules" };

static int walk_on(const char *dir)
{
	struct kl_chat_opts o = { .workload = "w", .provider = "fake", .model = "m" };
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

/* in a process of its own: 0, 1 (an error), or killed */
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

/* the replies that are stored, one a line, with the charges they name */
static char *stored(const char *dir)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_conversation_release) struct kl_conversation c = { 0 };
	struct kl_buf b = KL_BUF_INIT;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_conversation_load(&c, repo, "w", "n", "p"));
	for (size_t i = 0; i < c.n; i++)
		kl_buf_addf(&b, "%s\n", c.turn[i].reply);
	return kl_buf_detach(&b);
}

static void check_money(const char *dir, const char *at)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_ledger_totals t;
	size_t times;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_ledger_totals(&t, repo, "w"));
	if (fake_charged(&times) > t.of[0].settled + t.of[0].reserved)
		fail_msg("%s: the ledger counts less than was charged", at);
	if (times > 3)
		fail_msg("%s: %zu charges for two turns and one stop", at, times);
}

static void stop_at(const char *base, const char *dir, int n, bool dies, const char *name)
{
	KL_AUTO(kl_freep) char *at = kl_asprintf("%d:%s (%s)", n, dies ? "kill" : "fail", name);
	KL_AUTO(kl_freep) char *fault = kl_asprintf("%d:%s", n, dies ? "kill" : "fail");
	KL_AUTO(kl_freep) char *before = NULL, *after = NULL;
	int rc;

	sh(base, "rm -rf '%s' '%s' && cp -R . '%s'", dir, fake.till, dir);
	rc = run(dir, fault, NULL);
	/* where the ledger cannot be moved the reply is stored without, and all goes on */
	if (rc != (dies ? 128 + SIGKILL : 1) && (dies || rc))
		fail_msg("%s: ended with %d, the fault was not felt", at, rc);
	check_money(dir, at);
	before = stored(dir);
	rc = run(dir, NULL, NULL);
	if (rc)
		fail_msg("%s: cannot be gone on with: %d", at, rc);
	after = stored(dir);
	if (strncmp(after, before, strlen(before)))
		fail_msg("%s: what was stored was bought again:\n%s\n%s", at, before, after);
	check_money(dir, at);
	assert_sh("2", dir, "git rev-list --count refs/klineage/chat/w/n/p");
	assert_sh("", dir, "find .git -name '*.lock' -not -path '*/klineage/*'");
	assert_sh("", dir, "git fsck --strict --no-dangling 2>&1 | grep -v '^notice' || :");
}

static void every_durable_step_may_be_the_last(void **state)
{
	KL_AUTO(kl_freep) char *base = scratch_repo("base"), *dir = scratch_dir("run"), *log = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf points = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec line = KL_STRVEC_INIT;

	fake.name_charge = true;
	fake.out = 50;
	fake.till = kl_asprintf("%s.till", dir);
	log = kl_asprintf("%s.log", dir);
	sh(base, "git config klineage.m.price 'input=3 output=15 cache-write-5m=3'");
	sh(base, "rm -rf '%s' && cp -R . '%s'", dir, dir);
	assert_int_equal(run(dir, NULL, log), 0);
	assert_ok(kl_fs_read(&points, log, 1 << 20));
	kl_strvec_split(&line, points.ptr, "\n");
	assert_true(line.n >= 30);
	for (size_t i = 0; i < 2 * line.n; i++)
		stop_at(base, dir, (int)(i / 2) + 1, i % 2, strchr(line.v[i / 2], ' ') + 1);
}
#endif

int main(void)
{
#ifdef KL_FAULT_POINTS
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_durable_step_may_be_the_last) };

	if (!getenv("TMPDIR") && !access("/dev/shm", W_OK | X_OK))
		setenv("TMPDIR", "/dev/shm", 1);
	return cmocka_run_group_tests_name("chat/fault", tests, scratch_setup, scratch_teardown);
#else
	/* tests/t/0412-chat-fault.sh runs the one that has them */
	puts("1..0 # SKIP no fault points in this build");
	return 0;
#endif
}
