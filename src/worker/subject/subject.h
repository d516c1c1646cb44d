/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SUBJECT_H
#define KL_WORKER_SUBJECT_SUBJECT_H

#include "job/job.h"

/*
 * subject - one loaded kernel in a process of its own, called at one point. The kernel is a
 * candidate, parent, oracle or vendor library.
 *
 * The child is a fresh exec of klineage-worker, so none of the parent's memory is in it. It maps
 * the argument buffers. Unless it runs a vendor library, it then gives up everything but what it
 * takes to map the kernel's image, maps it (image/image_map.h), and gives up that, too, before the
 * first byte of the kernel runs (seal.h). No loader of the system takes part. Parent and child
 * communicate through one shared page; the parent holds the clock.
 *
 * Buffers are memfds: the parent writes inputs and reads outputs through its own mapping. In the
 * child inputs are read-only, and every buffer lies between unmapped guard pages, aligned to the
 * left or to the right end of its mapping. It is mapped several times; each call gets one of these
 * addresses and one of the ends.
 *
 * Before every call the parent resets the child's registers (ptrace), so that our own loop waits
 * for the start. After the call the child is stopped at that loop's trap, and the outputs are read
 * while it is stopped. What a hostile kernel can still try in its own process, and the
 * countermeasures:
 *
 *	any system call, fork, socket	seccomp kills; an exit is reported as such
 *	read the clock			TSC faults, vDSO and vvar are unmapped
 *	write `done` early		outputs that change afterwards are seen (spot_check.h), and
 *					the delay of the trap counts as time
 *	start before `go`		only registers and read-only text run until then
 *	alter the control page or	every word is compared; call frame and text are
 *	the frame			read-only, and mprotect is a system call
 *	return on another stack		the stack pointer at the trap is compared
 *	change MXCSR, x87, flags	reset before every call; left changed, a fault (convention.h)
 *	keep state between calls	inputs are new each time, each output is checked
 *	count on memory being zero	arena and stack start as ones
 *	behave well when not timed	a child cannot tell: only its parent acts differently
 *	write the outputs later		it is stopped; nothing runs
 *
 * What remains: a kernel that forges `done` after its last output, within the jitter of the trap
 * (at most a microsecond, measured with empty calls), gains that much in single calls; over many
 * calls late_ns shows it.
 *
 * If ptrace is refused, kl_subject_traced() is false: the child must then return to the loop on its
 * own, and the outputs are compared again after a pause. A kernel that takes over the loop can then
 * start early; callers must say so in the result.
 *
 * On surface cuda a subject is a binding in a GPU process (subject_gpu.c, docs/formats.md, "On a
 * GPU"). Only a process with host code is sealed (worker/gpu/seal.h). kl_subject_buffer() is
 * the host's copy, which calls copy in and out; kl_subject_traced() is true; a baseline is
 * KL_ECANNOT, since the profile calls baselines itself.
 *
 *	kl_subject_start(&s, job, point, &spec);
 *	memcpy(kl_subject_buffer(s, arg), ...)	each in and inout
 *	kl_subject_poison(s, seed);		outputs and slack
 *	kl_subject_call(s, &call);
 *	kl_subject_buffer(s, arg)		outputs
 */
enum kl_subject_kind { KL_SUBJECT_KERNEL, KL_SUBJECT_ORACLE, KL_SUBJECT_BASELINE };

/*
 * Memory for the tensors of CPU kernels, kept when a child ends for the next child, because new
 * memory costs more than many a call. Each call rewrites all that it can reach, slack included, so
 * that no data of one child reaches the next; each child maps it at addresses of its own. Only one
 * subject can use it at a time. Initialize it to zero; the owner releases it.
 */
struct kl_subject_memory {
	struct kl_subject_lent {
		unsigned char *map; /* NULL: none yet, or in use by a subject */
		unsigned char *slack;
		uint64_t bytes;
		uint64_t least; /* the size to allocate, if more is needed now and then */
		int fd;
	} tensor[KL_MAX_ARGS];
};
void kl_subject_memory_release(struct kl_subject_memory *memory);
/** Make room for calls at this point, too, when memory is allocated next. */
void kl_subject_memory_reserve(struct kl_subject_memory *memory, const struct kl_job *job,
			       const struct kl_point *pt);

struct kl_subject_spec {
	enum kl_subject_kind kind;
	const char *so;       /* path of the image or cubin, for kernel and oracle */
	const char *baseline; /* name of the baseline, such as "openblas.sgemm" */
	bool real_is_double;  /* oracle: whether kl_real is double or float in `so` */
	/* align buffers to the guard page on their right, until kl_subject_place() */
	bool align_right;
	const struct kl_point *other; /* surface c: a further point to call at; NULL: none */
	/*
	 * cuda: between calls nothing is reloaded, overwritten or poisoned, so that a call finds what
	 * the last one left; kl_subject_poison() has no effect
	 */
	bool ordinary;
	int cpu;       /* processor that the child is pinned to; -1: any */
	bool timed;    /* time calls exactly, by spinning on another processor; otherwise roughly */
	bool untraced; /* do not use ptrace, for tests */
	struct kl_subject_memory *memory; /* memory to reuse, must outlive the subject; or NULL */
};

struct kl_subject;

/* Where a call finds its tensors. */
struct kl_place {
	bool other;    /* call at spec.other */
	bool right;    /* align them to the guard page on their right */
	uint64_t draw; /* a random number, from which their addresses are chosen */
};

/**
 * Start a subject. KL_ECANNOT: it cannot run here: a library is missing or does not fit, seccomp is
 * refused, or the image is missing or not valid. KL_EINVALID: an argument is too large; or, on surface
 * cuda, the artefact cannot be loaded or does not fit its plan. Keeps neither `job` nor the points.
 */
int kl_subject_start(struct kl_subject **out, const struct kl_job *job, const struct kl_point *pt,
		     const struct kl_subject_spec *spec);
void kl_subject_free(struct kl_subject *subject);
KL_DEFINE_CLEANUP(struct kl_subject *, kl_subject_free)

/**
 * Choose where the next calls find their tensors; then poison and fill them. On surface cuda this
 * does nothing: there the sides are those of the start.
 */
void kl_subject_place(struct kl_subject *subject, const struct kl_place *place);
/**
 * Buffer of a tensor argument of the next call in the parent's mapping, NULL for other arguments.
 * Its size is elements times element size; an oracle's float tensors have kl_real elements. Access
 * it between calls only.
 */
void *kl_subject_buffer(struct kl_subject *subject, size_t arg);
size_t kl_subject_bytes(const struct kl_subject *subject, size_t arg);
/**
 * An oracle on a GPU: does its buffer of input `arg` take elements of the kernel's type, which the
 * GPU turns into kl_real?
 */
bool kl_subject_widens(const struct kl_subject *subject, size_t arg);

/**
 * Fill every `out` buffer, and the slack around all buffers, with a pattern derived from `seed`
 * that is no plausible answer (NaN payloads, wild integers). An odd seed fills the outputs with
 * plausible numbers instead (floats of magnitude 1/4 to 2, integers below 64), like a buffer that
 * was used before. Kernels must not depend on either.
 */
void kl_subject_poison(struct kl_subject *subject, uint64_t seed);
/** True if ptrace stops the child after each call; see above for what is weaker otherwise. */
bool kl_subject_traced(const struct kl_subject *subject);
/**
 * Time of an empty call, which is subtracted from each call; meaningful only if spec.timed.
 */
int64_t kl_subject_handshake_ns(const struct kl_subject *subject);

/** Evict every argument buffer from the caches. */
void kl_subject_flush(struct kl_subject *subject);

enum kl_call_end {
	KL_CALL_OK,
	KL_CALL_FAULT,
	KL_CALL_HANG,
	KL_CALL_CHEAT,
	KL_CALL_EXIT,
	KL_CALL_LAUNCH, /* cuda: the driver refused to launch the kernel */
	/* trouble of the machine: kl_subject_call() returns KL_ECANNOT, so callers never see it */
	KL_CALL_UNTESTED,
};
struct kl_call {
	enum kl_call_end end;
	/* by the parent's clock minus the handshake; at most the processor time */
	int64_t ns;
	int64_t wall_ns; /* by the parent's clock alone: never less than the call took */
	bool disturbed;  /* the call had to wait for a processor: ns is processor time */
	int64_t used_ns; /* processor time, with that of the handshake; -1: unknown */
	/*
	 * how much later than in an empty call the child stopped behind its completion word, as far
	 * as wall_ns does not include it
	 */
	int64_t late_ns;
	char what[200]; /* message that follows "the kernel ": "made the system call 57 (fork)" */
};
/**
 * Call the kernel once, for at most job->call_ms; for kernels in C this is processor time. Returns
 * 0 whatever the kernel did; the child has ended unless `end` is KL_CALL_OK. Slack around outputs
 * is checked: a changed byte is KL_CALL_FAULT. KL_ECANNOT: the machine is too busy to run the
 * kernel, or killed it.
 */
int kl_subject_call(struct kl_subject *subject, struct kl_call *out);
/** cuda: change the time limit of further calls, which is job->call_ms at first. */
void kl_subject_limit(struct kl_subject *subject, int64_t ms);
/**
 * Check the slack around outputs, and carried scratch, without a call. Only calls of an `ordinary`
 * subject leave this to the caller, because the check runs kernels of its own.
 */
int kl_subject_check(struct kl_subject *subject, struct kl_call *out);

#endif
