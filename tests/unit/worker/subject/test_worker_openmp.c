/* SPDX-License-Identifier: Apache-2.0 */
/* test_worker_openmp - the functions of OpenMP for kernels, called in one thread; and a thread that waits */
#include "test.h"

#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image/openmp_symbols.h"
#include "worker/subject/openmp.h"
#include "worker/subject/team_loop.h"
#include "worker/subject/threads.h"

typedef bool (*next_fn)(uint64_t *first, uint64_t *stop);
typedef bool (*start_fn)(long start, long end, long step, long chunk, uint64_t *first,
			 uint64_t *stop);
typedef bool (*ull_fn)(bool up, uint64_t start, uint64_t end, uint64_t step, uint64_t chunk,
		       uint64_t *first, uint64_t *stop);
typedef void (*parallel_fn)(void (*fn)(void *), void *data, unsigned threads, unsigned flags);

/* Every function that the worker has is one that kernels may call; others are not found. */
static void names_agree(void **state)
{
	const struct kl_openmp_entry *const table[] = { kl_openmp_calls, kl_openmp_loops };
	static const char *const foreign[] = { "omp_get_wtime",
					       "omp_get_wtick",
					       "GOMP_target_ext",
					       "GOMP_taskloop",
					       "omp_",
					       "GOMP_",
					       "" };

	for (size_t k = 0; k < 2; k++)
		for (const struct kl_openmp_entry *entry = table[k]; entry->name; entry++)
			if (!kl_openmp_symbol(entry->name))
				fail_msg("a kernel may not call '%s'", entry->name);
	for (size_t i = 0; i < KL_ARRAY_SIZE(foreign); i++) {
		assert_false(kl_openmp_symbol(foreign[i]));
		assert_null(kl_openmp_find(foreign[i]));
	}
	assert_true(kl_openmp_named("omp_get_wtime"));
	assert_false(kl_openmp_named("computed"));
}

/* Run a loop of gcc's form in chunks, and check that its counter has each value once, in order. */
static void check_signed(const char *schedule, long start, long end, long step, long chunk)
{
	KL_AUTO(kl_freep) char *begin = kl_asprintf("GOMP_loop_%s_start", schedule);
	KL_AUTO(kl_freep) char *again = kl_asprintf("GOMP_loop_%s_next", schedule);
	start_fn first_chunk = (start_fn)kl_openmp_find(begin);
	next_fn next_chunk = (next_fn)kl_openmp_find(again);
	next_fn leave = (next_fn)kl_openmp_find("GOMP_loop_end");
	uint64_t first, stop;
	__int128 want = start;

	for (bool more = first_chunk(start, end, step, chunk, &first, &stop); more;
	     more = next_chunk(&first, &stop))
		for (__int128 at = (long)first; step > 0 ? at < (long)stop : at > (long)stop;
		     at += step, want += step)
			assert_true(at == want);
	((void (*)(void))leave)();
	assert_true(step > 0 ? want >= end || start >= end : want <= end || start <= end);
}

static void signed_loops_are_whole(void **state)
{
	static const char *const schedules[] = { "static",         "dynamic",
						 "guided",         "nonmonotonic_dynamic",
						 "ordered_static", "ordered_dynamic",
						 "ordered_guided" };
	static const long loops[][4] = {
		{ 0, 10, 1, 3 },
		{ 0, 10, 3, 1 },
		{ 10, 0, -1, 4 },
		{ 9, -1, -4, 1 },
		{ 5, 5, 1, 1 },
		{ 7, 3, 1, 1 },
		{ 3, 7, -1, 1 },
		{ LONG_MIN, LONG_MIN + 5, 2, 1 },
		{ LONG_MAX - 5, LONG_MAX, 2, 2 },
		{ LONG_MIN, LONG_MAX, LONG_MAX, 1 },
		{ LONG_MAX, LONG_MIN, LONG_MIN, 1 },
		{ 0, 1, 1, LONG_MAX },
	};

	for (size_t k = 0; k < KL_ARRAY_SIZE(schedules); k++)
		for (size_t i = 0; i < KL_ARRAY_SIZE(loops); i++)
			check_signed(schedules[k], loops[i][0], loops[i][1], loops[i][2],
				     loops[i][3]);
}

static void unsigned_loops_are_whole(void **state)
{
	ull_fn begin = (ull_fn)kl_openmp_find("GOMP_loop_ull_dynamic_start");
	next_fn next = (next_fn)kl_openmp_find("GOMP_loop_ull_dynamic_next");
	void (*leave)(void) = kl_openmp_find("GOMP_loop_end_nowait");
	uint64_t first, stop, n = 0;

	for (bool more = begin(true, UINT64_MAX - 9, UINT64_MAX, 2, 2, &first, &stop); more;
	     more = next(&first, &stop))
		n += (stop - first + 1) / 2;
	leave();
	assert_int_equal(n, 5);
	n = 0;
	for (bool more = begin(false, 9, 2, -(uint64_t)3, 1, &first, &stop); more;
	     more = next(&first, &stop)) {
		assert_int_equal(first, 9 - 3 * n);
		n++;
	}
	leave();
	assert_int_equal(n, 3);
}

struct seen {
	uint32_t size, level;
	int depth;
};

static void look_around(void *arg)
{
	struct seen *seen = arg;
	parallel_fn parallel = (parallel_fn)kl_openmp_find("GOMP_parallel");

	seen->size = kl_team_self()->team->size;
	seen->level = kl_team_self()->team->level;
	if (!seen->depth++)
		parallel(look_around, seen, 4, 0);
}

/* A process without further threads runs regions in its one thread, one inside of another. */
static void regions_need_no_threads(void **state)
{
	struct seen seen = { 0 };

	((parallel_fn)kl_openmp_find("GOMP_parallel"))(look_around, &seen, 0, 0);
	assert_int_equal(seen.depth, 2);
	assert_int_equal(seen.size, 1);
	assert_int_equal(seen.level, 2);
	assert_int_equal(kl_team_self()->team->level, 0);
}

#if KL_TEAM_LOOP
/* Start a process whose only thread waits for regions, and stop it. */
static void start_waiting(struct kl_cpu_subject *subject)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		kl_team_loop();
	kl_team_describe(&subject->hello);
	subject->wire = kl_calloc(1, sizeof(*subject->wire));
	subject->wire->nthread = 2;
	subject->threads.tid[0] = pid;
	subject->threads.n = 1;
	assert_true(kl_trace_attach(pid));
	assert_int_equal(kl_threads_settle(subject), 0);
}

/*
 * A thread that is stopped after it read another number of regions, which was then taken back, does
 * not begin a region when it goes on.
 */
static void waiting_thread_looks_again(void **state)
{
	struct kl_cpu_subject subject = { .pid = 0 };
	struct kl_trace_regs regs;
	struct kl_call out;
	uint32_t ended = 1;
	pid_t pid;

	start_waiting(&subject);
	pid = subject.threads.tid[0];
	assert_true(kl_trace_get_regs(pid, &regs));
	kl_trace_set_pc(&regs, subject.hello.begun - 3); /* before `mov %eax, %r15d` */
	regs.r.rax = regs.r.r15 + 1;
	regs.r.orig_rax = ~0ULL; /* in no system call */
	assert_true(kl_trace_set_regs(pid, &regs));
	kl_trace_interrupt(pid);
	kl_trace_continue(pid);
	assert_true(kl_threads_park(&subject, &out));
	kl_threads_release(&subject);
	usleep(20000);
	assert_true(kl_threads_park(&subject, &out));
	assert_true(kl_trace_word(pid, (uintptr_t)&kl_team_working, &ended));
	assert_int_equal(ended, 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	kl_threads_reap(&subject);
	free(subject.wire);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_agree),
		cmocka_unit_test(signed_loops_are_whole),
		cmocka_unit_test(unsigned_loops_are_whole),
		cmocka_unit_test(regions_need_no_threads),
#if KL_TEAM_LOOP
		cmocka_unit_test(waiting_thread_looks_again),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
