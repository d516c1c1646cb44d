/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SUBJECT_H
#define KL_WORKER_SUBJECT_SUBJECT_H

#include "job/job.h"

/*
 * subject - one loaded kernel in a process of its own, called at one point. The kernel is a
 * candidate, parent, oracle or vendor library.
 *
 * The child is a fresh exec of klineage-worker (nothing of the parent's
 * memory is in it). It maps the argument buffers, loads the object, then
 * - unless it is a vendor library - forbids the time-stamp counter and every
 * system call before the first byte of the kernel runs (seal.h). Parent and
 * child talk over one shared page; the parent holds the clock.
 *
 * Buffers are memfds: the parent writes inputs and reads outputs through its
 * own mapping; in the child inputs are read-only, every buffer lies
 * between unmapped guard pages, aligned to the left or right end of its mapping in turn.
 *
 * Before every call the parent puts the child's registers back (ptrace), so
 * that it is our loop that waits for the start; after it the child stands
 * stopped at that loop's trap, and the outputs are read while it does. What a
 * hostile kernel can still do in its own process, and what meets it:
 *
 *	any system call, fork, socket	seccomp kills; exit is the one that ends it as exit
 *	read the clock			TSC faults, vDSO and vvar are unmapped
 *	write `done` early		it is not at the trap: found out when it lingers,
 *					and the lag counts as time in any case
 *	start before `go`		registers and read-only text alone run until then
 *	alter the control page or	every word is compared; call frame and text are
 *	the frame			read-only, and mprotect is a system call
 *	return on another stack		the stack pointer at the trap is compared
 *	change MXCSR, x87, flags	reset before every call
 *	keep state between calls	inputs are new each time, each output is checked
 *	count on memory being zero	unless timed (cpu < 0), arena and stack begin as ones
 *	write the outputs later		stopped; nothing runs
 *
 * What is left: a kernel that forges `done` within the jitter of the trap (a
 * microsecond or so; measured with empty calls) gains that much.
 *
 * Where ptrace is refused, kl_subject_traced() is false: the child then must
 * come back to the loop by its own word, and the outputs are compared again after a
 * pause. A kernel that takes over the loop can then start early; whoever
 * reports the result says so.
 *
 * Surface cuda has no host code to seal: there a subject is a binding in a GPU process
 * (subject_gpu.c, docs/formats.md, "On a GPU"). kl_subject_buffer() is the host's copy, which
 * calls copy in and out; traced is true; a baseline is KL_ECANNOT, since the profile calls those
 * itself.
 *
 *	kl_subject_start(&s, job, point, &spec);
 *	memcpy(kl_subject_buffer(s, arg), ...)	each in and inout
 *	kl_subject_poison(s, seed);		outputs and slack
 *	kl_subject_call(s, &call);
 *	kl_subject_buffer(s, arg)		outputs
 */
enum kl_subject_kind { KL_SUBJECT_KERNEL, KL_SUBJECT_ORACLE, KL_SUBJECT_BASELINE };

/*
 * Memory of a processor's tensors that outlives a child, for the next one at the same point: a new
 * one costs more than many a call. Each call writes all of it anew, slack included, so that nothing
 * of one child's gets to the next; a child maps it where it likes. One subject at a time has it.
 * Zeroed; released by its owner.
 */
struct kl_subject_memory {
	struct kl_subject_lent {
		unsigned char *map; /* NULL: none yet, or lent */
		unsigned char *slack;
		uint64_t bytes;
		int fd;
	} tensor[KL_MAX_ARGS];
};
void kl_subject_memory_release(struct kl_subject_memory *memory);

struct kl_subject_spec {
	enum kl_subject_kind kind;
	const char *so; /* kernel, oracle */
	const char *entry;
	const char *baseline;             /* "openblas.sgemm" */
	bool real_is_double;              /* oracle: what kl_real is in `so` */
	bool align_right;                 /* guard side */
	int cpu;                          /* run there, timed by spinning; -1: anywhere, roughly */
	bool untraced;                    /* do without ptrace, for tests */
	struct kl_subject_memory *memory; /* or NULL; must outlive the subject */
};

struct kl_subject;

/**
 * 0; KL_ECANNOT: not available here (baseline library missing or not fitting,
 * seccomp refused); KL_EINVALID: the object cannot be loaded. `job` and `pt`
 * are not kept.
 */
int kl_subject_start(struct kl_subject **out, const struct kl_job *job, const struct kl_point *pt,
		     const struct kl_subject_spec *spec);
void kl_subject_free(struct kl_subject *subject);
KL_DEFINE_CLEANUP(struct kl_subject *, kl_subject_free)

/**
 * Buffer of a tensor argument in the parent's mapping, NULL for others. Bytes are
 * elements times element size; an oracle's float tensors have kl_real elements.
 * To be touched between calls only.
 */
void *kl_subject_buffer(struct kl_subject *subject, size_t arg);
size_t kl_subject_bytes(const struct kl_subject *subject, size_t arg);

/**
 * Fill every `out` buffer, and the slack around all buffers, with a pattern derived
 * from `seed` that is no plausible answer (NaN payloads, wild integers). An odd
 * seed leaves numbers in the outputs that look like an answer (floats of
 * magnitude 1/4 to 2, integers below 64), as a buffer has that was used before: nothing
 * may be read from the one kind or the other.
 */
void kl_subject_poison(struct kl_subject *subject, uint64_t seed);
/** Was the child stopped by ptrace? See above for what is weaker when not. */
bool kl_subject_traced(const struct kl_subject *subject);
/** What an empty call takes, which is subtracted; meaningful with a cpu. */
int64_t kl_subject_handshake_ns(const struct kl_subject *subject);

/** Evict every argument buffer from the caches. */
void kl_subject_flush(struct kl_subject *subject);

enum kl_call_end {
	KL_CALL_OK,
	KL_CALL_FAULT,
	KL_CALL_HANG,
	KL_CALL_CHEAT,
	KL_CALL_EXIT,
	KL_CALL_LAUNCH, /* cuda: the driver refused to launch it */
};
struct kl_call {
	enum kl_call_end end;
	/* by the parent's clock less the handshake; at most the processor time */
	int64_t ns;
	int64_t wall_ns; /* by the parent's clock alone: never less than what it took */
	bool disturbed;  /* it had to wait for a processor: ns is processor time */
	char what[200];  /* for people, after "the kernel ": "made the system call 57 (fork)" */
};
/**
 * One call, at most job->call_ms. 0 whatever the kernel did; the child is gone unless
 * `end` is KL_CALL_OK. Slack around outputs is checked: a changed byte is KL_CALL_FAULT.
 */
int kl_subject_call(struct kl_subject *subject, struct kl_call *out);

#endif
