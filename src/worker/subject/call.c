/* SPDX-License-Identifier: Apache-2.0 */
/* call - calls a kernel in C once, timed from outside its process */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "worker/subject/child.h"
#include "worker/subject/convention.h"
#include "worker/subject/subject_state.h"

#define US 1000LL
#define MS (1000 * US)

/* Time the stub gets from its last store to its trap before we interrupt it. */
#define SETTLE_NS (50 * US)
/*
 * Limits are in processor time of the child, since that is what a kernel uses, whatever else the
 * machine does. If it does not get that much within a time by the clock, the machine is too busy,
 * which says nothing about the kernel.
 */
struct limit {
	int64_t processor_ns, wall_ns;
};
#define WALL_SHARE 30 /* a child must get this share of the processor, after WALL_NS */
#define WALL_NS (2000 * MS)
/* For the few instructions of the stub. */
static const struct limit stub_limit = { 2000 * MS, 120000 * MS };
/* Without ptrace: how long to watch the outputs for changes after "done". */
#define LINGER_NS (200 * US)
/*
 * Empty calls that measure the handshake. The lower quartile counts, since a busy machine only adds
 * time.
 */
#define EMPTY_CALLS 17
#define STOLEN_SHARE 4
/*
 * Upper limits: more than this is not the handshake but other work on the processors, and must not
 * be subtracted from a call's time. The last is also the most that a forged `done` can gain.
 */
#define MOST_HANDSHAKE_NS (3 * US)
#define MOST_TRAP_NS (50 * US)
#define MOST_JITTER_NS (5 * US)

int64_t kl_call_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline void relax_core(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
}

static uint64_t load_word(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store_word(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/* Sleep between polls; if exact timing matters, only after 200 ms of waiting. */
static void idle_wait(const struct kl_cpu_subject *subject, int64_t waited)
{
	struct timespec pause = { 0, 20 * US };

	if (subject->precise && waited < 200 * MS)
		return;
	if (waited > 50 * MS)
		pause.tv_nsec = subject->precise ? 50 * US : MS;
	nanosleep(&pause, NULL);
}

/* Processor time of the child; -1: unknown. */
static int64_t processor_ns(const struct kl_cpu_subject *subject)
{
	struct timespec ts;

	if (!subject->has_clock || clock_gettime(subject->clock, &ts) < 0)
		return -1;
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

enum seen { SEEN, STOPPED, LATE, STARVED };

/* One wait: when it began, by the clock and in processor time of the child. */
struct wait {
	const struct kl_cpu_subject *subject;
	struct limit limit;
	int64_t begin, used;
};

static struct wait wait_begin(const struct kl_cpu_subject *subject, struct limit limit)
{
	return (struct wait){ subject, limit, kl_call_now(), processor_ns(subject) };
}

/* SEEN: the limit is not reached. */
static enum seen wait_check(const struct wait *wait, int64_t waited)
{
	int64_t used;

	if (waited <= wait->limit.processor_ns)
		return SEEN;
	used = processor_ns(wait->subject);
	if (wait->used < 0 || used < 0 || used - wait->used > wait->limit.processor_ns)
		return LATE;
	return waited > wait->limit.wall_ns ? STARVED : SEEN;
}

/* Wait for a word of the control page, for the child to stop, or for `limit` to pass. */
static enum seen wait_word(struct kl_cpu_subject *subject, const uint64_t *word, uint64_t want,
			   struct limit limit, struct kl_trace_event *ev)
{
	struct wait wait = wait_begin(subject, limit);
	enum seen seen;
	int64_t waited;

	for (unsigned n = 1;; n++) {
		if (load_word(word) == want)
			return SEEN;
		relax_core();
		if (n % 512)
			continue;
		if (kl_trace_poll(subject->pid, ev)) {
			if (ev->kind != KL_TRACE_STOP)
				return STOPPED;
			kl_trace_continue(subject->pid); /* an interrupt that arrived late */
		}
		waited = kl_call_now() - wait.begin;
		if ((seen = wait_check(&wait, waited)) != SEEN)
			return seen;
		idle_wait(subject, waited);
	}
}

/*
 * `done` was seen; wait for the trap. If it does not come at once, stop the child and look where it
 * is: if it is between the store of `done` and the trap, it was merely preempted; anywhere else
 * `done` was forged.
 */
static enum seen wait_trap(struct kl_cpu_subject *subject, struct kl_trace_event *ev)
{
	struct wait wait = wait_begin(subject, stub_limit);
	struct kl_trace_regs regs;
	bool asked = false;
	enum seen seen;
	int64_t waited;

	for (;;) {
		waited = kl_call_now() - wait.begin;
		if (kl_trace_poll(subject->pid, ev)) {
			if (ev->kind != KL_TRACE_STOP)
				return STOPPED;
			if (!kl_trace_get_regs(subject->pid, &regs) ||
			    kl_trace_pc(&regs) < subject->hello.stored ||
			    kl_trace_pc(&regs) > subject->hello.trapped)
				return LATE;
			kl_trace_continue(subject->pid);
		}
		if ((seen = wait_check(&wait, waited)) != SEEN)
			return seen;
		if (!asked && waited > SETTLE_NS) {
			kl_trace_interrupt(subject->pid);
			asked = true;
		}
		relax_core();
		if (asked) /* the child may need our processor to get there */
			idle_wait(subject, waited);
	}
}

/* True if the child is stopped at our own trap, on its original stack; sets *regs. */
static bool at_home(struct kl_cpu_subject *subject, const struct kl_trace_event *ev,
		    struct kl_trace_regs *regs)
{
	return ev->kind == KL_TRACE_SIGNAL && ev->signal == SIGTRAP &&
	       kl_trace_get_regs(subject->pid, regs) &&
	       kl_trace_pc(regs) == subject->hello.trapped &&
	       (!kl_trace_sp(&subject->home) || kl_trace_sp(regs) == kl_trace_sp(&subject->home));
}

/*
 * Continue the child from the trap with its initial registers: only the stub runs until it sees a
 * new nonce in `go`.
 */
static bool release_child(struct kl_cpu_subject *subject, uint64_t go, struct kl_call *out)
{
	store_word(&subject->control->go, go);
	store_word(&subject->control->ready, ~(uint64_t)0);
	store_word(&subject->control->done, 0);
	if (!kl_trace_set_regs(subject->pid, &subject->home)) {
		kl_outcome_kill(subject, out, KL_CALL_FAULT, "vanished between two calls");
		return false;
	}
	kl_trace_continue(subject->pid);
	return true;
}

static bool end_starved(struct kl_cpu_subject *subject, struct kl_call *out)
{
	kl_outcome_kill(subject, out, KL_CALL_UNTESTED,
			"did not get enough processor time to end: the machine is too busy");
	return false;
}

/* Let the child wait in the stub for the next nonce. */
static bool arm_call(struct kl_cpu_subject *subject, struct kl_call *out)
{
	struct kl_trace_event ev;

	if (subject->traced && !release_child(subject, 0, out))
		return false;
	switch (wait_word(subject, &subject->control->ready, subject->traced ? 0 : subject->last,
			  stub_limit, &ev)) {
	case SEEN:
		return true;
	case STOPPED:
		kl_outcome(subject, &ev, out);
		return false;
	case STARVED:
		return end_starved(subject, out);
	case LATE:
		break;
	}
	kl_outcome_kill(subject, out, KL_CALL_CHEAT, "did not come back to the waiting loop");
	return false;
}

static bool page_untouched(const struct kl_cpu_subject *subject, uint64_t nonce)
{
	static const struct kl_saved_state none;
	const struct kl_control *control = subject->control;
	uint64_t any = 0;

	for (size_t i = 0; i < KL_ARRAY_SIZE(control->pad0); i++)
		any |= control->pad0[i] | control->pad1[i] | control->pad2[i];
	for (size_t i = 0; i < KL_ARRAY_SIZE(control->pad3); i++)
		any |= control->pad3[i];
	if (subject->traced && memcmp(&control->saved, &none, sizeof(none)))
		return false;
	return !any && control->go == nonce && control->done == nonce &&
	       control->ready == (subject->traced ? 0 : nonce);
}

static uint64_t outputs_print(const struct kl_cpu_subject *subject)
{
	uint64_t hash = 0x9e3779b97f4a7c15u;

	for (uint32_t i = 0; i < subject->wire->nargs; i++) {
		const struct kl_wire_arg *arg = &subject->wire->arg[i];
		const uint64_t *words = (const uint64_t *)subject->tensor[i].map;

		for (size_t n = 0; arg->tensor && arg->writable && n < arg->map_bytes / 8; n++)
			hash = (hash ^ words[n]) * 0xff51afd7ed558ccdu;
	}
	return hash;
}

static bool end_convention(struct kl_cpu_subject *subject, const char *broken, struct kl_call *out)
{
	if (broken)
		kl_outcome_kill(subject, out, KL_CALL_FAULT, "%s", broken);
	return !broken;
}

/*
 * End a call without ptrace: the child must return to the loop on its own, and its outputs must not
 * change afterwards.
 */
static bool end_alone(struct kl_cpu_subject *subject, uint64_t nonce, struct kl_call *out)
{
	struct kl_trace_event ev;
	struct timespec pause = { 0, LINGER_NS };
	uint64_t print = outputs_print(subject);

	subject->last = nonce;
	switch (wait_word(subject, &subject->control->ready, nonce, stub_limit, &ev)) {
	case SEEN:
		break;
	case STOPPED:
		kl_outcome(subject, &ev, out);
		return false;
	case STARVED:
		return end_starved(subject, out);
	case LATE:
		kl_outcome_kill(subject, out, KL_CALL_CHEAT,
				"did not come back to the waiting loop");
		return false;
	}
	nanosleep(&pause, NULL);
	if (print != outputs_print(subject)) {
		kl_outcome_kill(subject, out, KL_CALL_CHEAT,
				"outputs changed after the call had ended");
		return false;
	}
	return end_convention(subject, kl_convention_broken_saved(&subject->control->saved), out);
}

/*
 * End a call with ptrace; `stopped` is the child's event if it has already stopped. *trap is the
 * time of the stop.
 */
static bool end_traced(struct kl_cpu_subject *subject, const struct kl_trace_event *stopped,
		       int64_t *trap, struct kl_call *out)
{
	struct kl_trace_event ev;
	struct kl_trace_regs regs;
	enum seen seen = STOPPED;

	if (stopped)
		ev = *stopped;
	else
		seen = wait_trap(subject, &ev);
	if (seen == STARVED)
		return end_starved(subject, out);
	if (seen == LATE) {
		kl_outcome_kill(subject, out, KL_CALL_CHEAT,
				"wrote the completion word and went on computing");
		return false;
	}
	*trap = kl_call_now();
	if (at_home(subject, &ev, &regs))
		return end_convention(
			subject, kl_convention_broken(subject->pid, &subject->home, &regs), out);
	if (ev.kind == KL_TRACE_SIGNAL && ev.signal == SIGTRAP &&
	    load_word(&subject->control->done))
		kl_outcome_kill(subject, out, KL_CALL_CHEAT,
				"left the call with another stack, or from another place");
	else
		kl_outcome(subject, &ev, out);
	return false;
}

/* Check the bytes around outputs: they must be as poisoning left them. */
static bool slack_intact(struct kl_cpu_subject *subject, struct kl_call *out)
{
	for (uint32_t i = 0; i < subject->wire->nargs; i++) {
		const struct kl_wire_arg *arg = &subject->wire->arg[i];
		const struct kl_tensor *tensor = &subject->tensor[i];
		const unsigned char *at = tensor->map + (arg->offset ? 0 : arg->bytes);

		if (!arg->tensor || !arg->writable || !memcmp(at, tensor->slack, tensor->nslack))
			continue;
		kl_outcome_kill(subject, out, KL_CALL_FAULT, "out of bounds of '%s': wrote %s",
				subject->name[i],
				arg->offset ? "before its first element" :
					      "behind its last element");
		return false;
	}
	return true;
}

struct times {
	int64_t go, done, trap;
	int64_t used; /* processor time from shortly before `go` to the trap; -1: unknown */
};

/* A call may use call_ms of processor time. */
static struct limit call_limit(const struct kl_cpu_subject *subject)
{
	int64_t ns = subject->call_ms * MS;

	return (struct limit){ ns, WALL_SHARE * ns + WALL_NS };
}

static bool one_call(struct kl_cpu_subject *subject, bool empty, struct times *times,
		     struct kl_call *out)
{
	struct kl_trace_event ev;
	enum seen seen;
	uint64_t nonce;
	int64_t used;
	bool at_once;

	do
		nonce = (kl_rng_u64(&subject->nonce) & ~(uint64_t)1) | empty;
	while (nonce < 2 || nonce == subject->last);
	/*
	 * For a call that is not timed, set the nonce before the child continues: a child that
	 * waits for the nonce spins, possibly on the processor that we need to write it.
	 */
	at_once = subject->traced && !subject->precise;
	if (!at_once && !arm_call(subject, out))
		return false;
	subject->control->saved = (struct kl_saved_state){ 0 };
	used = subject->traced ? processor_ns(subject) : -1;
	times->go = kl_call_now();
	if (!at_once)
		store_word(&subject->control->go, nonce);
	else if (!release_child(subject, nonce, out))
		return false;
	seen = wait_word(subject, &subject->control->done, nonce, call_limit(subject), &ev);
	times->done = times->trap = kl_call_now();
	if (seen == STARVED)
		return end_starved(subject, out);
	if (seen == LATE) {
		kl_outcome_kill(subject, out, KL_CALL_HANG,
				"did not end within %lld ms of processor time",
				(long long)subject->call_ms);
		return false;
	}
	if (seen == STOPPED && !subject->traced) {
		kl_outcome(subject, &ev, out);
		return false;
	}
	if (subject->traced ?
		    !end_traced(subject, seen == STOPPED ? &ev : NULL, &times->trap, out) :
		    !end_alone(subject, nonce, out))
		return false;
	times->used = used < 0 ? -1 : processor_ns(subject) - used;
	if (!page_untouched(subject, nonce)) {
		kl_outcome_kill(subject, out, KL_CALL_CHEAT,
				"wrote to the control page of the gate");
		return false;
	}
	return slack_intact(subject, out);
}

/*
 * `done` can be written early, but the trap cannot be reached early: any time by which the trap is
 * later than in an honest call belongs to the call. Conversely, a call took no longer than the
 * processor time it used: a longer time means that the child, or we, had to wait for a processor.
 */
static void take_time(const struct kl_cpu_subject *subject, const struct times *times,
		      struct kl_call *out)
{
	int64_t ns = times->done - times->go - subject->empty_done;

	if (subject->traced && times->trap - times->go - subject->empty_trap - subject->jitter > ns)
		ns = times->trap - times->go - subject->empty_trap - subject->jitter;
	out->wall_ns = ns > 0 ? ns : 0;
	if (times->used >= 0 && ns > times->used) {
		out->disturbed = ns > times->used + subject->jitter + times->used / 256;
		/*
		 * In a virtual machine, time stolen by the host is charged to the process that runs
		 * when it is noticed. So processor time that is far less than wall time proves
		 * nothing.
		 */
		if (times->used >= ns / STOLEN_SHARE)
			ns = times->used;
	}
	out->ns = ns > 0 ? ns : 0;
}

int kl_cpu_subject_call(struct kl_cpu_subject *subject, struct kl_call *out)
{
	struct times times;

	*out = (struct kl_call){ .end = KL_CALL_OK };
	if (!subject->pid)
		return kl_error(KL_EINVALID, "the kernel process has exited");
	if (one_call(subject, false, &times, out))
		take_time(subject, &times, out);
	else if (out->end == KL_CALL_UNTESTED)
		return kl_error(KL_ECANNOT, "a kernel cannot be tested: it %s", out->what);
	return 0;
}

static int first_trap(struct kl_cpu_subject *subject)
{
	struct kl_trace_event ev;
	int64_t begin = kl_call_now();

	while (!kl_trace_poll(subject->pid, &ev)) {
		if (kl_call_now() - begin > stub_limit.wall_ns)
			return kl_error(KL_ECANNOT, "the kernel's process does not answer");
		idle_wait(subject, kl_call_now() - begin);
	}
	if (ev.kind != KL_TRACE_SIGNAL || !at_home(subject, &ev, &subject->home)) {
		if (ev.kind == KL_TRACE_GONE)
			subject->pid = 0;
		return kl_error(KL_ECANNOT,
				"the kernel's process cannot be sealed here (seccomp refused?)");
	}
	return 0;
}

static int compare_doubles(const void *left, const void *right)
{
	double x = *(const double *)left, y = *(const double *)right;

	return (x > y) - (x < y);
}

static int64_t at_most(int64_t value, int64_t most)
{
	return value < most ? value : most;
}

int kl_call_settle(struct kl_cpu_subject *subject)
{
	double done[EMPTY_CALLS], trap[EMPTY_CALLS];
	int n = subject->precise ? EMPTY_CALLS : 3, err;
	struct kl_call out;
	struct times times;

	if (subject->traced && (err = first_trap(subject)) < 0)
		return err;
	subject->has_clock = !clock_getcpuclockid(subject->pid, &subject->clock);
	for (int i = 0; i < n; i++) {
		if (!one_call(subject, true, &times, &out))
			return kl_error(KL_ECANNOT, "an empty call failed: %s", out.what);
		done[i] = (double)(times.done - times.go);
		trap[i] = (double)(times.trap - times.go);
	}
	qsort(done, (size_t)n, sizeof(*done), compare_doubles);
	qsort(trap, (size_t)n, sizeof(*trap), compare_doubles);
	subject->empty_done = at_most((int64_t)done[n / 4], MOST_HANDSHAKE_NS);
	subject->empty_trap = at_most((int64_t)trap[n / 4], MOST_TRAP_NS);
	subject->jitter = at_most((int64_t)trap[n * 9 / 10] - subject->empty_trap + 500,
				  MOST_JITTER_NS);
	return 0;
}
