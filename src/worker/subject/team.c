/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/team.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "worker/subject/processors.h"
#include "worker/subject/seal.h"
#include "worker/subject/team_loop.h"

#define SPINS 1000 /* polls before a thread sleeps, as in team_loop.c */

/* The threads of this process; the first is the one that calls the kernel. */
static struct {
	uint32_t n;
	uint64_t stack;     /* end of thread 0's stack; thread i's ends i strides above */
	const int16_t *cpu; /* processor of each thread, while threads are started */
	uint32_t sealed;    /* 1 once the thread started last is sealed or has failed */
	int err;            /* error of that thread */
	void (*fn)(void *); /* the region's function and argument */
	void *data;
	struct kl_member member[KL_MAX_THREADS];
} threads = { .n = 1 };

struct kl_team kl_team_all;

/* the team of code outside of any region */
static struct kl_team sole = { .size = 1 };

/* -- which thread this is -------------------------------------------------- */

struct kl_member *kl_team_self(void)
{
	uint64_t at = (uint64_t)(uintptr_t)__builtin_frame_address(0), i = 0;

	/*
	 * stacks of threads 1 ... lie in a row above threads.stack; other addresses belong to
	 * thread 0
	 */
	if (at < threads.stack + (threads.n - 1) * KL_WIRE_STRIDE && at > threads.stack)
		i = (at - threads.stack + KL_WIRE_STRIDE - 1) / KL_WIRE_STRIDE;
	if (!threads.member[i].team)
		threads.member[i].team = &sole;
	return &threads.member[i];
}

uint32_t kl_team_most(void)
{
	return threads.n;
}

/* -- waiting ----------------------------------------------------------------- */

static long call_futex(uint32_t *word, int op, uint32_t value)
{
	return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void relax_core(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
}

void kl_team_sleep(uint32_t *word, uint32_t value)
{
	call_futex(word, FUTEX_WAIT_PRIVATE, value);
}

void kl_team_wake(uint32_t *word, uint32_t n)
{
	call_futex(word, FUTEX_WAKE_PRIVATE, n);
}

void kl_team_await(uint32_t *word, uint32_t value, uint32_t *waiting)
{
	for (int i = 0; i < SPINS; i++) {
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
			return;
		relax_core();
	}
	__atomic_add_fetch(waiting, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == value)
		kl_team_sleep(word, value);
	__atomic_sub_fetch(waiting, 1, __ATOMIC_SEQ_CST);
}

void kl_team_changed(uint32_t *word, const uint32_t *waiting)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(waiting, __ATOMIC_SEQ_CST))
		kl_team_wake(word, INT_MAX);
}

/* The lock is 0 if it is free, 1 if it is taken, and 2 if it is taken and threads may sleep. */
void kl_team_lock(uint32_t *lock)
{
	uint32_t seen = 0;

	for (int i = 0; i < SPINS; i++, seen = 0) {
		if (__atomic_compare_exchange_n(lock, &seen, 1, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return;
		relax_core();
	}
	while (__atomic_exchange_n(lock, 2, __ATOMIC_ACQUIRE))
		kl_team_sleep(lock, 2);
}

void kl_team_unlock(uint32_t *lock)
{
	if (__atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) == 2)
		kl_team_wake(lock, 1);
}

void kl_team_barrier(struct kl_team *team)
{
	uint32_t phase = __atomic_load_n(&team->phase, __ATOMIC_ACQUIRE);

	if (__atomic_add_fetch(&team->arrived, 1, __ATOMIC_ACQ_REL) != team->size) {
		kl_team_await(&team->phase, phase, &team->waiting);
		return;
	}
	team->arrived = 0;
	__atomic_store_n(&team->phase, phase + 1, __ATOMIC_SEQ_CST);
	kl_team_changed(&team->phase, &team->waiting);
}

/* -- regions ----------------------------------------------------------------- */

/* Run one thread's part of a region, then restore the thread's previous state. */
static void run_member(struct kl_team *team, uint32_t id, void (*fn)(void *), void *data)
{
	struct kl_member *member = kl_team_self(), before = *member;

	*member = (struct kl_member){ .team = team, .id = id, .share = &team->share[0] };
	member->shares = team->inside;
	fn(data);
	*member = before;
}

void kl_team_work(void)
{
	uint32_t id = (uint32_t)(kl_team_self() - threads.member);

	if (id < kl_team_all.size)
		run_member(&kl_team_all, id, threads.fn, threads.data);
}

void kl_team_run(struct kl_team *team, void (*fn)(void *), void *data)
{
	uint32_t left;

	if (team != &kl_team_all || threads.n == 1) {
		run_member(team, 0, fn, data);
		return;
	}
	threads.fn = fn;
	threads.data = data;
	__atomic_store_n(&kl_team_working, threads.n - 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&kl_team_regions, 1, __ATOMIC_SEQ_CST);
	kl_team_changed(&kl_team_regions, &kl_team_sleepers);
	run_member(team, 0, fn, data);
	for (int i = 0; i < SPINS; i++) {
		if (!__atomic_load_n(&kl_team_working, __ATOMIC_ACQUIRE))
			return;
		relax_core();
	}
	while ((left = __atomic_load_n(&kl_team_working, __ATOMIC_ACQUIRE)))
		kl_team_sleep(&kl_team_working, left);
}

/* -- starting threads ---------------------------------------------------------- */

/*
 * Seal this thread and wait for regions. It shares errno and the error message with the first
 * thread, which is waiting in start_thread().
 */
static int begin_thread(void *arg)
{
	uintptr_t i = (uintptr_t)arg;

	threads.err = kl_processors_pin(threads.cpu[i]);
	if (!threads.err)
		threads.err = kl_seal_thread();
	__atomic_store_n(&threads.sealed, 1, __ATOMIC_SEQ_CST);
	kl_team_wake(&threads.sealed, 1);
	kl_team_loop();
}

static int start_thread(uint32_t i)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		    CLONE_SYSVSEM;
	uint64_t end = threads.stack + i * KL_WIRE_STRIDE - KL_WIRE_ABOVE;

	threads.sealed = 0;
	if (clone(begin_thread, (void *)(uintptr_t)end, flags, (void *)(uintptr_t)i) < 0)
		return kl_error_errno("cannot start thread %u of the kernel", i);
	while (!__atomic_load_n(&threads.sealed, __ATOMIC_SEQ_CST))
		kl_team_sleep(&threads.sealed, 0);
	return threads.err ? kl_error_in(KL_ECANNOT, "thread %u of the kernel", i) : 0;
}

int kl_team_start(uint32_t n, uint64_t stack, const int16_t *cpu)
{
	int err = 0;

	if (n > 1 && !KL_TEAM_LOOP)
		return kl_error(KL_ECANNOT, "kernels with threads need x86-64");
	threads.stack = stack;
	threads.cpu = cpu;
	threads.n = n;
	for (uint32_t i = 1; i < n && !err; i++)
		err = start_thread(i);
	threads.cpu = NULL;
	return err;
}

void kl_team_describe(struct kl_hello *hello)
{
	hello->joined = (uint64_t)(uintptr_t)kl_team_joined;
	hello->look = (uint64_t)(uintptr_t)kl_team_look;
	hello->begun = (uint64_t)(uintptr_t)kl_team_begun;
	hello->regions = (uint64_t)(uintptr_t)&kl_team_regions;
}
