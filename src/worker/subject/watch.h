/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_WATCH_H
#define KL_WORKER_SUBJECT_WATCH_H

#include "worker/subject/subject_state.h"

/*
 * watch - waits for a word of the control page, or for a child to stop, within a limit.
 *
 * Limits are in processor time of the child, which does not depend on the load of the machine. A
 * second, much longer limit is in wall time: if this limit passes first, the machine is too busy,
 * and the result says nothing about the kernel.
 */
enum kl_seen {
	KL_SEEN,    /* the word has the value */
	KL_STOPPED, /* the child stopped or ended; see the event */
	KL_LATE,    /* the limit passed; or, for kl_watch_trap(), the child is not in the stub */
	KL_STARVED, /* the limit of wall time passed before the limit of processor time */
};

struct kl_watch {
	struct kl_cpu_subject *subject;
	int64_t limit_ns; /* of processor time */
	int64_t wall_ns;  /* limit of wall time */
	int64_t begin;    /* kl_watch_now() at the beginning */
	int64_t used;     /* processor time of the child at the beginning; -1 if unknown */
};

/** Begin a watch with a limit of `ms` milliseconds of processor time. */
struct kl_watch kl_watch_begin(struct kl_cpu_subject *subject, int64_t ms);
/** Begin a watch with the limit for the few instructions of the stub. */
struct kl_watch kl_watch_stub(struct kl_cpu_subject *subject);
/** Wait until *word is `want`. *ev is set if the result is KL_STOPPED. */
enum kl_seen kl_watch_word(const struct kl_watch *watch, const uint64_t *word, uint64_t want,
			   struct kl_trace_event *ev);
/**
 * Wait for the trap. `done` is the time when the word `done` was seen, and `call` is the watch of
 * that call. If the trap does not come at once, stop the child and see where it is: between the
 * store of the word and the trap it was merely preempted; anywhere else the kernel forged the word.
 */
enum kl_seen kl_watch_trap(const struct kl_watch *call, int64_t done, struct kl_trace_event *ev);

/** Return the processor time of the child in ns; -1 if unknown. */
int64_t kl_watch_processor_ns(const struct kl_cpu_subject *subject);
/** Return the parent's clock in ns. */
int64_t kl_watch_now(void);

#endif
