/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_TRACE_H
#define KL_WORKER_SUBJECT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#ifdef __x86_64__
#include <sys/user.h>
#endif

/*
 * trace - the part of ptrace(2) that the parent of a kernel's process needs. kl_trace_poll() also
 * works on a child that is not traced, but then reports only that the child has ended.
 */
enum kl_trace_kind {
	KL_TRACE_SIGNAL,  /* stopped before a signal is delivered */
	KL_TRACE_STOP,    /* stopped by kl_trace_interrupt(), or as a new thread */
	KL_TRACE_CLONED,  /* stopped after it started a thread; that thread is traced, too */
	KL_TRACE_EXITING, /* about to end; registers and memory can still be read */
	KL_TRACE_GONE,    /* ended and reaped */
};

struct kl_trace_event {
	enum kl_trace_kind kind;
	pid_t pid;    /* the thread that the event is about */
	pid_t thread; /* CLONED: the new thread */
	int signal;   /* SIGNAL: its number */
	int status;   /* EXITING, GONE: the status in the format of waitpid(2) */
};

struct kl_trace_regs {
#ifdef __x86_64__
	struct user_regs_struct r;
#else
	int none;
#endif
};

struct kl_trace_float {
#ifdef __x86_64__
	struct user_fpregs_struct r;
#else
	int none;
#endif
};

/** Attach to a child; return false if Linux refuses (another tracer, Yama, a seccomp filter). */
bool kl_trace_attach(pid_t pid);
/** Get the next event; return false if there is none. Never wait. */
bool kl_trace_poll(pid_t pid, struct kl_trace_event *ev);
/** Stop the child; it then reports KL_TRACE_STOP. */
void kl_trace_interrupt(pid_t pid);
/** Continue a stopped child, without delivering the signal that stopped it. */
void kl_trace_continue(pid_t pid);

bool kl_trace_get_regs(pid_t pid, struct kl_trace_regs *out);
bool kl_trace_set_regs(pid_t pid, const struct kl_trace_regs *regs);
/** Get the floating-point state of a stopped child. */
bool kl_trace_get_float(pid_t pid, struct kl_trace_float *out);
uint64_t kl_trace_pc(const struct kl_trace_regs *regs);
void kl_trace_set_pc(struct kl_trace_regs *regs, uint64_t pc);
uint64_t kl_trace_sp(const struct kl_trace_regs *regs);
/** Return the number of regions that a waiting thread has seen (team_loop.h). */
uint32_t kl_trace_region(const struct kl_trace_regs *regs);
/** Return the number of the system call that the child is in; -1 if it is in none. */
long kl_trace_syscall(const struct kl_trace_regs *regs);
/** Get si_addr and si_code of the signal that stopped the child; return false if it has ended. */
bool kl_trace_fault(pid_t pid, uint64_t *addr, int *code);
/** Read a word of the memory of a stopped child; return false if it cannot be read. */
bool kl_trace_word(pid_t pid, uint64_t addr, uint32_t *out);
/** Read up to `n` bytes of the memory of a stopped child; return how many were read. */
size_t kl_trace_read(pid_t pid, uint64_t addr, void *out, size_t n);

#endif
