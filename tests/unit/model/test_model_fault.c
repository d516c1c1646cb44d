/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation of two turns, stopped at every durable step, by SIGKILL and by a failure, then
 * gone on with: nothing that is stored is bought again, and the ledger counts all that was charged.
 */
#include "chat_fake.h"

#ifdef KL_FAULT_POINTS
#include "chat_fault.h"

static const struct kl_session_opts opts = { .workload = "w", .provider = "fake", .model = "m" };

static void check_money(const char *dir, const char *at)
{
	size_t times;

	fault_check_money(dir, fake_charged(&times), at);
	if (times > 3)
		fail_msg("%s: %zu charges for two turns and one stop", at, times);
}

static void stop_at(const char *base, const char *dir, int n, bool dies, const char *name)
{
	KL_AUTO(kl_freep) char *at = kl_asprintf("%d:%s (%s)", n, dies ? "kill" : "fail", name);

	sh(base, "rm -rf '%s' '%s' && cp -R . '%s'", dir, fake.till, dir);
	fault_stop(dir, &opts, n, dies, at);
	check_money(dir, at);
	fault_go_on(dir, &opts, at);
	check_money(dir, at);
}

static void every_durable_step_may_be_the_last(void **state)
{
	KL_AUTO(kl_freep) char *base = scratch_repo("base"), *dir = scratch_dir("run");
	KL_AUTO(kl_strvec_release) struct kl_strvec point = KL_STRVEC_INIT;

	fake.name_charge = true;
	fake.out = 50;
	fake.till = kl_asprintf("%s.till", dir);
	sh(base, "git config klineage.m.price 'input=3 output=15 cache-write-5m=3'");
	sh(base, "rm -rf '%s' && cp -R . '%s'", dir, dir);
	fault_points(&point, dir, &opts);
	for (size_t i = 0; i < 2 * point.n; i++)
		stop_at(base, dir, (int)(i / 2) + 1, i % 2, point.v[i / 2]);
}
#endif

int main(void)
{
#ifdef KL_FAULT_POINTS
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_durable_step_may_be_the_last) };

	fault_tmpdir();
	return cmocka_run_group_tests_name("chat/fault", tests, scratch_setup, scratch_teardown);
#else
	/* tests/t/0412-chat-fault.sh runs the build that has fault points */
	puts("1..0 # SKIP no fault points in this build");
	return 0;
#endif
}
