/* SPDX-License-Identifier: Apache-2.0 */
/* call - calls a kernel in C once, timed from outside its process */
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "worker/subject/convention.h"
#include "worker/subject/spot_check.h"
#include "worker/subject/threads.h"
#include "worker/subject/watch.h"

/* Time to wait after a call without ptrace, to detect late changes of the outputs. */
#define LINGER_NS 200000

static uint64_t load_word(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store_word(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/* Return true if the child is stopped at the trap of the stub, on its original stack; set *regs. */
static bool at_home(struct kl_cpu_subject *subject, const struct kl_trace_event *ev,
		    struct kl_trace_regs *regs)
{
	return ev->kind == KL_TRACE_SIGNAL && ev->signal == SIGTRAP && ev->pid == subject->pid &&
	       kl_trace_get_regs(subject->pid, regs) &&
	       kl_trace_pc(regs) == subject->hello.trapped &&
	       (!kl_trace_sp(&subject->home) || kl_trace_sp(regs) == kl_trace_sp(&subject->home));
}

/*
 * Write `go` to the control page, and continue the child from the trap, with the registers that it
 * had at the first trap. Only the stub runs until it sees a new nonce in the control page.
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
	kl_threads_release(subject);
	kl_trace_continue(subject->pid);
	return true;
}

static bool end_starved(struct kl_cpu_subject *subject, struct kl_call *out)
{
	kl_outcome_kill(subject, out, KL_CALL_UNTESTED,
			"did not get enough processor time to end: the machine is too busy");
	return false;
}

static bool end_late(struct kl_cpu_subject *subject, struct kl_call *out)
{
	int64_t now = kl_watch_now();

	if (kl_threads_stuck(subject, kl_watch_processor_ns(subject), now))
		kl_outcome_kill(subject, out, KL_CALL_HANG,
				"did not end, because its threads wait for each other");
	else
		kl_outcome_kill(subject, out, KL_CALL_HANG,
				"did not end within %lld ms of processor time",
				(long long)subject->limit_ms);
	return false;
}

/* Wait until the child is in the loop of the stub, ready for the next nonce. */
static bool arm_call(struct kl_cpu_subject *subject, struct kl_call *out)
{
	struct kl_trace_event ev;
	struct kl_watch watch;

	if (subject->traced && !release_child(subject, 0, out))
		return false;
	watch = kl_watch_stub(subject);
	switch (kl_watch_word(&watch, &subject->control->ready, subject->traced ? 0 : subject->last,
			      &ev)) {
	case KL_SEEN:
		return true;
	case KL_STOPPED:
		kl_outcome(subject, &ev, out);
		return false;
	case KL_STARVED:
		return end_starved(subject, out);
	case KL_LATE:
		break;
	}
	kl_outcome_kill(subject, out, KL_CALL_CHEAT, "did not return to the waiting loop");
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
	for (size_t i = 0; i < sizeof(control->why); i++)
		any |= (unsigned char)control->why[i];
	if (subject->traced && memcmp(&control->saved, &none, sizeof(none)))
		return false;
	return !any && control->go == nonce && control->done == nonce &&
	       control->ready == (subject->traced ? 0 : nonce);
}

static uint64_t add_print(uint64_t hash, const void *bytes, uint64_t n)
{
	const uint64_t *words = bytes;

	for (size_t i = 0; i < n / 8; i++)
		hash = (hash ^ words[i]) * 0xff51afd7ed558ccdu;
	return hash;
}

/* Hash all memory where the kernel can leave an answer: the outputs and an adapter's workspace. */
static uint64_t outputs_print(const struct kl_cpu_subject *subject)
{
	uint64_t hash = add_print(0x9e3779b97f4a7c15u, subject->work.map, subject->work.bytes);

	for (uint32_t i = 0; i < subject->wire->nargs; i++) {
		const struct kl_wire_arg *arg = &subject->arg[i];

		if (arg->tensor && arg->writable)
			hash = add_print(hash, subject->tensor[i].map, arg->map_bytes);
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
	struct kl_watch watch = kl_watch_stub(subject);

	subject->last = nonce;
	switch (kl_watch_word(&watch, &subject->control->ready, nonce, &ev)) {
	case KL_SEEN:
		break;
	case KL_STOPPED:
		kl_outcome(subject, &ev, out);
		return false;
	case KL_STARVED:
		return end_starved(subject, out);
	case KL_LATE:
		kl_outcome_kill(subject, out, KL_CALL_CHEAT, "did not return to the waiting loop");
		return false;
	}
	nanosleep(&pause, NULL);
	if (print != outputs_print(subject)) {
		kl_outcome_kill(subject, out, KL_CALL_CHEAT,
				"changed its outputs after the call had ended");
		return false;
	}
	return end_convention(subject, kl_convention_broken_saved(&subject->control->saved), out);
}

/* End a call with ptrace; *ev says how the child stopped. */
static bool end_traced(struct kl_cpu_subject *subject, const struct kl_trace_event *ev,
		       struct kl_call *out)
{
	struct kl_trace_regs regs;

	if (at_home(subject, ev, &regs))
		return end_convention(
			subject, kl_convention_broken(subject->pid, &subject->home, &regs), out);
	if (ev->kind == KL_TRACE_SIGNAL && ev->signal == SIGTRAP &&
	    load_word(&subject->control->done))
		kl_outcome_kill(subject, out, KL_CALL_CHEAT,
				"ended the call on another stack, or at a trap of its own");
	else
		kl_outcome(subject, ev, out);
	return false;
}

/* Check that the bytes around outputs still hold their poison. */
static bool slack_intact(struct kl_cpu_subject *subject, struct kl_call *out)
{
	for (uint32_t i = 0; i < subject->wire->nargs; i++) {
		const struct kl_wire_arg *arg = &subject->arg[i];
		const struct kl_tensor *tensor = &subject->tensor[i];
		uint64_t before = subject->offset[i];
		bool early, late;

		if (!arg->tensor || !arg->writable)
			continue;
		early = memcmp(tensor->map, tensor->slack, before) != 0;
		late = memcmp(tensor->map + before + arg->bytes, tensor->slack + before,
			      kl_place_slack(arg) - before) != 0;
		if (!early && !late)
			continue;
		kl_outcome_kill(subject, out, KL_CALL_FAULT, "wrote out of bounds of '%s': %s",
				subject->name[i],
				early ? "before its first element" : "after its last element");
		return false;
	}
	return true;
}

static uint64_t draw_nonce(struct kl_cpu_subject *subject, enum kl_wire_do what)
{
	uint64_t nonce;

	do
		nonce = (kl_rng_u64(&subject->rng) & ~(uint64_t)KL_WIRE_DO_MASK) | what;
	while (nonce <= KL_WIRE_DO_MASK || nonce == subject->last);
	return nonce;
}

/*
 * Finish a call, after the wait for `done` ended with `seen`. Wait until the child stops or,
 * without ptrace, is back in the stub, and check how it got there.
 */
static bool end_call(struct kl_cpu_subject *subject, const struct kl_watch *watch,
		     enum kl_seen seen, uint64_t nonce, struct kl_times *times,
		     struct kl_trace_event *ev, struct kl_call *out)
{
	struct kl_spot_check *check = &subject->check;
	bool early = seen == KL_SEEN;

	if (early)
		kl_spot_check_take(check);
	if (early && subject->traced) {
		kl_threads_ask(subject);
		seen = kl_watch_trap(watch, times->done, ev);
		times->trap = kl_watch_now();
	}
	if (seen == KL_STARVED)
		return end_starved(subject, out);
	if (seen == KL_LATE) {
		kl_outcome_kill(subject, out, KL_CALL_CHEAT,
				"wrote the completion word and went on computing");
		return false;
	}
	if (subject->traced ? !end_traced(subject, ev, out) : !end_alone(subject, nonce, out))
		return false;
	if (!kl_threads_park(subject, out))
		return false;
	if (early && !kl_spot_check_same(check)) {
		kl_outcome_kill(subject, out, KL_CALL_CHEAT,
				"wrote the completion word and then to its outputs");
		return false;
	}
	return true;
}

bool kl_call_once(struct kl_cpu_subject *subject, enum kl_wire_do what, struct kl_times *times,
		  struct kl_call *out)
{
	uint64_t nonce = draw_nonce(subject, what);
	/*
	 * For a call that is not timed, write the nonce before the child continues: otherwise the
	 * child would spin until it sees the nonce, possibly on the processor that the parent needs
	 * to write it.
	 */
	bool at_once = subject->traced && (!subject->precise || what >= KL_WIRE_PREPARE);
	struct kl_trace_event ev;
	struct kl_watch watch;
	enum kl_seen seen;

	kl_spot_check_draw(&subject->check, subject);
	if (!at_once && !arm_call(subject, out))
		return false;
	subject->control->saved = (struct kl_saved_state){ 0 };
	watch = kl_watch_begin(subject, subject->limit_ms);
	times->go = watch.begin;
	if (!at_once)
		store_word(&subject->control->go, nonce);
	else if (!release_child(subject, nonce, out))
		return false;
	seen = kl_watch_word(&watch, &subject->control->done, nonce, &ev);
	times->done = times->trap = kl_watch_now();
	if (seen == KL_LATE)
		return end_late(subject, out);
	if (seen == KL_STOPPED && !subject->traced) {
		kl_outcome(subject, &ev, out);
		return false;
	}
	if (!end_call(subject, &watch, seen, nonce, times, &ev, out))
		return false;
	times->used = watch.used < 0 ? -1 : kl_watch_processor_ns(subject) - watch.used;
	if (!page_untouched(subject, nonce)) {
		kl_outcome_kill(subject, out, KL_CALL_CHEAT,
				"wrote to the control page of the gate");
		return false;
	}
	return slack_intact(subject, out);
}

int kl_cpu_subject_call(struct kl_cpu_subject *subject, struct kl_call *out)
{
	struct kl_times times;

	*out = subject->unprepared;
	subject->unprepared = (struct kl_call){ .end = KL_CALL_OK };
	if (out->end != KL_CALL_OK)
		return 0;
	if (!subject->pid)
		return kl_error(KL_EINVALID, "the kernel process has exited");
	if (kl_adapter_pack(subject, out) && kl_call_once(subject, KL_WIRE_CALL, &times, out) &&
	    kl_adapter_finish(subject, out))
		kl_handshake_take(subject, &times, out);
	else if (out->end == KL_CALL_UNTESTED)
		return kl_error(KL_ECANNOT, "a kernel cannot be tested: it %s", out->what);
	return 0;
}

static int first_trap(struct kl_cpu_subject *subject)
{
	const struct timespec pause = { 0, 20000 };
	struct kl_watch watch = kl_watch_stub(subject);
	struct kl_trace_event ev;

	int err;

	for (;;) {
		if (kl_trace_poll(subject->pid, &ev)) {
			if (ev.kind != KL_TRACE_CLONED)
				break;
			if ((err = kl_threads_add(subject, ev.thread)) < 0)
				return err;
			kl_trace_continue(subject->pid);
		} else if (kl_watch_now() - watch.begin > watch.wall_ns) {
			return kl_error(KL_ECANNOT, "the kernel's process does not answer");
		} else {
			nanosleep(&pause, NULL);
		}
	}
	if (ev.kind != KL_TRACE_SIGNAL || !at_home(subject, &ev, &subject->home)) {
		if (ev.kind == KL_TRACE_GONE)
			subject->pid = 0;
		return kl_outcome_not_sealed(subject);
	}
	return kl_threads_settle(subject);
}

int kl_call_settle(struct kl_cpu_subject *subject)
{
	int err;

	subject->has_clock = !clock_getcpuclockid(subject->pid, &subject->clock);
	if (subject->traced && (err = first_trap(subject)) < 0)
		return err;
	err = kl_adapter_prepare(subject);
	return err < 0 || !subject->pid ? err : kl_handshake_measure(subject);
}
