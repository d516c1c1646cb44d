/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_SERVER_STATE_H
#define KL_WORKER_GPU_TIMING_SERVER_STATE_H

#include "worker/gpu/server.h"
#include "worker/gpu/timing/tool.h"
#include "worker/gpu/timing/wire.h"

/*
 * server_state - keeps the profile's state in the GPU process and carries out its operations.
 *
 * The operations are those of wire.h; server.c receives their requests.
 *
 *	kl_gpu_timing_open(&t, s);		once; lives as long as the process
 *	kl_gpu_timing_begin(t, ...);		a point: its sets, no subjects yet
 *	kl_gpu_timing_add_bound(t, ...);	or _vendor, _launcher: adds a subject
 *	kl_gpu_timing_visit(t, ...);		timed calls of one subject
 *
 * An error ends the request, not the process. A subject's call that ends badly is not an error: the
 * reply describes it (struct kl_gpu_time_end).
 */
/* Time limit in ms for operations of the gate's own, such as copies. */
#define KL_GPU_OWN_MS 20000
/* Added to the time limit of a subject's calls, in ms, for what the gate enqueues around them. */
#define KL_GPU_AROUND_MS 2000

/* A subject of the profile. */
struct kl_gpu_timed {
	bool there;                       /* false: not loaded */
	uint32_t bind[KL_GPU_TIME_CALLS]; /* slot of the binding to the set at each place */
	struct kl_gpu_baseline *vendor; /* a library's kernel or host code; NULL: `bind` is used */
	struct kl_cu_graph_exec *graph; /* graph of the last batch */
	bool no_graph;                  /* the calls cannot be captured as a graph */
};

/* Copies of the original contents of one set's inout tensors. */
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
	/* slots of the point's sets; an index into `set` and `pristine` is called a place */
	uint32_t nset, set[KL_GPU_TIME_CALLS];
	struct kl_gpu_pristine pristine[KL_GPU_TIME_CALLS];
	uint64_t key; /* key of the fingerprints */
	/* buffers on the device */
	struct kl_gpu_buffer prints; /* fingerprints: two words per call and tensor */
	struct kl_gpu_buffer stamps; /* two clock stamps per call */
	struct kl_gpu_buffer sink;   /* for fingerprints that are not used (kl_gpu_timing_touch) */
	struct kl_gpu_buffer bench;  /* what do_bench zeroes; allocated when first needed */
	struct kl_gpu_buffer spare;  /* for a tensor while it is exchanged */
	struct kl_cu_event *before[KL_GPU_TIME_CALLS], *after[KL_GPU_TIME_CALLS];
};

/* one fingerprint more than there are calls, for the answer that do_bench leaves at its end */
#define KL_GPU_PRINT_BYTES ((uint64_t)(KL_GPU_TIME_CALLS + 1) * KL_GPU_MAX_TENSORS * 16)
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
/** Find subject `who`. KL_EINVALID: there is none. */
int kl_gpu_timing_subject(struct kl_gpu_timed **out, struct kl_gpu_timing *timing, uint32_t who);
/** Check that the point has a set at this place. KL_EINVALID: it has none. */
int kl_gpu_timing_check_place(const struct kl_gpu_timing *timing, uint32_t place);
/** Find the set, or a subject's binding, at a place, which must have been checked. */
struct kl_gpu_set *kl_gpu_timing_set(const struct kl_gpu_timing *timing, uint32_t place);
struct kl_gpu_bound *kl_gpu_timing_bound(const struct kl_gpu_timing *timing,
					 const struct kl_gpu_timed *timed, uint32_t place);
/** Store the device addresses of a set's tensors in `at`; 0: not a tensor. */
void kl_gpu_timing_addresses(uint64_t at[KL_GPU_MAX_TENSORS], const struct kl_gpu_set *set);
/** Exchange the inputs at two places, and wait until that is done. */
int kl_gpu_timing_exchange(struct kl_gpu_timing *timing, const uint32_t place[2]);
void kl_gpu_timing_drop_graph(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed);

/* -- server_call.c: preparing, making and checking a call ----------------------------- */

/**
 * Prepare a call: restore inout tensors, prepare the subject and, if `poison`, poison outputs and
 * scratch. This and the functions below only enqueue their work, except those that settle, check or
 * read.
 */
int kl_gpu_timing_ready(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t place,
			uint64_t seed, bool poison);
/** Make the call itself. Returns 0, or the status with which one of its launches was refused. */
int kl_gpu_timing_launch(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t place,
			 int *which);
/** Finish a call: let a library convert its outputs to the contract's layout. */
int kl_gpu_timing_finish(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t place);
/** Read the inputs with a kernel of the gate, so that they are in the L2 cache if they fit. */
int kl_gpu_timing_touch(struct kl_gpu_timing *timing, uint32_t place);
/** Flush the L2 cache. Does not reset its persisting lines, since that can block on the stream. */
int kl_gpu_timing_flush(struct kl_gpu_timing *timing);
/** Fingerprint the outputs at `place` and store the fingerprints as those of call `call`. */
int kl_gpu_timing_print(struct kl_gpu_timing *timing, uint32_t call, uint32_t place);
/** Take the clock stamp before (`which` 0) or after (1) a call. */
int kl_gpu_timing_stamp(struct kl_gpu_timing *timing, uint32_t call, int which);
/** Return the number of launches in a call; for a library's kernel or host code an upper bound. */
size_t kl_gpu_timing_launches(const struct kl_gpu_timing *timing, const struct kl_gpu_timed *timed);
/**
 * Release the stream and wait for the enqueued calls. `rc` is the status of a refused launch, or 0.
 * Returns 0, and how->end says how the calls ended; or a negative error if the GPU itself fails.
 */
int kl_gpu_timing_settle(struct kl_gpu_timing *timing, struct kl_gpu_time_end *how,
			 const struct kl_gpu_timed *timed, int rc, int which, int64_t limit_ms);
/** Check the scratch of the calls on `n` places; *how and *r say if a call left it wrong. */
void kl_gpu_timing_check_scratch(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed,
				 const uint32_t *place, uint32_t n, struct kl_gpu_time_end *how,
				 struct kl_gpu_reply *r);
/** Read the fingerprints of `n` calls at the places `place`; print[i] combines those of call i. */
int kl_gpu_timing_read_prints(struct kl_gpu_timing *timing, const uint32_t *place, uint32_t n,
			      uint64_t (*print)[2]);
/** Compute the mean clock in MHz from the stamps of `n` calls; 0: unknown. */
int kl_gpu_timing_read_clock(struct kl_gpu_timing *timing, uint32_t n, double *mhz);
/** Return the time in ns between the events around a call; -1: unknown. */
double kl_gpu_timing_event_ns(struct kl_gpu_timing *timing, uint32_t call);

/* -- server_visit.c, server_clock.c: many calls ---------------------------------- */

/** Time calls, one by one or as a batch. */
int kl_gpu_timing_visit(struct kl_gpu_timing *timing, const struct kl_gpu_time_visit *visit,
			struct kl_gpu_time_visited *out);
/** Make ordinary calls back to back. */
int kl_gpu_timing_run(struct kl_gpu_timing *timing, const struct kl_gpu_time_run *run,
		      struct kl_gpu_time_ran *out);
/** Measure as Triton's do_bench does. */
int kl_gpu_timing_bench(struct kl_gpu_timing *timing, const struct kl_gpu_time_bench *bench,
			struct kl_gpu_time_benched *out);

#endif
