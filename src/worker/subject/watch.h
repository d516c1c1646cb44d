/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_WATCH_H
#define KL_WORKER_SUBJECT_WATCH_H

#include "worker/subject/subject_state.h"

/*
 * watch - waits for a word of the control page, or for a child to stop, within a limit.
 *
 * Limits are in processor time of the child, since that is what a kernel uses, whatever else the
 * machine does. If it does not get that much within a time by the clock, the machine is too busy,
 * which says nothing about the kernel.
 */
enum kl_seen {
	KL_SEEN,    /* the word has the value */
	KL_STOPPED, /* the child stopped or ended; see the event */
	KL_LATE,    /* the limit is used up; of a trap also: the child is somewhere else */
	KL_STARVED, /* the child did not get that much processor time */
};

struct kl_watch {
	struct kl_cpu_subject *subject;
	int64_t limit_ns; /* of processor time */
	int64_t wall_ns;
	int64_t begin;
	int64_t used; /* processor time of the child at the beginning; -1: unknown */
};

/** Begin to count; the limit is `ms` of processor time. */
struct kl_watch kl_watch_begin(struct kl_cpu_subject *subject, int64_t ms);
/** The same, for the few instructions that the stub needs. */
struct kl_watch kl_watch_stub(struct kl_cpu_subject *subject);
/** Wait until *word is `want`. */
enum kl_seen kl_watch_word(const struct kl_watch *watch, const uint64_t *word, uint64_t want,
			   struct kl_trace_event *ev);
/**
 * The word `done` was seen at the time `done` in the call that `call` watched: wait for the trap. If
 * it does not come at once, stop the child and look where it is: if it is between the store of the
 * word and the trap, it was merely preempted; anywhere else the word was forged.
 */
enum kl_seen kl_watch_trap(const struct kl_watch *call, int64_t done, struct kl_trace_event *ev);

/** Processor time of the child; -1: unknown. */
int64_t kl_watch_processor_ns(const struct kl_cpu_subject *subject);
int64_t kl_watch_now(void);

#endif
