/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits are in processor time: what a busy machine does to a call is no fault of its kernel, and
 * what the machine cannot finish is no verdict.
 */
#include "subject_fixture.h"

#include <sys/resource.h>

#include "worker/subject/subject_state.h"
#include "worker/subject/trial.h"

#define LOAD 8 /* processes that want each processor */
#define LIMIT_MS 400
/* About a third of the limit on a processor of 2 GHz. */
#define WORK " for (long i = 0; i < 200000000; i++) __asm__ volatile(\"\");"

/* How many processes make the machine that busy. */
static int busy(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) < 0 ? LOAD : LOAD * CPU_COUNT(&set);

	return n < (int)KL_ARRAY_SIZE(((struct spinners *)0)->pid) ?
		       n :
		       (int)KL_ARRAY_SIZE(((struct spinners *)0)->pid);
}

static pid_t child_of(struct kl_subject *subject)
{
	return ((struct kl_cpu_subject *)subject)->pid;
}

static void a_slow_kernel_passes_on_a_busy_machine(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = sf_new();
	KL_AUTO(sf_stop) struct spinners spinners = { .n = 0 };

	sf_kernel(fixture, "", WORK SCALE);
	fixture->job.call_ms = LIMIT_MS;
	sf_spin(&spinners, busy(), -1);
	for (int i = 0; i < 4; i++) {
		const struct kl_subject_spec spec = { .cpu = i & 1 ? 0 : -1,
						      .timed = i & 1,
						      .untraced = i & 2 };
		KL_AUTO(kl_subject_freep) struct kl_subject *subject = sf_start(fixture, spec);
		struct kl_call call;

		assert_ok(kl_subject_call(subject, &call));
		if (call.end != KL_CALL_OK)
			fail_msg("%d: %s", i, call.what);
		assert_true(call.wall_ns > 0);
	}
}

static void an_endless_kernel_hangs_on_a_busy_machine(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = sf_new();
	KL_AUTO(sf_stop) struct spinners spinners = { .n = 0 };
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	struct kl_call call;

	sf_kernel(fixture, "", " for (;;) __asm__ volatile(\"\");");
	fixture->job.call_ms = 100;
	sf_spin(&spinners, busy(), -1);
	subject = sf_start(fixture, (struct kl_subject_spec){ .cpu = -1 });
	assert_ok(kl_subject_call(subject, &call));
	assert_int_equal(call.end, KL_CALL_HANG);
	assert_contains(call.what, "100 ms of processor time");
}

/* Inputs of a further band can be denormal, which slows some processors down. */
static void a_further_band_has_more_time(void **state)
{
	static const float one[SF_N] = { 1 }, zero[SF_N] = { 0 };
	const void *const ends[KL_MAX_ARGS] = { [2] = one };
	const void *const hangs[KL_MAX_ARGS] = { [2] = zero };

	for (int further = 0; further < 2; further++) {
		KL_AUTO(fx_freep) struct fixture *fixture = sf_new();
		KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
		struct kl_trial trial = { .input = ends, .further = !further };
		struct kl_call call;

		sf_kernel(fixture, "", " while (x[0] != 1) __asm__ volatile(\"\");");
		fixture->job.call_ms = 20;
		subject = sf_start(fixture, (struct kl_subject_spec){ .cpu = -1 });
		assert_ok(kl_trial_kernel(&call, subject, &fixture->job, &trial));
		assert_int_equal(call.end, KL_CALL_OK);
		trial = (struct kl_trial){ .input = hangs, .further = further };
		assert_ok(kl_trial_kernel(&call, subject, &fixture->job, &trial));
		assert_int_equal(call.end, KL_CALL_HANG);
		assert_contains(call.what, further ? "within 200 ms" : "within 20 ms");
	}
}

/*
 * How many processes leave one with SCHED_IDLE some 3/2000 of their processor: 2, or more if this
 * test runs under nice, since each level has 4/5 of the weight of the level before.
 */
static int crowd(void)
{
	double most = KL_ARRAY_SIZE(((struct spinners *)0)->pid), n = 2;

	for (int level = getpriority(PRIO_PROCESS, 0); level > 0; level--)
		n *= 1.25;
	return (int)(n < most ? n : most);
}

/* A kernel that gets 3/2000 of a processor does not reach its limit: nobody knows what it would do. */
static void a_starved_kernel_is_not_judged(void **state)
{
	const struct sched_param none = { 0 };
	KL_AUTO(fx_freep) struct fixture *fixture = sf_new();
	KL_AUTO(sf_stop) struct spinners spinners = { .n = 0 };
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	struct kl_call call;

	sf_kernel(fixture, "", " for (;;) __asm__ volatile(\"\");");
	fixture->job.call_ms = 50;
	subject = sf_start(fixture, (struct kl_subject_spec){ .cpu = 0, .timed = true });
	sf_spin(&spinners, crowd(), 0);
	assert_int_equal(sched_setscheduler(child_of(subject), SCHED_IDLE, &none), 0);
	assert_error(KL_ECANNOT, "too busy", kl_subject_call(subject, &call));
	kl_error_clear();
}

/* Whoever kills the process, it is not the kernel's doing. */
static void a_killed_kernel_is_not_judged(void **state)
{
	for (int untraced = 0; untraced < 2; untraced++) {
		KL_AUTO(fx_freep) struct fixture *fixture = sf_new();
		KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
		struct kl_call call;
		pid_t killer;

		sf_kernel(fixture, "", " for (;;) __asm__ volatile(\"\");");
		fixture->job.call_ms = 5000;
		subject = sf_start(fixture,
				   (struct kl_subject_spec){ .cpu = -1, .untraced = untraced });
		killer = fork();
		if (!killer) {
			usleep(100000);
			kill(child_of(subject), SIGKILL);
			_exit(0);
		}
		assert_error(KL_ECANNOT, "killed by the system", kl_subject_call(subject, &call));
		kl_error_clear();
		waitpid(killer, NULL, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_kernel_passes_on_a_busy_machine),
		cmocka_unit_test(an_endless_kernel_hangs_on_a_busy_machine),
		cmocka_unit_test(a_further_band_has_more_time),
		cmocka_unit_test(a_starved_kernel_is_not_judged),
		cmocka_unit_test(a_killed_kernel_is_not_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
