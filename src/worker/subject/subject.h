/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SUBJECT_H
#define KL_WORKER_SUBJECT_SUBJECT_H

#include "job/job.h"

/*
 * subject - one kernel, loaded into a separate process and called at one or two points. The kernel
 * is a candidate, parent, oracle or vendor library.
 *
 * The child is a fresh exec of klineage-worker, so none of the parent's memory is in it. It maps
 * the argument buffers. Unless it runs a vendor library, the child then drops every privilege
 * except those needed to map the kernel's image, maps the image (image/image_map.h), and drops the
 * remaining privileges before the first byte of the kernel runs (seal.h). The system's dynamic
 * loader does not load the kernel. Parent and child communicate through one shared page; only the
 * parent reads the clock.
 *
 * Buffers are memfds: the parent writes inputs and reads outputs through its own mapping. In the
 * child inputs are read-only, and every buffer lies between unmapped guard pages, aligned to the
 * left or to the right end of its mapping. Each buffer is mapped several times. A call uses one of
 * these mappings, with the data at one of its two ends.
 *
 * Before every call the parent resets the child's registers (ptrace), so that the loop of stub.h
 * waits for the start. After the call the child is stopped at the trap of that loop, and the
 * outputs are read while it is stopped. What a hostile kernel can still try in its own process, and
 * the countermeasures:
 *
 *	any system call, fork, socket	seccomp kills; an exit is reported as such
 *	read the clock			TSC faults, vDSO and vvar are unmapped
 *	write `done` early		outputs that change afterwards are seen (spot_check.h), and
 *					the delay of the trap counts as time
 *	start before `go`		until then only the loop runs, which needs no memory
 *					that a kernel can write, except the control page
 *	alter the control page or	every word of the page is compared; call frame and text
 *	the frame			are read-only, and mprotect is a system call
 *	return on another stack		the stack pointer at the trap is compared
 *	change MXCSR, x87, flags	reset before every call; a change left behind is a fault
 *					(convention.h)
 *	keep state between calls	inputs are new each time, each output is checked
 *	count on memory being zero	arena and stack start with bytes of 0xff
 *	behave well when not timed	timed and other children do the same; only the work of
 *					their parents differs
 *	write the outputs later		the child is stopped while they are read
 *	compute in an adapter's		its code can run there only before the first inputs
 *	untimed functions		are written (adapter.c)
 *
 * One attack remains: a kernel that writes `done` after its last output, but earlier than the loop
 * would. In a single call it can gain up to the jitter of the trap (measured with empty calls; at
 * most a microsecond); over many calls late_ns shows the gain.
 *
 * If Linux refuses ptrace, kl_subject_traced() is false: the child must then return to the loop on
 * its own, and its outputs must not change during a pause after the call. A kernel that takes over
 * the loop can then start early; callers must state in the result that the child was not traced.
 *
 * On surface cuda a subject is a binding in a GPU process (subject_gpu.c, docs/formats.md, "On a
 * GPU"). Only a process with host code is sealed (worker/gpu/seal.h). On this surface,
 * kl_subject_buffer() returns the host's copy of a tensor, which each call copies to the device and
 * back; kl_subject_traced() always returns true; and starting a baseline is KL_ECANNOT, since the
 * profile calls baselines without a subject.
 *
 *	kl_subject_start(&s, job, point, &spec);
 *	memcpy(kl_subject_buffer(s, arg), ...)	for each in and inout argument
 *	kl_subject_poison(s, seed);		outputs and slack
 *	kl_subject_call(s, &call);
 *	kl_subject_buffer(s, arg)		read the outputs
 */
enum kl_subject_kind { KL_SUBJECT_KERNEL, KL_SUBJECT_ORACLE, KL_SUBJECT_BASELINE };

/*
 * Memory for the tensors of CPU kernels. When a child ends, its memory is kept for the next child,
 * because allocating memory takes longer than many calls. Before a call, all of this memory that
 * the call can reach is rewritten, slack included, so that no data of one child reaches the next.
 * Each child maps the memory at addresses of its own. Only one subject at a time can use the
 * struct. Initialize it to zero; the owner releases it.
 */
struct kl_subject_memory {
	struct kl_subject_lent {
		unsigned char *map;   /* NULL if not allocated yet, or in use by a subject */
		unsigned char *slack; /* room for the expected bytes around the data */
		uint64_t bytes;
		/* allocate at least this many bytes; 0 for the size of the tensor */
		uint64_t least;
		int fd;
	} tensor[KL_MAX_ARGS];
};
void kl_subject_memory_release(struct kl_subject_memory *memory);
/** From now on, allocate memory that is large enough for calls at `pt`. */
void kl_subject_memory_reserve(struct kl_subject_memory *memory, const struct kl_job *job,
			       const struct kl_point *pt);

struct kl_subject_spec {
	enum kl_subject_kind kind;
	const char *path;     /* path of the image or cubin, for kernel and oracle */
	const char *baseline; /* name of the baseline, such as "openblas.sgemm" */
	/* oracle: true if kl_real is double in the image, false if it is float */
	bool real_is_double;
	/*
	 * align buffers to the guard page on their right, or if false, on their left;
	 * kl_subject_place() can change this
	 */
	bool align_right;
	/* surface c: a second point to call at; NULL if there is none */
	const struct kl_point *other;
	/*
	 * cuda: nothing is reloaded, overwritten or poisoned between calls, so that a call finds
	 * memory as the last call left it; kl_subject_poison() has no effect
	 */
	bool ordinary;
	int cpu; /* processor that the child is pinned to; -1 for any */
	/*
	 * true to time calls exactly, while the parent spins on another processor; false to time
	 * calls roughly
	 */
	bool timed;
	bool untraced; /* do not use ptrace, for tests */
	/* memory to reuse; borrowed; NULL to allocate memory for this subject only */
	struct kl_subject_memory *memory;
};

struct kl_subject;

/* Where a call finds its tensors. */
struct kl_place {
	bool other; /* call at spec.other */
	/* align tensors to the guard page on their right, or if false, on their left */
	bool right;
	uint64_t draw; /* a random number that chooses their addresses */
};

/**
 * Start a subject. Return KL_ECANNOT if the subject cannot run here: a vendor library is missing or
 * does not support the arguments, Linux refuses seccomp, or the image is missing or invalid. Return
 * KL_EINVALID if an argument is too large; or, on surface cuda, the artefact cannot be loaded or
 * does not fit its plan. `job` and the points need not outlive the call. The caller frees *out.
 */
int kl_subject_start(struct kl_subject **out, const struct kl_job *job, const struct kl_point *pt,
		     const struct kl_subject_spec *spec);
void kl_subject_free(struct kl_subject *subject);
KL_DEFINE_CLEANUP(struct kl_subject *, kl_subject_free)

/**
 * Choose the addresses of the tensors in the next calls; the caller must then poison and fill them
 * again. On surface cuda this does nothing: the tensors stay aligned as spec.align_right says.
 */
void kl_subject_place(struct kl_subject *subject, const struct kl_place *place);
/**
 * Return the parent's mapping of a tensor argument of the next call; NULL for other arguments. It
 * holds the elements without padding; an oracle's float tensors have kl_real elements. Access it
 * between calls only.
 */
void *kl_subject_buffer(struct kl_subject *subject, size_t arg);
/** Return the size in bytes of the tensor argument `arg`; 0 if it is not a tensor. */
size_t kl_subject_bytes(const struct kl_subject *subject, size_t arg);
/**
 * Return true if `arg` is an input of an oracle on a GPU, and its buffer takes elements of the
 * kernel's type, which the GPU converts to kl_real.
 */
bool kl_subject_widens(const struct kl_subject *subject, size_t arg);

/**
 * Fill every `out` buffer, and the slack around all buffers, with a pattern derived from `seed`
 * that is no plausible answer (NaN payloads, wild integers). If `seed` is odd, fill the outputs
 * with plausible numbers instead (floats of magnitude 1/4 to 2, integers below 64), as in a buffer
 * that was used before. Kernels must not depend on either pattern. An `out` buffer whose argument
 * has `zeros` is filled with zeros, on which kernels may depend.
 */
void kl_subject_poison(struct kl_subject *subject, uint64_t seed);
/**
 * Return true if ptrace stops the child after each call. Without ptrace some checks are weaker; see
 * the comment at the top of this file.
 */
bool kl_subject_traced(const struct kl_subject *subject);
/**
 * Return the time in ns of an empty call, which is subtracted from the time of each call;
 * meaningful only with spec.timed.
 */
int64_t kl_subject_handshake_ns(const struct kl_subject *subject);

/** Evict every argument buffer from the caches. */
void kl_subject_flush(struct kl_subject *subject);

enum kl_call_end {
	KL_CALL_OK,
	KL_CALL_FAULT,  /* crashed, wrote out of bounds, or broke the calling convention */
	KL_CALL_HANG,   /* did not end within the time limit */
	KL_CALL_CHEAT,  /* did something that no honest kernel does, such as a system call */
	KL_CALL_EXIT,   /* ended its process */
	KL_CALL_LAUNCH, /* cuda: the driver refused to launch the kernel */
	/*
	 * the machine prevented the call; internal, since kl_subject_call() then returns KL_ECANNOT
	 */
	KL_CALL_UNTESTED,
};
struct kl_call {
	enum kl_call_end end;
	/*
	 * time of the call by the parent's clock, less the handshake; or its processor time, if
	 * this is shorter and plausible; cuda: the time between events of the device
	 */
	int64_t ns;
	int64_t wall_ns; /* like `ns`, but never the processor time */
	bool disturbed;  /* the call had to wait for a processor */
	int64_t used_ns; /* processor time, handshake included; -1 if unknown; cuda: 0 */
	/*
	 * time from `done` until the child stopped, less the same time in an empty call, and less
	 * the part that wall_ns includes
	 */
	int64_t late_ns;
	char what[200]; /* why `end` is not OK; follows "the kernel ": "made the system call 57" */
};
/**
 * Call the kernel once, for at most job->call_ms; for kernels in C this is processor time. Return 0
 * whatever the kernel did. Unless `end` is KL_CALL_OK, the child has ended. A changed byte in the
 * slack around outputs is KL_CALL_FAULT. Return KL_ECANNOT if the machine is too busy to run the
 * kernel, or the system killed it.
 */
int kl_subject_call(struct kl_subject *subject, struct kl_call *out);
/**
 * Set the time limit of later calls on surface cuda; until then it is job->call_ms. For kernels in
 * C this does nothing.
 */
void kl_subject_limit(struct kl_subject *subject, int64_t ms);
/**
 * Set the time limit of later calls of a kernel in C to `times` times job->call_ms; until then it
 * is job->call_ms. On surface cuda this does nothing.
 */
void kl_subject_extend(struct kl_subject *subject, int times);
/**
 * Check the slack around outputs, and that `carry` scratch is zero, without a call. A call of an
 * `ordinary` subject does not make these checks, because they run kernels of their own, so the
 * caller must make them; any other call includes them.
 */
int kl_subject_check(struct kl_subject *subject, struct kl_call *out);

#endif
