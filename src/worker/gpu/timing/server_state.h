/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_SERVER_STATE_H
#define KL_WORKER_GPU_TIMING_SERVER_STATE_H

#include "worker/gpu/server.h"
#include "worker/gpu/timing/tool.h"
#include "worker/gpu/timing/wire.h"

/*
 * server_state - the profile's state in the GPU process, and its operations: those of wire.h,
 * which server.c receives.
 *
 *	kl_gpu_timing_open(&t, s);		once; lives as long as the process
 *	kl_gpu_timing_begin(t, ...);		a point: its sets, no subject yet
 *	kl_gpu_timing_add_bound(t, ...);	or _vendor, _launcher: who is timed
 *	kl_gpu_timing_visit(t, ...);		timed calls of one of them
 *
 * An error ends the request, not the process. How a subject's calls ended is no error but stands in
 * the reply (struct kl_gpu_time_end).
 */
/* How long operations of the gate's own may take, beside those of a subject. */
#define KL_GPU_OWN_MS 20000

/* A subject. */
struct kl_gpu_timed {
	bool there;
	uint32_t bind[KL_GPU_TIME_CALLS];
	struct kl_gpu_baseline *vendor; /* NULL: bound */
	struct kl_cu_graph_exec *graph; /* of the last batch */
	bool no_graph;
};

/* The pristine contents of tensors that are written and read. */
struct kl_gpu_pristine {
	struct kl_gpu_buffer copy[KL_GPU_MAX_TENSORS];
	bool has[KL_GPU_MAX_TENSORS];
};

struct kl_gpu_timing {
	struct kl_gpu_server *s;
	struct kl_gpu_device *device;
	const struct kl_gpu_driver *cu;
	struct kl_gpu_time_tool tool;
	struct kl_gpu_timed subject[KL_GPU_TIME_SUBJECTS];
	uint32_t nset, set[KL_GPU_TIME_CALLS];
	struct kl_gpu_pristine pristine[KL_GPU_TIME_CALLS];
	uint64_t key;
	uint64_t prints; /* device: two words for each call and tensor */
	uint64_t stamps; /* device: two stamps a call */
	uint64_t sink;   /* device: where reading inputs leaves a fingerprint */
	uint64_t bench;  /* device: what do_bench zeroes; 0: not yet */
	struct kl_cu_event *before[KL_GPU_TIME_CALLS], *after[KL_GPU_TIME_CALLS];
};

#define KL_GPU_PRINT_BYTES ((uint64_t)KL_GPU_TIME_CALLS * KL_GPU_MAX_TENSORS * 16)
#define KL_GPU_STAMP_BYTES ((uint64_t)KL_GPU_TIME_CALLS * 2 * sizeof(struct kl_gpu_stamp))

/* -- server_state.c: sets and subjects ------------------------------------------------ */

int kl_gpu_timing_open(struct kl_gpu_timing **out, struct kl_gpu_server *server);
int kl_gpu_timing_begin(struct kl_gpu_timing *timing, const struct kl_gpu_time_begin *begin,
			double *bytes_per_ns);
int kl_gpu_timing_add_bound(struct kl_gpu_timing *timing, const struct kl_gpu_time_bound *bound);
int kl_gpu_timing_add_vendor(struct kl_gpu_timing *timing, const struct kl_gpu_time_vendor *vendor,
			     char what[96]);
int kl_gpu_timing_add_launcher(struct kl_gpu_timing *timing,
			       const struct kl_gpu_time_launcher *launcher);
/** Device memory that lives as long as the context. */
int kl_gpu_timing_memory(uint64_t *at, const struct kl_gpu_device *device, uint64_t bytes);
/** KL_EINVALID: there is no such subject, no such place among the point's sets. */
int kl_gpu_timing_subject(struct kl_gpu_timed **out, struct kl_gpu_timing *timing, uint32_t who);
int kl_gpu_timing_check_place(const struct kl_gpu_timing *timing, uint32_t place);
/** What lies at a place that was checked. */
struct kl_gpu_set *kl_gpu_timing_set(const struct kl_gpu_timing *timing, uint32_t place);
struct kl_gpu_bound *kl_gpu_timing_bound(const struct kl_gpu_timing *timing,
					 const struct kl_gpu_timed *timed, uint32_t place);
void kl_gpu_timing_addresses(uint64_t at[KL_GPU_MAX_TENSORS], const struct kl_gpu_set *set);
void kl_gpu_timing_drop_graph(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed);

/* -- server_call.c: one call, what is around it, how it ended ---------------------- */

/**
 * Poison, pristine contents, what the subject needs before a call; all but settle and read are
 * enqueued.
 */
int kl_gpu_timing_ready(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t place,
			uint64_t seed);
/** The call itself: 0, or what refused it. */
int kl_gpu_timing_launch(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t place,
			 int *which);
int kl_gpu_timing_finish(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t place);
/** Inputs read by a kernel of ours: in the L2 cache as far as they fit. */
int kl_gpu_timing_touch(struct kl_gpu_timing *timing, uint32_t place);
/** The L2 cache emptied, without the reset of persisting lines, which may wait for the stream. */
int kl_gpu_timing_flush(struct kl_gpu_timing *timing);
/** Fingerprints of the outputs; `which` of the two stamps of a call. */
int kl_gpu_timing_print(struct kl_gpu_timing *timing, uint32_t call, uint32_t place);
int kl_gpu_timing_stamp(struct kl_gpu_timing *timing, uint32_t call, int which);
/** Launches of a call, or what a call of a library counts as. */
size_t kl_gpu_timing_launches(const struct kl_gpu_timing *timing, const struct kl_gpu_timed *timed);
/**
 * Wait for what was enqueued; `rc` is what refused a launch, or 0. Negative: the machine is in
 * trouble; 0 and how->end otherwise.
 */
int kl_gpu_timing_settle(struct kl_gpu_timing *timing, struct kl_gpu_time_end *how,
			 const struct kl_gpu_timed *timed, int rc, int which, int64_t limit_ms);
void kl_gpu_timing_check_scratch(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed,
				 const struct kl_gpu_time_visit *visit,
				 struct kl_gpu_time_visited *out);
/** One fingerprint of a call from those of its outputs. */
int kl_gpu_timing_read_prints(struct kl_gpu_timing *timing, const struct kl_gpu_time_visit *visit,
			      struct kl_gpu_time_visited *out);
/** Mean clock over the stamps of `n` calls; 0: not known. */
int kl_gpu_timing_read_clock(struct kl_gpu_timing *timing, uint32_t n, double *mhz);
/** Between the events around a call; -1: not known. */
double kl_gpu_timing_event_ns(struct kl_gpu_timing *timing, uint32_t call);

/* -- server_visit.c, server_clock.c: many calls ---------------------------------- */

int kl_gpu_timing_visit(struct kl_gpu_timing *timing, const struct kl_gpu_time_visit *visit,
			struct kl_gpu_time_visited *out);
int kl_gpu_timing_slope(struct kl_gpu_timing *timing, const struct kl_gpu_time_slope *slope,
			struct kl_gpu_time_sloped *out);
/** As Triton's do_bench does it. */
int kl_gpu_timing_bench(struct kl_gpu_timing *timing, const struct kl_gpu_time_bench *bench,
			struct kl_gpu_time_benched *out);

#endif
