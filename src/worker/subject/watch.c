/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/watch.h"

#include <time.h>

#include "worker/subject/threads.h"

#define US 1000LL
#define MS (1000 * US)

/* How long the stub may take from its last store to its trap until the parent interrupts it. */
#define SETTLE_NS (50 * US)
/* The limit of wall time is WALL_SHARE times the limit of processor time, plus WALL_NS. */
#define WALL_SHARE 30
#define WALL_NS (10000 * MS)
#define STUB_MS 2000 /* processor time for the few instructions of the stub */

int64_t kl_watch_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t kl_watch_processor_ns(const struct kl_cpu_subject *subject)
{
	struct timespec ts;

	if (!subject->has_clock || clock_gettime(subject->clock, &ts) < 0)
		return -1;
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

struct kl_watch kl_watch_begin(struct kl_cpu_subject *subject, int64_t ms)
{
	return (struct kl_watch){
		.subject = subject,
		.limit_ns = ms * MS,
		.wall_ns = WALL_SHARE * ms * MS + WALL_NS,
		.used = kl_watch_processor_ns(subject),
		.begin = kl_watch_now(),
	};
}

struct kl_watch kl_watch_stub(struct kl_cpu_subject *subject)
{
	return kl_watch_begin(subject, STUB_MS);
}

static inline void relax_core(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
}

/*
 * Sleep between two polls for 1/64 of the time waited so far, but at least 20 us and at most 1 ms.
 * If exact timing matters, sleep for 50 us instead and, if the parent has a processor of its own,
 * only after 200 ms. Return true if the caller need not spin before its next poll.
 */
static bool idle_wait(const struct kl_cpu_subject *subject, int64_t waited)
{
	int64_t ns = waited / 64;
	struct timespec pause = { 0 };

	if (subject->precise && !subject->threads.crowded && waited < 200 * MS)
		return false;
	ns = ns < 20 * US ? 20 * US : ns > MS ? MS : ns;
	pause.tv_nsec = subject->precise ? 50 * US : ns;
	nanosleep(&pause, NULL);
	return !subject->precise;
}

/* Return KL_LATE or KL_STARVED if a limit is reached, otherwise KL_SEEN. */
static enum kl_seen check_limit(const struct kl_watch *watch, int64_t waited)
{
	int64_t used;

	if (waited <= watch->limit_ns)
		return KL_SEEN;
	used = kl_watch_processor_ns(watch->subject);
	if (watch->used < 0 || used < 0 || used - watch->used > watch->limit_ns ||
	    kl_threads_stuck(watch->subject, used, watch->begin + waited))
		return KL_LATE;
	return waited > watch->wall_ns ? KL_STARVED : KL_SEEN;
}

enum kl_seen kl_watch_word(const struct kl_watch *watch, const uint64_t *word, uint64_t want,
			   struct kl_trace_event *ev)
{
	pid_t pid = watch->subject->pid;
	enum kl_seen seen;
	bool slept = false;
	int64_t waited;

	for (unsigned n = 1;; n++) {
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == want)
			return KL_SEEN;
		relax_core();
		if (n % 512 && !slept)
			continue;
		if (kl_trace_poll(pid, ev)) {
			if (ev->kind != KL_TRACE_STOP)
				return KL_STOPPED;
			kl_trace_continue(pid); /* an interrupt that arrived late */
		}
		if (kl_threads_poll(watch->subject, ev))
			return KL_STOPPED;
		waited = kl_watch_now() - watch->begin;
		if ((seen = check_limit(watch, waited)) != KL_SEEN)
			return seen;
		slept = idle_wait(watch->subject, waited);
	}
}

/* Return true if the stopped child is between the stub's store of `done` and its trap. */
static bool is_in_stub(const struct kl_cpu_subject *subject)
{
	struct kl_trace_regs regs;

	return kl_trace_get_regs(subject->pid, &regs) &&
	       kl_trace_pc(&regs) >= subject->hello.stored &&
	       kl_trace_pc(&regs) <= subject->hello.trapped;
}

enum kl_seen kl_watch_trap(const struct kl_watch *call, int64_t done, struct kl_trace_event *ev)
{
	const struct kl_cpu_subject *subject = call->subject;
	/* processor time counts from the beginning of the call, so it need not be read here */
	const struct kl_watch watch = {
		.subject = call->subject,
		.limit_ns = done - call->begin + STUB_MS * MS,
		.wall_ns = done - call->begin + WALL_SHARE * STUB_MS * MS,
		.begin = done,
		.used = call->used,
	};
	bool asked = false;
	enum kl_seen seen;
	int64_t waited;

	for (;;) {
		if (kl_trace_poll(subject->pid, ev)) {
			if (ev->kind != KL_TRACE_STOP)
				return KL_STOPPED;
			if (!is_in_stub(subject))
				return KL_LATE;
			kl_trace_continue(subject->pid);
		}
		waited = kl_watch_now() - watch.begin;
		if ((seen = check_limit(&watch, waited)) != KL_SEEN)
			return seen;
		if (!asked && waited > SETTLE_NS) {
			kl_trace_interrupt(subject->pid);
			asked = true;
		}
		relax_core();
		if (asked) /* the child may need our processor to reach the trap */
			idle_wait(subject, waited);
	}
}
