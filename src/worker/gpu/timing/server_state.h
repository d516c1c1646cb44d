/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_SERVER_STATE_H
#define KL_WORKER_GPU_TIMING_SERVER_STATE_H

#include "worker/gpu/server.h"
#include "worker/gpu/timing/tool.h"
#include "worker/gpu/timing/wire.h"

/*
 * server_state - keeps the profile's state in the GPU process and carries out its operations.
 *
 * The operations are those of wire.h; server.c receives their requests. A place is an index into
 * the sets of tensors of the point that is being profiled.
 *
 *	kl_gpu_timing_open(&t, s);		once; lives as long as the process
 *	kl_gpu_timing_begin(t, ...);		a point: its sets, no subjects yet
 *	kl_gpu_timing_add_bound(t, ...);	or _vendor, _launcher: adds a subject
 *	kl_gpu_timing_visit(t, ...);		timed calls of one subject
 *
 * An error ends the request, not the process. A subject's call that ends badly is not an error: the
 * reply describes it (struct kl_gpu_time_end).
 */
/* Time limit in ms for operations of the gate itself, such as copies. */
#define KL_GPU_OWN_MS 20000
/*
 * Time in ms that is added to the limit of a subject's calls for the operations that the gate
 * enqueues around them.
 */
#define KL_GPU_AROUND_MS 2000

/* A subject of the profile. */
struct kl_gpu_timed {
	bool there;                       /* false if not loaded */
	uint32_t bind[KL_GPU_TIME_CALLS]; /* bind[i]: slot of the binding to the set at place i */
	/* a library's kernel or host code; NULL for a plan (`bind`) */
	struct kl_gpu_baseline *vendor;
	struct kl_cu_graph_exec *graph; /* graph of the last batch */
	bool no_graph;                  /* capturing the calls as a graph has failed */
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
	/* set[i]: slot of the point's set at place i; pristine[i]: copies of its inout tensors */
	uint32_t nset, set[KL_GPU_TIME_CALLS];
	struct kl_gpu_pristine pristine[KL_GPU_TIME_CALLS];
	uint64_t key; /* key of the fingerprints */
	/* buffers on the device */
	struct kl_gpu_buffer prints; /* fingerprints: two words for each call and tensor */
	struct kl_gpu_buffer stamps; /* two clock stamps per call */
	struct kl_gpu_buffer sink;   /* for fingerprints that are not used (kl_gpu_timing_touch) */
	struct kl_gpu_buffer bench;  /* zeroed before calls of do_bench; allocated on demand */
	struct kl_gpu_buffer spare;  /* holds a tensor while two sets exchange their inputs */
	struct kl_cu_event *before[KL_GPU_TIME_CALLS], *after[KL_GPU_TIME_CALLS];
};

/*
 * Bytes of `prints`: one fingerprint for each call, and one for the answer that do_bench leaves at
 * its end.
 */
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
/** Find subject `who`. Return KL_EINVALID if there is no such subject. */
int kl_gpu_timing_subject(struct kl_gpu_timed **out, struct kl_gpu_timing *timing, uint32_t who);
/** Check that the point has a set at this place. Return KL_EINVALID if it has none. */
int kl_gpu_timing_check_place(const struct kl_gpu_timing *timing, uint32_t place);
/**
 * Return the set at a place. kl_gpu_timing_bound() returns a subject's binding to that set. Check
 * the place with kl_gpu_timing_check_place() first.
 */
struct kl_gpu_set *kl_gpu_timing_set(const struct kl_gpu_timing *timing, uint32_t place);
struct kl_gpu_bound *kl_gpu_timing_bound(const struct kl_gpu_timing *timing,
					 const struct kl_gpu_timed *timed, uint32_t place);
/** Store the device addresses of a set's tensors: at[i] is 0 if argument i is not a tensor. */
void kl_gpu_timing_addresses(uint64_t at[KL_GPU_MAX_TENSORS], const struct kl_gpu_set *set);
/** Exchange the inputs of the sets at two places, and wait until the copies are done. */
int kl_gpu_timing_exchange(struct kl_gpu_timing *timing, const uint32_t place[2]);
void kl_gpu_timing_drop_graph(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed);

/* -- server_call.c: preparing, making and checking a call ----------------------------- */

/**
 * Prepare a call: restore inout tensors, zero the outputs that must be zero, let a library convert
 * its inputs and, with `poison`, poison other outputs and scratch. This function and those below
 * only enqueue their work; those that settle, check or read also wait for it.
 */
int kl_gpu_timing_ready(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t place,
			uint64_t seed, bool poison);
/**
 * Make the call itself. Return 0, or the status with which a launch was refused. *which is the
 * index of the last launch that was tried; -1 if unknown.
 */
int kl_gpu_timing_launch(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t place,
			 int *which);
/** Finish a call: let a library convert its outputs to the contract's layout. */
int kl_gpu_timing_finish(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t place);
/** Read the inputs with a kernel of the gate, so that they are in the L2 cache if they fit. */
int kl_gpu_timing_touch(struct kl_gpu_timing *timing, uint32_t place);
/** Fingerprint the outputs of call number `call`, which was made on the set at `place`. */
int kl_gpu_timing_print(struct kl_gpu_timing *timing, uint32_t call, uint32_t place);
/** Take the clock stamp before a call (`which` is 0) or after it (`which` is 1). */
int kl_gpu_timing_stamp(struct kl_gpu_timing *timing, uint32_t call, int which);
/**
 * Return the number of launches in a call of the subject. If the subject is a library's kernel or
 * host code, this is an upper bound.
 */
size_t kl_gpu_timing_launches(const struct kl_gpu_timing *timing, const struct kl_gpu_timed *timed);
/**
 * Release the stream and wait for the enqueued calls. `rc` is 0, or the status with which launch
 * `which` was refused. Return 0, with the end of the calls in how->end, or a negative error if the
 * GPU itself fails.
 */
int kl_gpu_timing_settle(struct kl_gpu_timing *timing, struct kl_gpu_time_end *how,
			 const struct kl_gpu_timed *timed, int rc, int which, int64_t limit_ms);
/**
 * Check the scratch after calls on the sets at `n` places. If a call left it in a wrong state, set
 * how->end to KL_GPU_CALL_SCRATCH and describe the error in r->message.
 */
void kl_gpu_timing_check_scratch(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed,
				 const uint32_t *place, uint32_t n, struct kl_gpu_time_end *how,
				 struct kl_gpu_reply *r);
/**
 * Read the fingerprints of `n` calls, of which call i was made on the set at place[i]. print[i]
 * combines the fingerprints of that call's outputs.
 */
int kl_gpu_timing_read_prints(struct kl_gpu_timing *timing, const uint32_t *place, uint32_t n,
			      uint64_t (*print)[2]);
/** Compute the mean clock in MHz from the stamps of `n` calls; 0 if unknown. */
int kl_gpu_timing_read_clock(struct kl_gpu_timing *timing, uint32_t n, double *mhz);
/** Return the time in ns between the events around a call; -1 if unknown. */
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
