/* SPDX-License-Identifier: Apache-2.0 */
/* outcome - explains how a call ended: signal, fault, exit or system call */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/error.h"
#include "worker/subject/child.h"
#include "worker/subject/subject_state.h"

#define CALL(name)                \
	{                         \
		SYS_##name, #name \
	}
static const struct {
	long number;
	const char *name;
} calls[] = {
#ifdef SYS_fork
	CALL(open),
	CALL(fork),
	CALL(vfork),
	CALL(time),
	CALL(alarm),
	CALL(poll),
#endif
	CALL(read),
	CALL(write),
	CALL(openat),
	CALL(close),
	CALL(socket),
	CALL(connect),
	CALL(sendto),
	CALL(clone),
	CALL(clone3),
	CALL(execve),
	CALL(kill),
	CALL(tgkill),
	CALL(mmap),
	CALL(munmap),
	CALL(mprotect),
	CALL(mremap),
	CALL(madvise),
	CALL(brk),
	CALL(rt_sigaction),
	CALL(rt_sigprocmask),
	CALL(rt_sigreturn),
	CALL(sigaltstack),
	CALL(prctl),
	CALL(seccomp),
	CALL(ptrace),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(nanosleep),
	CALL(clock_nanosleep),
	CALL(clock_gettime),
	CALL(gettimeofday),
	CALL(sched_yield),
	CALL(sched_setaffinity),
	CALL(sched_getaffinity),
	CALL(futex),
	CALL(getpid),
	CALL(gettid),
	CALL(getrandom),
	CALL(ioctl),
	CALL(perf_event_open),
	CALL(memfd_create),
	CALL(io_uring_setup),
	CALL(setitimer),
	CALL(timer_create),
};

void kl_outcome_kill(struct kl_cpu_subject *subject, struct kl_call *out, enum kl_call_end end,
		     const char *fmt, ...)
{
	va_list ap;

	out->end = end;
	va_start(ap, fmt);
	vsnprintf(out->what, sizeof(out->what), fmt, ap);
	va_end(ap);
	kl_cpu_subject_reap(subject);
}

/*
 * Find the thread that made the system call that killed the child, because the first event that the
 * parent sees can be that of any thread. Threads that wait for others are in futex.
 */
static bool find_caller(struct kl_cpu_subject *subject, struct kl_trace_regs *regs)
{
	const struct kl_threads *threads = &subject->threads;

	if (!threads->n)
		return kl_trace_get_regs(subject->pid, regs);
	for (size_t i = 0; i <= threads->n; i++) {
		subject->culprit = i < threads->n ? threads->tid[i] : subject->pid;
		if (kl_trace_get_regs(subject->culprit, regs) && kl_trace_syscall(regs) >= 0 &&
		    kl_trace_syscall(regs) != SYS_futex)
			return true;
	}
	return false;
}

static void system_call(struct kl_cpu_subject *subject, struct kl_call *out)
{
	struct kl_trace_regs regs;
	unsigned char op[2] = { 0 };
	const char *name = NULL;
	long number;

	if (!subject->traced || !find_caller(subject, &regs)) {
		kl_outcome_kill(subject, out, KL_CALL_CHEAT, "made a system call");
		return;
	}
	number = kl_trace_syscall(&regs);
	kl_trace_read(subject->culprit, kl_trace_pc(&regs) - 2, op, 2);
	if (op[0] == 0xcd) { /* int 0x80: a system call by its 32-bit number */
		kl_outcome_kill(subject, out, KL_CALL_CHEAT, "made the 32-bit system call %ld",
				number);
		return;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(calls); i++)
		if (calls[i].number == number)
			name = calls[i].name;
	kl_outcome_kill(subject, out, KL_CALL_CHEAT, "made the system call %ld%s%s%s", number,
			name ? " (" : "", name ? name : "", name ? ")" : "");
}

/* Return the name of the clock instruction that caused a fault; NULL if another instruction did. */
static const char *protected_instruction(struct kl_cpu_subject *subject)
{
	struct kl_trace_regs regs;
	unsigned char op[16] = { 0 };

	if (!kl_trace_get_regs(subject->culprit, &regs))
		return NULL;
	kl_trace_read(subject->culprit, kl_trace_pc(&regs), op, sizeof(op));
	if (op[0] == 0x0f && op[1] == 0x31)
		return "rdtsc";
	if (op[0] == 0x0f && op[1] == 0x33)
		return "rdpmc";
	if (op[0] == 0x0f && op[1] == 0x01 && op[2] == 0xf9)
		return "rdtscp";
	if (op[0] == 0x0f && op[1] == 0x01 && op[2] == 0xfd)
		return "rdpru";
	return NULL;
}

/*
 * If `addr` is in or near the view of argument `i` at `map`, report the fault; otherwise return
 * false.
 */
static bool near_view(struct kl_cpu_subject *subject, uint32_t i, uint64_t map, uint64_t addr,
		      struct kl_call *out)
{
	const struct kl_wire_arg *arg = &subject->arg[i];
	int64_t byte = (int64_t)(addr - map - subject->offset[i]);
	int64_t size = (int64_t)kl_dtype_bytes(arg->dtype);

	if (addr < map - KL_WIRE_GUARD || addr >= map + arg->map_bytes + KL_WIRE_GUARD)
		return false;
	if (addr >= map && addr < map + arg->map_bytes)
		kl_outcome_kill(subject, out, KL_CALL_FAULT,
				"stored to read-only input '%s' at byte %lld", subject->name[i],
				(long long)byte);
	else
		kl_outcome_kill(subject, out, KL_CALL_FAULT,
				"went out of bounds of '%s': byte %lld of %llu (element %lld)",
				subject->name[i], (long long)byte, (unsigned long long)arg->bytes,
				(long long)(byte < 0 ? (byte - size + 1) / size : byte / size));
	return true;
}

/* If `addr` is in or near any view of a tensor, report the fault; otherwise return false. */
static bool near_tensor(struct kl_cpu_subject *subject, uint64_t addr, struct kl_call *out)
{
	for (uint32_t i = 0; i < subject->wire->nargs; i++)
		for (uint32_t view = 0;
		     subject->arg[i].tensor && view < subject->wire->nview[subject->point]; view++)
			if (near_view(subject, i, subject->hello.map[subject->point][view][i], addr,
				      out))
				return true;
	return false;
}

/* If `addr` is near the adapter's workspace, report the fault; otherwise return false. */
static bool near_workspace(struct kl_cpu_subject *subject, uint64_t addr, struct kl_call *out)
{
	uint64_t at = subject->hello.work[subject->point];
	uint64_t bytes = subject->wire->work_bytes[subject->point];

	if (!bytes || addr < at - KL_WIRE_GUARD || addr >= at + bytes + KL_WIRE_GUARD)
		return false;
	kl_outcome_kill(subject, out, KL_CALL_FAULT,
			"went out of bounds of the adapter's workspace: byte %lld of %llu",
			(long long)(addr - at), (unsigned long long)bytes);
	return true;
}

/* Return true if `addr` is in the guard below the stack of a thread. */
static bool below_stack(const struct kl_cpu_subject *subject, uint64_t addr)
{
	uint64_t first = subject->hello.stack - KL_WIRE_GUARD;

	return addr >= first && addr - first < subject->wire->nthread * KL_WIRE_STRIDE &&
	       (addr - first) % KL_WIRE_STRIDE < KL_WIRE_GUARD;
}

static void explain_segv(struct kl_cpu_subject *subject, struct kl_call *out)
{
	const char *name;
	uint64_t addr;
	int code;

	if (!kl_trace_fault(subject->culprit, &addr, &code)) {
		kl_outcome_kill(subject, out, KL_CALL_FAULT, "caused a segmentation fault");
		return;
	}
	if (code == SI_KERNEL) {
		name = protected_instruction(subject);
		if (name)
			kl_outcome_kill(subject, out, KL_CALL_CHEAT, "read a clock: %s", name);
		else
			kl_outcome_kill(
				subject, out, KL_CALL_FAULT,
				"caused a general protection fault: a misaligned vector access, "
				"a wild address or a privileged instruction");
		return;
	}
	if (near_tensor(subject, addr, out) || near_workspace(subject, addr, out))
		return;
	if (below_stack(subject, addr))
		kl_outcome_kill(subject, out, KL_CALL_FAULT, "caused a stack overflow (8 MiB)");
	else if (addr < 65536)
		kl_outcome_kill(subject, out, KL_CALL_FAULT,
				"accessed a null pointer (address %llu)", (unsigned long long)addr);
	else
		kl_outcome_kill(subject, out, KL_CALL_FAULT,
				"accessed unmapped or protected memory");
}

static void set_signalled(struct kl_cpu_subject *subject, int sig, struct kl_call *out)
{
	switch (sig) {
	case SIGSYS:
		system_call(subject, out);
		break;
	case SIGSEGV:
		explain_segv(subject, out);
		break;
	case SIGILL:
		kl_outcome_kill(subject, out, KL_CALL_FAULT, "executed an illegal instruction");
		break;
	case SIGFPE:
		kl_outcome_kill(subject, out, KL_CALL_FAULT,
				"caused a division by zero or an overflow (SIGFPE)");
		break;
	case SIGTRAP:
		kl_outcome_kill(subject, out, KL_CALL_FAULT, "hit a breakpoint or debug trap");
		break;
	case SIGKILL:
		kl_outcome_kill(subject, out, KL_CALL_UNTESTED,
				"was killed by the system, which may be out of memory");
		break;
	default:
		kl_outcome_kill(subject, out, KL_CALL_FAULT, "was stopped by signal %d", sig);
		break;
	}
}

static void set_ended(struct kl_cpu_subject *subject, int status, struct kl_call *out)
{
	if (!WIFSIGNALED(status))
		kl_outcome_kill(subject, out, KL_CALL_EXIT, "ended its process with exit code %d",
				WEXITSTATUS(status));
	else if (WTERMSIG(status) == SIGSEGV)
		kl_outcome_kill(subject, out, KL_CALL_FAULT,
				"caused a segmentation fault, or executed a forbidden instruction");
	else
		set_signalled(subject, WTERMSIG(status), out);
}

void kl_outcome(struct kl_cpu_subject *subject, const struct kl_trace_event *ev,
		struct kl_call *out)
{
	subject->culprit = ev->pid;
	if (ev->kind == KL_TRACE_GONE && ev->pid == subject->pid)
		subject->pid = 0;
	if (ev->kind == KL_TRACE_SIGNAL)
		set_signalled(subject, ev->signal, out);
	else
		set_ended(subject, ev->status, out);
}

int kl_outcome_not_sealed(const struct kl_cpu_subject *subject)
{
	char why[sizeof(subject->control->why)] = "";

	memcpy(why, subject->control->why, sizeof(why) - 1);
	return kl_error(KL_ECANNOT, "the kernel's process cannot be sealed here: %s",
			*why ? why : "the process ended");
}
