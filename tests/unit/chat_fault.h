/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CHAT_FAULT_H
#define KL_CHAT_FAULT_H

/*
 * chat_fault - a conversation of two turns in a process of its own, which a fault point stops: by
 * SIGKILL, or by a failure. Needs the fault points of a build with FAULT=1.
 */
#include <signal.h>
#include <sys/wait.h>

#include "base/vec.h"
#include "model/ledger.h"
#include "model/request.h"
#include "scratch.h"

static int fault_talk(const char *dir, const struct kl_session_opts *opts)
{
	static const char *const blocks[] = { "the rules" };
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_session_freep) struct kl_session *session = NULL;
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
	int err;

	if ((err = kl_repo_open_at(&repo, dir)) < 0 ||
	    (err = kl_session_open(&session, repo, opts)) < 0 ||
	    (err = kl_session_conversation(&conversation, session, "n", "p", blocks, 1)) < 0)
		return err;
	for (size_t i = 0; i < 2; i++) {
		struct kl_request request = { .user = i ? "second" : "first" };
		const char *reply;

		if ((err = kl_request_send(&reply, &conversation, i, &request)) < 0)
			return err;
	}
	return 0;
}

/** 0, 1 (an error), or 128 + the signal. */
static int fault_run(const char *dir, const struct kl_session_opts *opts, const char *fault,
		     const char *log)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (fault)
			setenv("KLINEAGE_FAULT", fault, 1);
		if (log)
			setenv("KLINEAGE_FAULT_LOG", log, 1);
		_exit(fault_talk(dir, opts) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/** Run it to its end; the names of the points that it came by. */
static void fault_points(struct kl_strvec *name, const char *dir,
			 const struct kl_session_opts *opts)
{
	KL_AUTO(kl_freep) char *log = kl_asprintf("%s.log", dir);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec line = KL_STRVEC_INIT;

	assert_int_equal(fault_run(dir, opts, NULL, log), 0);
	assert_ok(kl_fs_read(&text, log, 1 << 20));
	assert_ok(kl_fs_remove(log));
	kl_strvec_split(&line, text.ptr, "\n");
	assert_true(line.n >= 30);
	for (size_t i = 0; i < line.n; i++)
		kl_strvec_push(name, strchr(line.v[i], ' ') + 1);
}

/** Stop it at point `n` (from 1), in words `at`. */
static void fault_stop(const char *dir, const struct kl_session_opts *opts, int n, bool dies,
		       const char *at)
{
	KL_AUTO(kl_freep) char *fault = kl_asprintf("%d:%s", n, dies ? "kill" : "fail");
	int rc = fault_run(dir, opts, fault, NULL);

	/* where the ledger cannot be moved the reply is stored without, and all goes on */
	if (rc != (dies ? 128 + SIGKILL : 1) && (dies || rc))
		fail_msg("%s: ended with %d, the fault was not felt", at, rc);
}

/** The replies that are stored, one a line, with the charges they name; `*n`: how many. */
static char *fault_stored(size_t *n, const char *dir)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
	struct kl_buf buf = KL_BUF_INIT;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_conversation_load(&conversation, repo, "w", "n", "p"));
	for (size_t i = 0; i < conversation.n; i++)
		kl_buf_addf(&buf, "%s\n", conversation.turn[i].reply);
	*n = conversation.n;
	return kl_buf_detach(&buf);
}

/**
 * Go on after a stop: to both turns, nothing of what was stored bought again. How many were stored
 * before.
 */
static size_t fault_go_on(const char *dir, const struct kl_session_opts *opts, const char *at)
{
	size_t had, has;
	KL_AUTO(kl_freep) char *before = fault_stored(&had, dir);
	KL_AUTO(kl_freep) char *after = NULL;
	int rc = fault_run(dir, opts, NULL, NULL);

	if (rc)
		fail_msg("%s: cannot be gone on with: %d", at, rc);
	after = fault_stored(&has, dir);
	if (strncmp(after, before, strlen(before)) || has != 2)
		fail_msg("%s: what was stored was bought again:\n%s\n%s", at, before, after);
	assert_sh("", dir, "find .git -name '*.lock' -not -path '*/klineage/*'");
	assert_sh("", dir, "git fsck --strict --no-dangling 2>&1 | grep -v '^notice' || :");
	return had;
}

/** The ledger counts at least that much, nano-dollars. */
static void fault_check_money(const char *dir, int64_t charged, const char *at)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_ledger_totals totals;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_ledger_totals(&totals, repo, "w"));
	if (charged > totals.of[0].settled + totals.of[0].reserved)
		fail_msg("%s: the ledger counts less than was charged", at);
}

/** Many small files: in memory, if that can be. */
static void fault_tmpdir(void)
{
	if (!getenv("TMPDIR") && !access("/dev/shm", W_OK | X_OK))
		setenv("TMPDIR", "/dev/shm", 1);
}

#endif
