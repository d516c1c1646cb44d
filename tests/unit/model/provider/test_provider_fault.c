/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same as test_model_fault.c over HTTP, by both protocols: a conversation of two turns with a
 * server, stopped at every durable step and while a reply comes in. The server's own log says what
 * was asked.
 */
#include "chatd_fixture.h"

#ifdef KL_FAULT_POINTS
#include "chat_fault.h"

#define LINE(text) \
	"{\"text\":\"" text "\",\"usage\":{\"input\":20,\"output\":10,\"cache_read\":100}}\n"
#define SCRIPT LINE("reply 0 of three") LINE("reply 1 of three") LINE("reply 2 of three")
#define COST (20 * 3000 + 10 * 15000 + 100 * 1000) /* nano-dollars of one, by the price below */

static const struct kl_session_opts opts = { .workload = "w" };

/* the repository, where it finds that server */
static void lay_out(const char *base, const char *dir, const struct chatd *chatd)
{
	sh(base,
	   "rm -rf '%s' && cp -R . '%s' && git -C '%s' config klineage.chat.url http://127.0.0.1:%d",
	   dir, dir, dir, chatd->port);
}

static void stop_at(const char *base, const char *dir, const char *provider, int n, bool dies,
		    const char *name)
{
	KL_AUTO(kl_freep) char *at = kl_asprintf("%s, %d:%s (%s)", provider, n,
						 dies ? "kill" : "fail", name);
	KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
	size_t had, asked;

	chatd_start(&chatd, SCRIPT, 0);
	lay_out(base, dir, &chatd);
	fault_stop(dir, &opts, n, dies, at);
	asked = chatd_count(&chatd);
	fault_check_money(dir, (int64_t)asked * COST, at);
	had = fault_go_on(dir, &opts, at);
	if (chatd_count(&chatd) != asked + 2 - had)
		fail_msg("%s: %zu requests, then %zu more for what was not stored", at, asked,
			 chatd_count(&chatd) - asked);
	fault_check_money(dir, (int64_t)chatd_count(&chatd) * COST, at);
	assert_sh("0", dir, "grep -rlF '" TEST_KEY "' . | wc -l");
}

static void every_step_with_a_server_may_be_the_last(void **state)
{
	static const char *const provider[] = { "anthropic", "openai" };

	setenv("KLINEAGE_CHAT_KEY", TEST_KEY, 1);
	for (size_t k = 0; k < 2; k++) {
		KL_AUTO(kl_freep) char *base = scratch_repo(provider[k]), *dir = scratch_dir("run");
		KL_AUTO(kl_strvec_release) struct kl_strvec point = KL_STRVEC_INIT;
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };

		sh(base,
		   "git config klineage.m.price 'input=3 output=15 cache-read=1'; git config klineage.chat.model m; "
		   "git config klineage.chat.provider %s",
		   provider[k]);
		chatd_start(&chatd, SCRIPT, 0);
		lay_out(base, dir, &chatd);
		fault_points(&point, dir, &opts);
		chatd_stop(&chatd);
		assert_true(kl_strvec_has(&point, "chat-heard"));
		for (size_t i = 0; i < 2 * point.n; i++)
			stop_at(base, dir, provider[k], (int)(i / 2) + 1, i % 2, point.v[i / 2]);
		print_message("%s: %zu points, each killed and failed\n", provider[k], point.n);
	}
}
#endif

int main(void)
{
#ifdef KL_FAULT_POINTS
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		every_step_with_a_server_may_be_the_last) };

	fault_tmpdir();
	return cmocka_run_group_tests_name("chat/fault-http", tests, chatd_setup, scratch_teardown);
#else
	/* tests/t/0412-chat-fault.sh runs the one that has them */
	puts("1..0 # SKIP no fault points in this build");
	return 0;
#endif
}
