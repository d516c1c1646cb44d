/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_H
#define KL_WORKER_SUBJECT_H

#include "worker/job.h"

/*
 * subject - one loaded kernel (candidate, parent, oracle or vendor library)
 * in a process of its own, called at one point.
 *
 * The child is a fresh exec of klineage-worker (nothing of the parent's
 * memory is in it). It maps the argument buffers, loads the object, then
 * - for hostile code - forbids the time-stamp counter and enters strict seccomp before the
 * first byte of the kernel runs. Parent and child talk over one shared
 * page; the parent holds the clock.
 *
 * Buffers are memfds: the parent writes inputs and reads outputs through its
 * own mapping; in the child inputs are read-only, every buffer lies
 * between unmapped guard pages, aligned to the left or right end of its mapping in turn.
 *
 * After every call the child is stopped and must be found inside our own
 * waiting loop (ptrace), so a "done" written by the kernel itself is seen.
 *
 *	kl_subject_start(&s, job, point, &spec);
 *	kl_subject_set(s, arg, bytes)       for each in / inout
 *	kl_subject_poison(s, pattern)       outputs
 *	kl_subject_call(s, &ns)
 *	kl_subject_get(s, arg)              outputs, borrowed mapping
 */
enum kl_subject_kind { KL_SUBJECT_KERNEL, KL_SUBJECT_ORACLE, KL_SUBJECT_BASELINE };

struct kl_subject_spec {
	enum kl_subject_kind kind;
	const char *so;			/* kernel, oracle */
	const char *entry;
	const char *baseline;		/* "openblas.sgemm" */
	bool real_is_double;		/* oracle: what kl_real is in `so` */
	bool align_right;		/* guard side */
	int cpu;			/* run there; -1: anywhere */
};

struct kl_subject;

/** 0; KL_ECANNOT: not available here (baseline library missing, ptrace refused ...). */
int kl_subject_start(struct kl_subject **out, const struct kl_job *job,
		     const struct kl_point *pt, const struct kl_subject_spec *spec);
void kl_subject_free(struct kl_subject *s);
KL_DEFINE_CLEANUP(struct kl_subject *, kl_subject_free)

/** Buffer of a tensor argument in the parent's mapping (bytes = elements x element size; oracle: kl_real elements for float tensors). Writable only between calls. */
void *kl_subject_buffer(struct kl_subject *s, size_t arg);
size_t kl_subject_bytes(const struct kl_subject *s, size_t arg);

/** Fill every `out` buffer (and the guards' slack) with a pattern derived from `seed` that is no plausible answer (NaN payloads, wild ints). */
void kl_subject_poison(struct kl_subject *s, uint64_t seed);
/** Evict every argument buffer from the caches. */
void kl_subject_flush(struct kl_subject *s);

enum kl_call_end { KL_CALL_OK, KL_CALL_FAULT, KL_CALL_HANG, KL_CALL_CHEAT, KL_CALL_EXIT };
struct kl_call {
	enum kl_call_end end;
	int64_t ns;		/* as the parent saw it, handshake subtracted */
	char what[200];		/* for people: "SIGSEGV at a read-only or unmapped address", "system call 41 (socket)", "rdtsc" ... */
};
/**
 * One call, at most job->call_ms. 0 whatever the kernel did; the child is gone unless
 * `end` is KL_CALL_OK. Slack around right- or left-aligned buffers is checked: a changed byte is KL_CALL_FAULT.
 */
int kl_subject_call(struct kl_subject *s, struct kl_call *out);

#endif
