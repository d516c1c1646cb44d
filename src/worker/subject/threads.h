/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_THREADS_H
#define KL_WORKER_SUBJECT_THREADS_H

#include "worker/subject/subject_state.h"

/*
 * threads - the parent's view of the threads that a kernel with OpenMP has (team.h). They run
 * during a call, and are stopped (ptrace) from its end to the beginning of the next call.
 *
 * A call ends when the kernel's first thread is back in the stub. Then each other thread must wait
 * in its loop, on its own stack, for a region that has not begun: it can run no code of the kernel
 * until the next call begins one. Any other state means that work goes on after the call or was
 * left for later, which is a cheat.
 *
 * All of this needs ptrace. Without it, kernels with threads are not run.
 */

/** Register a thread that the child has started; the thread `tid` is about to stop. */
int kl_threads_add(struct kl_cpu_subject *subject, pid_t tid);
/** Stop the threads for the first time, after the child's first trap. */
int kl_threads_settle(struct kl_cpu_subject *subject);
/** Let the threads run, before a call. They wait until the kernel begins a region. */
void kl_threads_release(struct kl_cpu_subject *subject);
/** Ask the threads to stop, as soon as a call seems to have ended. */
void kl_threads_ask(struct kl_cpu_subject *subject);
/**
 * Stop the threads after a call. If one does not wait as it must, kill the child, set *out and
 * return false.
 */
bool kl_threads_park(struct kl_cpu_subject *subject, struct kl_call *out);
/**
 * Do as kl_trace_poll() for one of the threads, the next one in each call. A thread that
 * kl_trace_interrupt() stopped is continued, not reported.
 */
bool kl_threads_poll(struct kl_cpu_subject *subject, struct kl_trace_event *ev);
/** Reap the threads of a child that was killed; the child itself can only be reaped afterwards. */
void kl_threads_reap(struct kl_cpu_subject *subject);
/**
 * Return true if no thread has used a processor for so long that they must be waiting for each
 * other; `used` is the processor time of the child at the time `now`.
 */
bool kl_threads_stuck(struct kl_cpu_subject *subject, int64_t used, int64_t now);

#endif
