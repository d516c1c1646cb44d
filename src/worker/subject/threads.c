/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/threads.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>

#include "base/error.h"
#include "worker/subject/convention.h"
#include "worker/subject/watch.h"

#define MS 1000000LL
#define STOP_NS (10000 * MS) /* wall time that a thread may take to stop */
#define STUCK_NS (2000 * MS) /* time without progress until threads count as stuck */

int kl_threads_add(struct kl_cpu_subject *subject, pid_t tid)
{
	struct kl_threads *threads = &subject->threads;
	int status;

	if (threads->n + 1 >= subject->wire->nthread)
		return kl_error(KL_ECANNOT, "the kernel's process has more threads than it should");
	threads->tid[threads->n++] = tid;
	/* a new thread stops before its first instruction */
	while (waitpid(tid, &status, __WALL) < 0)
		if (errno != EINTR)
			return kl_error_errno("cannot trace a thread of the kernel");
	kl_trace_continue(tid);
	return 0;
}

/* -- polling and reaping ------------------------------------------------------- */

bool kl_threads_poll(struct kl_cpu_subject *subject, struct kl_trace_event *ev)
{
	struct kl_threads *threads = &subject->threads;
	pid_t tid;

	if (!threads->n)
		return false;
	tid = threads->tid[threads->next++ % threads->n];
	if (!kl_trace_poll(tid, ev))
		return false;
	if (ev->kind != KL_TRACE_STOP)
		return true;
	kl_trace_continue(tid);
	return false;
}

void kl_threads_reap(struct kl_cpu_subject *subject)
{
	struct kl_threads *threads = &subject->threads;
	int status;

	for (size_t i = 0; i < threads->n; i++) {
		kl_trace_continue(threads->tid[i]);
		for (;;) {
			if (waitpid(threads->tid[i], &status, __WALL) < 0 && errno != EINTR)
				break;
			if (WIFEXITED(status) || WIFSIGNALED(status))
				break;
			kl_trace_continue(threads->tid[i]); /* stopped in its exit event */
		}
	}
	threads->n = 0;
}

bool kl_threads_stuck(struct kl_cpu_subject *subject, int64_t used, int64_t now)
{
	struct kl_threads *threads = &subject->threads;

	if (!threads->n)
		return false;
	if (used != threads->used) {
		threads->used = used;
		threads->used_at = now;
	}
	return now - threads->used_at > STUCK_NS;
}

/* -- stopping ------------------------------------------------------------------- */

static void pause_briefly(int64_t waited)
{
	const struct timespec pause = { 0, 20000 };

	if (waited > 100000)
		nanosleep(&pause, NULL);
}

/* Wait until the thread stops; return false if it does not. */
static bool await_stop(pid_t tid, struct kl_trace_event *ev)
{
	int64_t begin = kl_watch_now(), waited = 0;

	while (!kl_trace_poll(tid, ev)) {
		if ((waited = kl_watch_now() - begin) > STOP_NS)
			return false;
		pause_briefly(waited);
	}
	return true;
}

/*
 * Return the fault of a stopped thread, as a text that follows "the kernel "; NULL if it waits in
 * the loop for a region that has not begun.
 */
static const char *not_waiting(const struct kl_cpu_subject *subject, size_t i,
			       const struct kl_trace_regs *regs)
{
	const struct kl_threads *threads = &subject->threads;
	uint64_t pc = kl_trace_pc(regs);
	uint32_t regions = 0;

	if (pc < subject->hello.joined || pc >= subject->hello.begun)
		return "went on computing in another thread after the call";
	if (kl_trace_sp(&threads->home[i]) && kl_trace_sp(regs) != kl_trace_sp(&threads->home[i]))
		return "left a thread on another stack";
	if (!kl_trace_word(threads->tid[i], subject->hello.regions, &regions) ||
	    regions != kl_trace_region(regs))
		return "left work for another thread to do after the call";
	return NULL;
}

void kl_threads_ask(struct kl_cpu_subject *subject)
{
	struct kl_threads *threads = &subject->threads;

	for (size_t i = 0; i < threads->n && !threads->asked; i++)
		kl_trace_interrupt(threads->tid[i]);
	threads->asked = true;
}

/*
 * Stop all threads. Return false and set *ev if one has ended or stopped for another reason; a kind
 * of KL_TRACE_STOP means that one did not stop.
 */
static bool stop_all(struct kl_cpu_subject *subject, struct kl_trace_event *ev)
{
	struct kl_threads *threads = &subject->threads;

	kl_threads_ask(subject);
	for (size_t i = 0; i < threads->n; i++) {
		if (!await_stop(threads->tid[i], ev)) {
			*ev = (struct kl_trace_event){ .kind = KL_TRACE_STOP };
			return false;
		}
		if (ev->kind != KL_TRACE_STOP)
			return false;
	}
	threads->stopped = true;
	return true;
}

/*
 * Let a waiting thread read the number of regions again when it goes on. The kernel's first thread
 * may have changed the number and then restored it; a thread that read it in between would begin a
 * region before the next call does. Return false if the thread has ended.
 */
static bool look_again(const struct kl_cpu_subject *subject, size_t i, struct kl_trace_regs *regs)
{
	if (kl_trace_pc(regs) <= subject->hello.look)
		return true;
	kl_trace_set_pc(regs, subject->hello.look);
	return kl_trace_set_regs(subject->threads.tid[i], regs);
}

/* Let a stopped thread run until it waits, since it may not have come to its loop yet. */
static int settle_thread(struct kl_cpu_subject *subject, size_t i)
{
	pid_t tid = subject->threads.tid[i];
	int64_t begin = kl_watch_now();
	struct kl_trace_event ev;

	for (;;) {
		struct kl_trace_regs regs;

		if (!kl_trace_get_regs(tid, &regs))
			return kl_error(KL_ECANNOT, "a thread of the kernel has ended");
		if (!not_waiting(subject, i, &regs)) {
			subject->threads.home[i] = regs;
			return 0;
		}
		if (kl_watch_now() - begin > STOP_NS)
			return kl_error(KL_ECANNOT, "a thread of the kernel is not waiting");
		kl_trace_continue(tid);
		pause_briefly(STOP_NS);
		kl_trace_interrupt(tid);
		if (!await_stop(tid, &ev) || ev.kind != KL_TRACE_STOP)
			return kl_error(KL_ECANNOT, "a thread of the kernel does not stop");
	}
}

int kl_threads_settle(struct kl_cpu_subject *subject)
{
	struct kl_threads *threads = &subject->threads;
	struct kl_trace_event ev;
	int err = 0;

	if (threads->n + 1 != subject->wire->nthread)
		return kl_error(KL_ECANNOT, "the kernel's process has %zu threads instead of %u",
				threads->n + 1, subject->wire->nthread);
	if (!threads->n)
		return 0;
	if (!stop_all(subject, &ev))
		return kl_error(KL_ECANNOT, "a thread of the kernel does not stop");
	for (size_t i = 0; i < threads->n && !err; i++)
		err = settle_thread(subject, i);
	return err;
}

void kl_threads_release(struct kl_cpu_subject *subject)
{
	struct kl_threads *threads = &subject->threads;

	threads->used = -1;
	for (size_t i = 0; i < threads->n && threads->stopped; i++)
		kl_trace_continue(threads->tid[i]);
	threads->stopped = threads->asked = false;
}

bool kl_threads_park(struct kl_cpu_subject *subject, struct kl_call *out)
{
	struct kl_threads *threads = &subject->threads;
	struct kl_trace_event ev;
	struct kl_trace_regs regs;
	const char *what;

	if (!threads->n)
		return true;
	if (!stop_all(subject, &ev)) {
		if (ev.kind == KL_TRACE_STOP)
			kl_outcome_kill(subject, out, KL_CALL_UNTESTED,
					"has a thread that does not stop: the machine is too busy");
		else
			kl_outcome(subject, &ev, out);
		return false;
	}
	for (size_t i = 0; i < threads->n; i++) {
		if (!kl_trace_get_regs(threads->tid[i], &regs)) {
			kl_outcome_kill(subject, out, KL_CALL_FAULT, "lost a thread");
			return false;
		}
		if ((what = not_waiting(subject, i, &regs))) {
			kl_outcome_kill(subject, out, KL_CALL_CHEAT, "%s", what);
			return false;
		}
		if ((what = kl_convention_broken(threads->tid[i], &threads->home[i], &regs))) {
			kl_outcome_kill(subject, out, KL_CALL_FAULT, "%s in a thread", what);
			return false;
		}
		if (!look_again(subject, i, &regs)) {
			kl_outcome_kill(subject, out, KL_CALL_FAULT, "lost a thread");
			return false;
		}
	}
	return true;
}
