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
 * trace - the little of ptrace(2) that the parent of a kernel needs. Works on
 * a child that is not traced as well: it then only ever reports its end.
 */
enum kl_trace_kind {
	KL_TRACE_SIGNAL,  /* stopped before a signal is delivered */
	KL_TRACE_STOP,    /* stopped as kl_trace_interrupt asked */
	KL_TRACE_EXITING, /* about to end; registers and memory are still there */
	KL_TRACE_GONE,    /* ended and reaped */
};

struct kl_trace_event {
	enum kl_trace_kind kind;
	int signal; /* SIGNAL: which */
	int status; /* EXITING, GONE: as waitpid(2) has it */
};

struct kl_trace_regs {
#ifdef __x86_64__
	struct user_regs_struct r;
#else
	int none;
#endif
};

/** Attach; false where that is refused (another tracer, Yama, a filter). */
bool kl_trace_attach(pid_t pid);
/** Something to report? Never waits. */
bool kl_trace_poll(pid_t pid, struct kl_trace_event *ev);
/** Ask for a KL_TRACE_STOP. */
void kl_trace_interrupt(pid_t pid);
/** Let a stopped child go on, its signal dropped. */
void kl_trace_continue(pid_t pid);

bool kl_trace_get_regs(pid_t pid, struct kl_trace_regs *out);
bool kl_trace_set_regs(pid_t pid, const struct kl_trace_regs *regs);
uint64_t kl_trace_pc(const struct kl_trace_regs *regs);
uint64_t kl_trace_sp(const struct kl_trace_regs *regs);
/** The system call it is in, or -1. */
long kl_trace_syscall(const struct kl_trace_regs *regs);
/** Where a fault was (si_addr) and its si_code. */
bool kl_trace_fault(pid_t pid, uint64_t *addr, int *code);
/** Up to `n` bytes of the child's memory; returns how many. */
size_t kl_trace_read(pid_t pid, uint64_t addr, void *out, size_t n);

#endif
