/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_STUB_H
#define KL_WORKER_SUBJECT_STUB_H

#include "worker/subject/wire.h"

/*
 * stub - the loop in which a child waits for calls.
 *
 *	stored:	 if traced: int3, so that the parent sees the child stopped;
 *		 otherwise: save the flags and the floating-point state
 *	trapped: ready = last nonce
 *		 spin until go differs from the last nonce
 *		 reset the floating-point environment and the direction flag
 *		 invoke(frame, go)
 *		 wait until all stores are visible, including non-temporal ones
 *		 done = go; to `stored`
 *
 * On x86-64 the loop is assembly that needs only registers, its own (read-only) text, the read-only
 * frame and the control page. Before each call the parent resets all registers to their values at
 * the first trap. Whatever an earlier call did to the stack or to other writable memory, the loop
 * then waits for `go`, and no kernel can start earlier. If the exact start of a call does not
 * matter, the parent sets `go` before it continues the child.
 *
 * `done` alone proves nothing, since a kernel can write the control page too. A call counts as
 * ended only when the child is stopped at `trapped` with the stack pointer of the first trap. If a
 * kernel jumps to the trap itself, its call ends, with the outputs as they are.
 *
 * On other processors the loop is plain C, and children are never traced.
 */
typedef void (*kl_stub_invoke)(const void *frame, uint64_t go);

/**
 * Run the loop. `traced` is not 0 if the parent traces this process. `stack` is the end of the
 * stack for the calls; 0 to use the current stack.
 */
void kl_stub_wait(struct kl_control *ctl, const void *frame, kl_stub_invoke invoke, uint64_t traced,
		  uint64_t stack) __attribute__((noreturn));

/* 1 if the stub for this processor can be traced, else 0. */
#ifdef __x86_64__
#define KL_STUB_TRACE 1
extern const char kl_stub_stored[], kl_stub_trapped[];
#else
#define KL_STUB_TRACE 0
#endif

#endif
