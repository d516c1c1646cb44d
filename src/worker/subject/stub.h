/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_STUB_H
#define KL_WORKER_SUBJECT_STUB_H

#include "worker/subject/wire.h"

/*
 * stub - the loop a child waits in.
 *
 *	stored:	 traced: int3, so that the parent has us stopped
 *	trapped: ready = last nonce
 *		 spin until go differs from the last nonce
 *		 reset the floating-point environment, flags
 *		 invoke(frame, go)
 *		 done = go; to `stored`
 *
 * On x86-64 it is assembly that needs registers, its own (read-only) text, the
 * read-only frame and the control page, and nothing else. Before each call the
 * parent puts all registers back as they were at the first trap; so
 * whatever an earlier call did to the stack or to any writable memory, it is
 * this code that waits for `go`, and no kernel can start before its time.
 * Where the moment does not matter `go` is there already when it is continued.
 *
 * `done` alone proves nothing, since a kernel can write the control page as
 * well: the parent takes a call for ended when the child stands at `trapped`
 * with the stack pointer of the first trap. A kernel that jumps there has
 * ended its call by doing so, with its outputs as they are.
 *
 * Elsewhere than on x86-64 the loop is plain C, and children are never traced.
 */
typedef void (*kl_stub_invoke)(const void *frame, uint64_t go);

void kl_stub_wait(struct kl_control *ctl, const void *frame, kl_stub_invoke invoke, uint64_t traced)
	__attribute__((noreturn));

/* Can this machine's stub be traced? */
#ifdef __x86_64__
#define KL_STUB_TRACE 1
extern const char kl_stub_stored[], kl_stub_trapped[];
#else
#define KL_STUB_TRACE 0
#endif

#endif
