/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_WIRE_H
#define KL_WORKER_GPU_TIMING_WIRE_H

#include "worker/gpu/baseline.h"
#include "worker/gpu/wire.h"

/*
 * wire - what the profile asks of the GPU process, beyond those of worker/gpu/wire.h.
 *
 *	BEGIN	sets		a point: its sets of tensors, forgets subjects
 *	BOUND	who, bindings	subject `who` is a plan, bound to each of the sets
 *	VENDOR	who, spec	subject `who` is a vendor library's
 *	LAUNCHER who, dims	subject `who` is the process's host code
 *	UPLOAD	set		inputs from the shared memory
 *	FETCH	set		outputs into it
 *	VISIT	who, sets	timed calls, each on a set of its own; fingerprints of their answers
 *	SLOPE	who, calls	the same work by the clock and by events, once and twice
 *	BENCH	who		Triton's do_bench
 *
 * One timed call is: outputs and scratch poisoned, shared and local memory overwritten, then cold:
 * the L2 cache emptied; hot: the inputs read and the subject called on another set; then an event,
 * the call, an event, and the fingerprint. All of it is enqueued while a kernel of ours holds the
 * stream, so that nothing waits for the processor between the events.
 */
enum kl_gpu_time_op {
	KL_GPU_TIME_BEGIN = KL_GPU_OP_TIME,
	KL_GPU_TIME_BOUND,
	KL_GPU_TIME_VENDOR,
	KL_GPU_TIME_UPLOAD,
	KL_GPU_TIME_FETCH,
	KL_GPU_TIME_VISIT,
	KL_GPU_TIME_SLOPE,
	KL_GPU_TIME_BENCH,
	KL_GPU_TIME_LAUNCHER,
};

#define KL_GPU_TIME_SUBJECTS 4
#define KL_GPU_TIME_CALLS 64 /* of a visit; sets of a point */

enum kl_gpu_time_mode {
	KL_GPU_TIME_COLD,
	KL_GPU_TIME_HOT,
	KL_GPU_TIME_BATCH_COLD, /* all calls between two events, in a graph */
	KL_GPU_TIME_BATCH_HOT,
};

struct kl_gpu_time_begin {
	struct kl_gpu_head head;
	uint32_t nset, reserved;
	uint32_t set[KL_GPU_TIME_CALLS];
	uint64_t key; /* of fingerprints; no kernel sees it */
};

/* reply: what the device memory could move at best; 0: not known */
struct kl_gpu_time_begun {
	struct kl_gpu_reply r;
	double bytes_per_ns;
};

struct kl_gpu_time_bound { /* head.slot: who */
	struct kl_gpu_head head;
	uint32_t bind[KL_GPU_TIME_CALLS]; /* one for each set */
};

struct kl_gpu_time_vendor { /* head.slot: who */
	struct kl_gpu_head head;
	struct kl_gpu_baseline_spec spec;
};
struct kl_gpu_time_vendored { /* reply */
	struct kl_gpu_reply r;
	char what[96];
};

struct kl_gpu_time_visit { /* head.slot: who */
	struct kl_gpu_head head;
	uint32_t mode, ncall;
	uint32_t warm, reserved; /* hot: the set of the call before each; none of `which` */
	/* places among the point's sets, each at most once */
	uint32_t which[KL_GPU_TIME_CALLS];
	uint64_t seed;    /* of poison */
	int64_t limit_ms; /* for all of it */
};

/* How the subject's calls ended. */
struct kl_gpu_time_end {
	/* enum kl_gpu_call_end: OK, FAULT, HANG, REFUSED, SCRATCH */
	int32_t end, launch;
	char name[64], kernel[256];
};

struct kl_gpu_time_visited { /* reply */
	struct kl_gpu_reply r;
	struct kl_gpu_time_end how;
	uint32_t ncall, ntime; /* a batch has one time for all */
	/* of one call; < 0: the processor was late, it does not count */
	double ns[KL_GPU_TIME_CALLS];
	double mhz; /* of the multiprocessors while it ran; 0: not known */
	uint64_t print[KL_GPU_TIME_CALLS][2];
};

struct kl_gpu_time_launcher { /* head.slot: who */
	struct kl_gpu_head head;
	int64_t dim[16];
};

/* A slope is of rounds of n and of 2n calls: of so many, or of fewer where calls are dear. */
#define KL_GPU_TIME_SLOPE_ROUNDS 5
struct kl_gpu_time_slope {
	struct kl_gpu_head head;
	uint32_t calls;  /* and twice as many */
	uint32_t rounds; /* 1 to KL_GPU_TIME_SLOPE_ROUNDS */
	int64_t limit_ms;
};
struct kl_gpu_time_sloped { /* reply: nanoseconds that one more call takes */
	struct kl_gpu_reply r;
	struct kl_gpu_time_end how;
	double wall_ns, event_ns;
	double spread_ns; /* by which the clock's rounds differ */
};

struct kl_gpu_time_bench {
	struct kl_gpu_head head;
	uint32_t warm, calls;
	int64_t limit_ms;
};
struct kl_gpu_time_benched {
	struct kl_gpu_reply r;
	struct kl_gpu_time_end how;
	double median_ns;
};

#endif
