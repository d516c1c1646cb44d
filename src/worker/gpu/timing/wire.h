/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_WIRE_H
#define KL_WORKER_GPU_TIMING_WIRE_H

#include "worker/gpu/baseline.h"
#include "worker/gpu/wire.h"

/*
 * wire - requests of the profile to the GPU process, in addition to worker/gpu/wire.h.
 *
 *	BEGIN	sets		starts a point: its sets of tensors; forgets all subjects
 *	BOUND	who, bindings	subject `who` is a plan, bound to each of the sets
 *	VENDOR	who, spec	subject `who` is a vendor library's kernel
 *	LAUNCHER who, dims	subject `who` is the process's host code
 *	UPLOAD	set		copies inputs from the shared memory
 *	FETCH	set		copies outputs to it
 *	VISIT	who, sets	timed calls, each on a different set; fingerprints of their answers
 *	SLOPE	who, calls	the same work by the clock and by events, once and twice
 *	BENCH	who		Triton's do_bench
 *
 * For one timed call, outputs and scratch are poisoned, and shared and local memory overwritten.
 * Then a cold call empties the L2 cache; a hot one reads the inputs and calls the subject on
 * another set. An event, the call, an event and the fingerprint follow. All of it is enqueued while
 * a kernel of the gate holds the stream, so that nothing waits for the host between the events.
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
#define KL_GPU_TIME_CALLS 64 /* most calls of a visit, and sets of a point */

enum kl_gpu_time_mode {
	KL_GPU_TIME_COLD,
	KL_GPU_TIME_HOT,
	KL_GPU_TIME_BATCH_COLD, /* all calls between two events, as a graph */
	KL_GPU_TIME_BATCH_HOT,
};

struct kl_gpu_time_begin {
	struct kl_gpu_head head;
	uint32_t nset, reserved;
	uint32_t set[KL_GPU_TIME_CALLS];
	uint64_t key; /* key of fingerprints; no kernel sees it */
};

/* reply: peak rate of the device memory; 0: unknown */
struct kl_gpu_time_begun {
	struct kl_gpu_reply r;
	double bytes_per_ns;
};

struct kl_gpu_time_bound { /* head.slot: the subject */
	struct kl_gpu_head head;
	uint32_t bind[KL_GPU_TIME_CALLS]; /* one binding per set */
};

struct kl_gpu_time_vendor { /* head.slot: the subject */
	struct kl_gpu_head head;
	struct kl_gpu_baseline_spec spec;
};
struct kl_gpu_time_vendored { /* reply */
	struct kl_gpu_reply r;
	char what[96];
};

struct kl_gpu_time_visit { /* head.slot: the subject */
	struct kl_gpu_head head;
	uint32_t mode, ncall;
	/* hot: set of the call before each timed one; must not be in `which` */
	uint32_t warm, reserved;
	/* indices of the point's sets, each at most once */
	uint32_t which[KL_GPU_TIME_CALLS];
	uint64_t seed;    /* seed of the poison */
	int64_t limit_ms; /* for all calls together */
};

/* How a subject's calls ended. */
struct kl_gpu_time_end {
	/* enum kl_gpu_call_end: OK, FAULT, HANG, REFUSED, SCRATCH */
	int32_t end, launch;
	char name[64], kernel[256];
};

struct kl_gpu_time_visited { /* reply */
	struct kl_gpu_reply r;
	struct kl_gpu_time_end how;
	uint32_t ncall, ntime; /* a batch has one time for all its calls */
	/* time of one call; < 0: the host was late, the call does not count */
	double ns[KL_GPU_TIME_CALLS];
	double mhz; /* clock of the multiprocessors during the calls; 0: unknown */
	uint64_t print[KL_GPU_TIME_CALLS][2];
};

struct kl_gpu_time_launcher { /* head.slot: the subject */
	struct kl_gpu_head head;
	int64_t dim[16];
};

/* A slope is measured in rounds of n and of 2n calls; slow calls have fewer rounds than this. */
#define KL_GPU_TIME_SLOPE_ROUNDS 5
struct kl_gpu_time_slope {
	struct kl_gpu_head head;
	uint32_t calls;  /* and rounds of twice as many */
	uint32_t rounds; /* 1 to KL_GPU_TIME_SLOPE_ROUNDS */
	int64_t limit_ms;
};
struct kl_gpu_time_sloped { /* reply: time of one more call */
	struct kl_gpu_reply r;
	struct kl_gpu_time_end how;
	double wall_ns, event_ns;
	double spread_ns; /* spread of the rounds by the clock */
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
