/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_WIRE_H
#define KL_WORKER_GPU_TIMING_WIRE_H

#include "worker/gpu/baseline.h"
#include "worker/gpu/wire.h"

/*
 * wire - defines the profile's requests to the GPU process, in addition to worker/gpu/wire.h.
 *
 *	BEGIN	sets		starts a point: its sets of tensors; forgets all subjects
 *	BOUND	who, bindings	subject `who` is a plan, bound to each of the sets
 *	VENDOR	who, spec	subject `who` is a vendor library's kernel
 *	LAUNCHER who, dims	subject `who` is the process's host code
 *	UPLOAD	set		copies inputs from the shared memory
 *	FETCH	set		copies outputs to the shared memory
 *	VISIT	who, sets	makes timed calls, each on a different set, and fingerprints their
 *				answers
 *	RUN	who, calls	makes ordinary calls back to back, times them by the host's clock
 *				and by events, and fingerprints the answers that they left
 *	BENCH	who		makes calls as Triton's do_bench does, fingerprints each answer
 *	EXCHANGE two sets	exchanges the inputs of the sets
 *
 * Before a timed call, outputs and scratch are poisoned, and shared and local memory overwritten.
 * Before a cold call the L2 cache is then emptied; before a hot call the inputs are read and the
 * subject is called on another set. Then follow an event, the call, another event and the
 * fingerprint. All this is enqueued while a kernel of the gate holds the stream, so that the GPU
 * does not wait for the host between the events.
 *
 * Before ordinary calls, only inout tensors are restored, and outputs that must be zero are zeroed.
 */
enum kl_gpu_time_op {
	KL_GPU_TIME_BEGIN = KL_GPU_OP_TIME,
	KL_GPU_TIME_BOUND,
	KL_GPU_TIME_VENDOR,
	KL_GPU_TIME_UPLOAD,
	KL_GPU_TIME_FETCH,
	KL_GPU_TIME_VISIT,
	KL_GPU_TIME_RUN,
	KL_GPU_TIME_BENCH,
	KL_GPU_TIME_LAUNCHER,
	KL_GPU_TIME_EXCHANGE,
};

#define KL_GPU_TIME_SUBJECTS 4
#define KL_GPU_TIME_CALLS 64 /* maximum of calls per visit and of sets per point */

enum kl_gpu_time_mode {
	KL_GPU_TIME_COLD,
	KL_GPU_TIME_HOT,
	KL_GPU_TIME_BATCH_COLD, /* all calls of the visit between two events, as a graph */
	KL_GPU_TIME_BATCH_HOT,
};

struct kl_gpu_time_begin {
	struct kl_gpu_head head;
	uint32_t nset, reserved;
	uint32_t set[KL_GPU_TIME_CALLS]; /* slots of the point's sets */
	uint64_t key;                    /* key of fingerprints; no kernel sees it */
};

struct kl_gpu_time_begun { /* reply */
	struct kl_gpu_reply r;
	double bytes_per_ns; /* peak rate of the device memory; 0 if unknown */
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
	char what[96]; /* library and version: "cuBLAS 130100" */
};

struct kl_gpu_time_visit { /* head.slot: the subject */
	struct kl_gpu_head head;
	uint32_t mode, ncall;
	/*
	 * KL_GPU_TIME_HOT: set on which the subject is called before each timed call; not in
	 * `which`
	 */
	uint32_t warm, reserved;
	/* indices of the point's sets: call i uses set which[i]; each set is used at most once */
	uint32_t which[KL_GPU_TIME_CALLS];
	uint64_t seed;    /* seed of the poison */
	int64_t limit_ms; /* for all calls together */
};

/* How a subject's calls ended. */
struct kl_gpu_time_end {
	/*
	 * enum kl_gpu_call_end: OK, FAULT, HANG, REFUSED, SCRATCH; index of a launch, -1 if there
	 * is none
	 */
	int32_t end, launch;
	char name[64], kernel[256]; /* names of the CUDA error and of the kernel; "" if unknown */
};

struct kl_gpu_time_visited { /* reply */
	struct kl_gpu_reply r;
	struct kl_gpu_time_end how;
	uint32_t ncall, ntime; /* number of entries of `print`, of `ns` (1 for a batch) */
	/* time of one call in ns; below 0 if the host was late, so that the time does not count */
	double ns[KL_GPU_TIME_CALLS];
	double mhz; /* clock of the multiprocessors during the calls; 0 if unknown */
	uint64_t print[KL_GPU_TIME_CALLS][2];
};

struct kl_gpu_time_launcher { /* head.slot: the subject */
	struct kl_gpu_head head;
	int64_t dim[16];
};

/*
 * Request for ordinary calls. They use the sets in order, and the first set again after the last.
 * Fewer calls than requested are made if a held stream does not accept as many, or if there are
 * inout tensors or outputs that must be zero, which allow only one call for each set.
 */
struct kl_gpu_time_run { /* head.slot: the subject */
	struct kl_gpu_head head;
	uint32_t calls;
	/* number of sets to fingerprint afterwards; 0 for all sets that are called */
	uint32_t look;
	uint32_t poison; /* whether to poison outputs and scratch first */
	uint32_t reserved;
	uint64_t seed;
	int64_t limit_ms; /* for all calls together */
};
struct kl_gpu_time_ran { /* reply */
	struct kl_gpu_reply r;
	struct kl_gpu_time_end how;
	uint32_t calls, nprint; /* number of calls made and of sets fingerprinted */
	double wall_ns;         /* from the release of the stream to the end of the calls */
	double event_ns;        /* between the events around the calls */
	uint64_t print[KL_GPU_TIME_CALLS][2];
};

struct kl_gpu_time_bench { /* head.slot: the subject; all calls use the first set */
	struct kl_gpu_head head;
	uint32_t warm, calls; /* untimed calls, then timed ones; at most KL_GPU_TIME_CALLS each */
	uint32_t poison, reserved;
	uint64_t seed;
	int64_t limit_ms;
};
/*
 * reply; `print` has the fingerprint of each timed call's answer, and after these the fingerprint
 * of the outputs that all calls left in the first set
 */
struct kl_gpu_time_benched {
	struct kl_gpu_reply r;
	struct kl_gpu_time_end how;
	double ns[KL_GPU_TIME_CALLS];
	uint64_t print[KL_GPU_TIME_CALLS + 1][2];
};

struct kl_gpu_time_exchange {
	struct kl_gpu_head head;
	uint32_t set[2];
};

#endif
