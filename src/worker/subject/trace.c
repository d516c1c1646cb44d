/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/trace.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

bool kl_trace_attach(pid_t pid)
{
	return !ptrace(PTRACE_SEIZE, pid, NULL,
		       (void *)(PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE));
}

bool kl_trace_poll(pid_t pid, struct kl_trace_event *ev)
{
	unsigned long message = 0;
	int status;

	if (waitpid(pid, &status, WNOHANG | __WALL) != pid)
		return false;
	*ev = (struct kl_trace_event){ .kind = KL_TRACE_GONE, .pid = pid, .status = status };
	if (!WIFSTOPPED(status))
		return true;
	switch (status >> 16) {
	case PTRACE_EVENT_EXIT:
		ptrace(PTRACE_GETEVENTMSG, pid, NULL, &message);
		ev->kind = KL_TRACE_EXITING;
		ev->status = (int)message;
		break;
	case PTRACE_EVENT_CLONE:
		ptrace(PTRACE_GETEVENTMSG, pid, NULL, &message);
		ev->kind = KL_TRACE_CLONED;
		ev->thread = (pid_t)message;
		break;
	case 0:
		ev->kind = KL_TRACE_SIGNAL;
		ev->signal = WSTOPSIG(status);
		break;
	default:
		ev->kind = KL_TRACE_STOP;
		break;
	}
	return true;
}

void kl_trace_interrupt(pid_t pid)
{
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
}

void kl_trace_continue(pid_t pid)
{
	ptrace(PTRACE_CONT, pid, NULL, NULL);
}

#ifdef __x86_64__
bool kl_trace_get_regs(pid_t pid, struct kl_trace_regs *out)
{
	return !ptrace(PTRACE_GETREGS, pid, NULL, &out->r);
}

bool kl_trace_set_regs(pid_t pid, const struct kl_trace_regs *regs)
{
	return !ptrace(PTRACE_SETREGS, pid, NULL, (void *)(uintptr_t)&regs->r);
}

bool kl_trace_get_float(pid_t pid, struct kl_trace_float *out)
{
	return !ptrace(PTRACE_GETFPREGS, pid, NULL, &out->r);
}

uint64_t kl_trace_pc(const struct kl_trace_regs *regs)
{
	return regs->r.rip;
}

void kl_trace_set_pc(struct kl_trace_regs *regs, uint64_t pc)
{
	regs->r.rip = pc;
}

uint64_t kl_trace_sp(const struct kl_trace_regs *regs)
{
	return regs->r.rsp;
}

uint32_t kl_trace_region(const struct kl_trace_regs *regs)
{
	return (uint32_t)regs->r.r15;
}

long kl_trace_syscall(const struct kl_trace_regs *regs)
{
	return (long)regs->r.orig_rax;
}
#else
bool kl_trace_get_regs(pid_t pid, struct kl_trace_regs *out)
{
	return false;
}

bool kl_trace_set_regs(pid_t pid, const struct kl_trace_regs *regs)
{
	return false;
}

bool kl_trace_get_float(pid_t pid, struct kl_trace_float *out)
{
	return false;
}

uint64_t kl_trace_pc(const struct kl_trace_regs *r)
{
	return 0;
}

void kl_trace_set_pc(struct kl_trace_regs *r, uint64_t pc)
{
}

uint64_t kl_trace_sp(const struct kl_trace_regs *r)
{
	return 0;
}

uint32_t kl_trace_region(const struct kl_trace_regs *r)
{
	return 0;
}

long kl_trace_syscall(const struct kl_trace_regs *r)
{
	return -1;
}
#endif

bool kl_trace_fault(pid_t pid, uint64_t *addr, int *code)
{
	siginfo_t si;

	if (ptrace(PTRACE_GETSIGINFO, pid, NULL, &si) < 0)
		return false;
	*addr = (uint64_t)(uintptr_t)si.si_addr;
	*code = si.si_code;
	return true;
}

/* Read by ptrace(): every jail that a worker runs in refuses process_vm_readv(). */
static bool read_word(pid_t pid, uint64_t addr, long *out)
{
	errno = 0;
	*out = ptrace(PTRACE_PEEKDATA, pid, (void *)addr, NULL);
	return !errno;
}

bool kl_trace_word(pid_t pid, uint64_t addr, uint32_t *out)
{
	long word;
	bool ok = read_word(pid, addr, &word);

	*out = (uint32_t)word;
	return ok;
}

size_t kl_trace_read(pid_t pid, uint64_t addr, void *out, size_t n)
{
	size_t done = 0;
	long word;

	/* an aligned word lies in one page, so all bytes before an unmapped page are read */
	while (done < n) {
		size_t skip = (addr + done) % sizeof(word);
		size_t part = sizeof(word) - skip < n - done ? sizeof(word) - skip : n - done;

		if (!read_word(pid, addr + done - skip, &word))
			break;
		memcpy((char *)out + done, (const char *)&word + skip, part);
		done += part;
	}
	return done;
}
