/* SPDX-License-Identifier: Apache-2.0 */
#include "chat_fixture.h"

#include <signal.h>

#include "base/clock.h"
#include "base/proc.h"
#include "text/json.h"

/* A command that answers with what it finds out: `code` prints, its text is the reply's. */
#define ANSWER \
	"{\\\"schema\\\":\\\"klineage.chat-reply/1\\\",\\\"unmetered\\\":true,\\\"text\\\":\\\"%s\\\"}"
#define SAY(code) "said=$({ " code "; } | tr '\\n' ' '); printf \"" ANSWER "\" \"$said\""

static int ask(struct kl_reply *reply, const char *command, const char *dir, int64_t timeout_ms)
{
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	struct kl_provider_opts opts = { .name = "exec",
					 .command = command,
					 .timeout_ms = timeout_ms };
	struct request request;

	REQUEST(&request, "first", "answer", "then \"what\"?\n\tthis \xff that");
	request.x.dir = dir;
	assert_ok(kl_provider_open(&provider, NULL, &opts));
	return kl_provider_send(reply, provider, &request.q, &request.x, NULL);
}

#define assert_refused(kind, part, command, timeout)             \
	do {                                                     \
		struct kl_reply kl_r_;                           \
		int kl_e_ = ask(&kl_r_, command, NULL, timeout); \
		kl_reply_release(&kl_r_);                        \
		assert_error(kind, part, kl_e_);                 \
	} while (0)

static void request_and_reply_are_what_the_format_says(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("exec"), *seen = kl_fs_join(dir, "seen");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *value = NULL;
	KL_AUTO(kl_reply_release) struct kl_reply reply;
	const char *want =
		"{\"schema\":\"klineage.chat-request/1\",\"model\":\"test-model-1\","
		"\"system\":[\"You simplify kernels.\",\"The contract: \\\"topk\\\" \\\\ 1\"],"
		"\"messages\":[{\"role\":\"user\",\"text\":\"first\"},{\"role\":\"assistant\",\"text\":\"answer\"},"
		"{\"role\":\"user\",\"text\":\"then \\\"what\\\"?\\n\\tthis \xef\xbf\xbd that\"}],"
		"\"max_tokens\":1000,\"phase\":\"back-0\",\"turn\":1}\n";

	assert_ok(ask(
		&reply,
		"cat >seen; printf '%s\\n' '{\"schema\":\"klineage.chat-reply/1\",\"text\":\"a\\u00e9\\n\","
		"\"model\":\"m\",\"stop\":\"length\",\"usage\":{\"input\":10,\"output\":2,\"cache_read\":3,"
		"\"cache_write_1h\":4},\"more\":1}'",
		dir, 0));
	assert_string_equal(reply.text, "a\xc3\xa9\n");
	assert_string_equal(reply.model, "m");
	assert_int_equal(reply.stop, KL_STOP_LENGTH);
	assert_true(reply.usage.known);
	assert_int_equal(reply.usage.input, 10);
	assert_int_equal(reply.usage.output, 2);
	assert_int_equal(reply.usage.cache_read, 3);
	assert_int_equal(reply.usage.cache_write_5m, 0);
	assert_int_equal(reply.usage.cache_write_1h, 4);
	assert_ok(kl_fs_read(&text, seen, 1 << 20));
	assert_string_equal(text.ptr, want);
	assert_ok(kl_json_parse(&value, text.ptr, text.len));
}

static void without_usage_it_says_so(void **state)
{
	KL_AUTO(kl_reply_release) struct kl_reply reply;

	assert_ok(ask(&reply, SAY("echo hello"), NULL, 0));
	assert_string_equal(reply.text, "hello ");
	assert_null(reply.model);
	assert_false(reply.usage.known);
	assert_int_equal(reply.stop, KL_STOP_END);
}

/* docs/exec-agent.sh, with cat and a reply in UTF-8 for an agent. */
static void the_example_of_the_documents_works(void **state)
{
	KL_AUTO(kl_reply_release) struct kl_reply reply;
	struct kl_reply bad;

	assert_ok(ask(&reply, "sh " KL_SOURCE "/docs/exec-agent.sh sh -c 'cat; echo \"\303\251\"'",
		      NULL, 0));
	assert_string_equal(
		reply.text,
		"You simplify kernels.\n\nThe contract: \"topk\" \\ 1\n\n# user\n\nfirst\n\n"
		"# assistant\n\nanswer\n\n# user\n\nthen \"what\"?\n\tthis \xef\xbf\xbd that\n\n\xc3\xa9\n");
	assert_false(reply.usage.known);
	assert_error(KL_EINVALID, "failed with exit code 7; its stderr: no credit",
		     ask(&bad,
			 "sh " KL_SOURCE "/docs/exec-agent.sh sh -c 'echo no credit >&2; exit 7'",
			 NULL, 0));
	kl_reply_release(&bad);
}

static void no_repository_is_in_reach(void **state)
{
	KL_AUTO(kl_freep) char *repo = scratch_repo("user"), *below = kl_asprintf("%s/dir", repo);
	KL_AUTO(kl_freep) char *git = kl_asprintf("%s/.git", repo);
	KL_AUTO(kl_freep) char *bare = kl_asprintf("%s/bare", repo);
	struct kl_reply reply;

	sh(repo, "git init -q --bare bare");
	setenv("GIT_DIR", git, 1);
	setenv("GIT_WORK_TREE", repo, 1);
	assert_int_equal(chdir(repo), 0);
	/* an empty directory, one below a worktree, and one that looks like a repository */
	assert_ok(ask(
		&reply,
		SAY("ls -A; env | grep -cE '^GIT_(DIR|WORK_TREE)'; git rev-parse --git-dir 2>&1"),
		NULL, 0));
	assert_contains(reply.text, "0 fatal: not a git repository");
	kl_reply_release(&reply);
	assert_ok(ask(&reply, SAY("ls -A; git rev-parse --git-dir 2>&1"), below, 0));
	assert_contains(reply.text, "b.txt fatal: not a git repository");
	kl_reply_release(&reply);
	assert_ok(ask(&reply, SAY("git rev-parse --git-dir 2>&1"), bare, 0));
	assert_contains(reply.text, "fatal: ");
	kl_reply_release(&reply);
	unsetenv("GIT_DIR");
	unsetenv("GIT_WORK_TREE");
	assert_error(KL_EINVALID, "contains a repository", ask(&reply, "true", repo, 0));
	kl_reply_release(&reply);
	assert_int_equal(chdir("/"), 0);
}

/* the same, for a step that is derived anew: repo, and whether it is to be alone */
static int ask_of(struct kl_reply *reply, const char *dir, const char *command, bool alone)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	struct kl_provider_opts opts = { .name = "exec", .command = command };
	struct request request;

	REQUEST(&request, "first");
	request.x.alone = alone;
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_provider_open(&provider, repo, &opts));
	return kl_provider_send(reply, provider, &request.q, &request.x, NULL);
}

/* bubblewrap where rights and /proc allow it: without it nothing is hidden, and that is said */
static bool can_hide(void)
{
	return !system("bwrap --dev-bind / / --unshare-pid --proc /proc true 2>/dev/null");
}

static void who_derives_anew_sees_no_repository(void **state)
{
	KL_AUTO(kl_freep) char *repo = scratch_repo("hidden"),
			       *other = kl_asprintf("%s-other", repo);
	static const char look[] = SAY(
		"ls -A \"$THIS\" \"$OTHER\" 2>&1; ls -d /proc/$PPID/cwd/.git 2>&1; test -w . && pwd");
	KL_AUTO(kl_freep) char *there = kl_asprintf("exec '%s/agent'", repo);
	struct kl_reply reply;

	sh(repo,
	   "git worktree add -q '%s' HEAD; printf '#!/bin/sh\necho nothing >&2; exit 3\n' >agent; chmod +x agent",
	   other);
	assert_int_equal(chdir(repo), 0);
	/* the scratch directory is one of ours, and hidden, too */
	setenv("HOME", "/nonexistent", 1);
	setenv("THIS", repo, 1);
	setenv("OTHER", other, 1);
	assert_ok(ask_of(&reply, repo, look, true));
	assert_int_equal(reply.alone, can_hide());
	if (can_hide()) {
		assert_null(strstr(reply.text, "a.txt"));
		assert_null(strstr(reply.text, ".git "));
		assert_contains(reply.text, "klineage-exec");
	}
	kl_reply_release(&reply);
	/* who only proposes may look; so may all where the user says so */
	assert_ok(ask_of(&reply, repo, look, false));
	assert_false(reply.alone);
	assert_contains(reply.text, "a.txt");
	kl_reply_release(&reply);
	sh(repo, "git config klineage.chat.hide false");
	assert_ok(ask_of(&reply, repo, look, true));
	assert_false(reply.alone);
	assert_contains(reply.text, "a.txt");
	kl_reply_release(&reply);
	/* a command that lies there is not hidden from itself */
	sh(repo, "git config --unset klineage.chat.hide");
	assert_error(KL_EINVALID, "failed with exit code 3; its stderr: nothing",
		     ask_of(&reply, repo, there, true));
	assert_false(reply.alone);
	kl_reply_release(&reply);
}

static void its_directory_goes_and_our_key_stays_here(void **state)
{
	KL_AUTO(kl_reply_release) struct kl_reply reply;

	setenv("KLINEAGE_CHAT_KEY", "sk-do-not-tell", 1);
	assert_ok(ask(&reply, SAY("pwd; env | grep -c do-not-tell"), NULL, 0));
	unsetenv("KLINEAGE_CHAT_KEY");
	assert_contains(reply.text, " 0 ");
	*strchr(reply.text, ' ') = '\0';
	assert_contains(reply.text, "klineage-exec");
	assert_false(kl_fs_exists(reply.text));
}

static void what_dies_or_prints_garbage_is_told_with_its_last_words(void **state)
{
	assert_refused(KL_EINVALID,
		       "exec: the command failed with exit code 3; its stderr: no \"credit\" left",
		       "echo 'no \"credit\"\n left' >&2; exit 3", 0);
	assert_refused(KL_EINVALID, "was killed by signal 9", "kill -9 $$", 0);
	assert_refused(KL_EINVALID, "printed nothing; its stderr: ?[31moops",
		       "printf '\\033[31moops\\n' >&2", 0);
	assert_refused(KL_EINVALID, "failed with exit code 127", "/no/such/agent", 0);
	assert_refused(KL_EINVALID, "printed no valid reply: JSON line 1",
		       "echo Sure! Here is the kernel:", 0);
	assert_refused(KL_EINVALID, "near '?'", "printf '{\\033'", 0);
	assert_refused(KL_EINVALID, "'schema' is missing", "echo '{}'", 0);
	assert_refused(KL_EINVALID, "'schema' is not klineage.chat-reply/1",
		       "echo '{\"schema\":\"klineage.chat-reply/9\"}'", 0);
#define WITH(rest) "echo '{\"schema\":\"klineage.chat-reply/1\"," rest "}'"
	assert_refused(KL_EINVALID, "'text' is not a string", WITH("\"text\":4,\"unmetered\":true"),
		       0);
	assert_refused(KL_EINVALID, "'usage' or '", WITH("\"text\":\"x\""), 0);
	assert_refused(KL_EINVALID, "'usage' or '", WITH("\"text\":\"x\",\"unmetered\":false"), 0);
	assert_refused(KL_EINVALID, "'output' is missing",
		       WITH("\"text\":\"x\",\"usage\":{\"input\":1}"), 0);
	assert_refused(KL_EINVALID, "negative or too large",
		       WITH("\"text\":\"x\",\"usage\":{\"input\":1,\"output\":-5}"), 0);
	assert_refused(KL_EINVALID, "not an integer",
		       WITH("\"text\":\"x\",\"usage\":{\"input\":1,\"output\":1e3}"), 0);
	assert_refused(KL_EINVALID, "'stop' is not",
		       WITH("\"text\":\"x\",\"unmetered\":true,\"stop\":\"yes\""), 0);
	assert_refused(KL_EINVALID, "duplicate",
		       WITH("\"text\":\"x\",\"text\":\"y\",\"unmetered\":true"), 0);
	assert_refused(KL_EINVALID, "end of file expected",
		       WITH("\"text\":\"x\",\"unmetered\":true") "; echo '{}'", 0);
}

static void a_reply_without_text_is_one_with_a_flaw(void **state)
{
	static const struct {
		const char *command, *text;
		enum kl_flaw flaw;
	} is[] = {
		{ WITH("\"text\":\" \",\"unmetered\":true"), "[The reply had no text.]",
		  KL_FLAW_EMPTY },
		{ WITH("\"text\":\"I\",\"unmetered\":true,\"stop\":\"refusal\""), "I",
		  KL_FLAW_REFUSAL },
		{ WITH("\"text\":\"half\",\"unmetered\":true,\"stop\":\"length\""), "half",
		  KL_FLAW_LENGTH },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		KL_AUTO(kl_reply_release) struct kl_reply reply;

		assert_ok(ask(&reply, is[i].command, NULL, 0));
		assert_string_equal(reply.text, is[i].text);
		assert_int_equal(reply.flaw, is[i].flaw);
	}
}

/* EX_TEMPFAIL, and silence, can pass; any other failure cannot. */
static void a_command_can_ask_for_another_attempt(void **state)
{
	static const struct {
		const char *command;
		int64_t timeout_ms;
		int kind;
		bool transient;
	} is[] = {
		{ "echo overloaded >&2; exit 75", 0, KL_EINVALID, true },
		{ "exit 1", 0, KL_EINVALID, false },
		{ "sleep 5", 200, KL_ETIMEOUT, true },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		KL_AUTO(kl_reply_release) struct kl_reply reply;

		assert_int_equal(ask(&reply, is[i].command, NULL, is[i].timeout_ms), is[i].kind);
		assert_int_equal(reply.failure.transient, is[i].transient);
	}
}

static void only_the_end_of_much_talk_is_told(void **state)
{
	struct kl_reply reply;

	assert_int_equal(
		ask(&reply,
		    "i=0; while [ $i -lt 500 ]; do echo \"line $i\" >&2; i=$((i+1)); done; exit 1",
		    NULL, 0),
		KL_EINVALID);
	assert_contains(kl_error_last(), "line 499");
	assert_null(strstr(kl_error_last(), "line 400 "));
	assert_true(strlen(kl_error_last()) < 400);
}

static void floods_and_sleepers_are_ended_with_all_their_kin(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("kin"), *file = kl_fs_join(dir, "pid");
	KL_AUTO(kl_buf_release) struct kl_buf pid = KL_BUF_INIT;
	struct kl_reply reply;
	int64_t from = kl_clock_ns();

	assert_refused(KL_EINVALID, "printed more than 32 MiB", "head -c 50000000 /dev/zero", 0);
	assert_error(KL_ETIMEOUT, "did not finish within 1 s",
		     ask(&reply, "sleep 100 & echo $! >pid; sleep 100", dir, 300));
	kl_reply_release(&reply);
	assert_true(kl_clock_ns() - from < INT64_C(20) * 1000000000);
	assert_ok(kl_fs_read(&pid, file, 100));
	for (int i = 0; i < 100 && !kill(atoi(pid.ptr), 0); i++)
		kl_clock_sleep_ms(20); /* until init has buried it */
	assert_int_equal(kill(atoi(pid.ptr), 0), -1);
}

static void one_that_does_not_read_is_fine(void **state)
{
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	struct kl_provider_opts opts = { .name = "exec",
					 .command = WITH("\"text\":\"x\",\"unmetered\":true") };
	KL_AUTO(kl_reply_release) struct kl_reply reply;
	KL_AUTO(kl_freep) char *big = kl_malloc(1 << 20);
	struct request request;

	memset(big, 'a', (1 << 20) - 1);
	big[(1 << 20) - 1] = '\0';
	REQUEST(&request, big);
	assert_ok(kl_provider_open(&provider, NULL, &opts));
	assert_ok(kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	assert_string_equal(reply.text, "x");
}

static void command_and_limit_come_from_configuration(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("config");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(kl_reply_release) struct kl_reply reply;
	struct kl_provider_opts none = { 0 };
	struct request request;

	sh(dir, "git config klineage.chat.provider exec; git config klineage.chat.timeout 1; "
		"git config klineage.chat.exec 'sleep 30'");
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_provider_open(&provider, repo, &none));
	assert_string_equal(kl_provider_name(provider), "exec");
	assert_false(kl_provider_metered(provider));
	REQUEST(&request, "hello");
	assert_error(KL_ETIMEOUT, "within 1 s",
		     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
}

static void what_cannot_be_opened_or_asked_says_why(void **state)
{
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	struct kl_provider_opts opts = { 0 };
	struct kl_reply reply;
	struct request request;

	assert_error(KL_EINVALID, "set klineage.chat.provider",
		     kl_provider_open(&provider, NULL, &opts));
	opts.name = "carrier-pigeon";
	assert_error(KL_EINVALID, "unknown provider 'carrier-pigeon' (available: ",
		     kl_provider_open(&provider, NULL, &opts));
	opts.name = "exec";
	assert_error(KL_EUSAGE, "klineage.chat.exec", kl_provider_open(&provider, NULL, &opts));
	opts.command = "false";
	assert_ok(kl_provider_open(&provider, NULL, &opts));
	REQUEST(&request, "hello", "you");
	assert_error(KL_EINVALID, "must end with a user message",
		     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	assert_true(reply.usage.known && !reply.usage.input && !reply.usage.output);
	REQUEST(&request, "hello", "", "you");
	assert_error(KL_EINVALID, "message 1 is empty",
		     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	REQUEST(&request, "hello");
	request.x.turn = 1;
	assert_error(KL_EINVALID, "turn 1",
		     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	request.q.model = NULL;
	assert_error(KL_EINVALID, "set klineage.chat.model",
		     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	REQUEST(&request, "hello");
	request.q.max_tokens = 0;
	assert_error(KL_EINVALID, "0 tokens",
		     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_and_reply_are_what_the_format_says),
		cmocka_unit_test(without_usage_it_says_so),
		cmocka_unit_test(the_example_of_the_documents_works),
		cmocka_unit_test(no_repository_is_in_reach),
		cmocka_unit_test(who_derives_anew_sees_no_repository),
		cmocka_unit_test(its_directory_goes_and_our_key_stays_here),
		cmocka_unit_test(what_dies_or_prints_garbage_is_told_with_its_last_words),
		cmocka_unit_test(a_reply_without_text_is_one_with_a_flaw),
		cmocka_unit_test(a_command_can_ask_for_another_attempt),
		cmocka_unit_test(only_the_end_of_much_talk_is_told),
		cmocka_unit_test(floods_and_sleepers_are_ended_with_all_their_kin),
		cmocka_unit_test(one_that_does_not_read_is_fine),
		cmocka_unit_test(command_and_limit_come_from_configuration),
		cmocka_unit_test(what_cannot_be_opened_or_asked_says_why),
	};

	return cmocka_run_group_tests_name("chat/provider_exec", tests, scratch_setup,
					   scratch_teardown);
}
