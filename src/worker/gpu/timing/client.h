/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_CLIENT_H
#define KL_WORKER_GPU_TIMING_CLIENT_H

#include "worker/gpu/client.h"
#include "worker/gpu/timing/wire.h"
#include "worker/measure/blocks.h"
#include "worker/pool/pool.h"

/*
 * client - loads the subjects of a point into GPU processes and times their calls.
 *
 * One GPU process holds the candidate twice (two modules of the same cubin), its parent, the
 * baseline, and several sets of tensors, to which the inputs of the pool's members are assigned in
 * turn. Subjects are numbered as in blocks.h.
 *
 * With host code (launcher.h) each subject has its own process, so that the candidate's code does
 * not run in a process that times another subject. Host code could make its own process report
 * false times, so these times are also compared with the worker's clock.
 *
 *	kl_gpu_timer_open(&t, job, point, member, nmember, wanted);
 *	kl_gpu_timer_visit(t, who, mode, which, n, seed, &visited)
 *	kl_gpu_timer_answer(t, which[i], got);		outputs of the last call on the set
 *	kl_gpu_timer_free(t);
 *
 * A subject other than the candidate that cannot be loaded is left out, with a note.
 */
#define KL_GPU_TIMER_MEMBERS 8

struct kl_gpu_timer {
	const struct kl_job *job; /* `job`, `point` and `member` are borrowed */
	const struct kl_point *point;
	const struct kl_member *member[KL_GPU_TIMER_MEMBERS];
	size_t nmember, nset; /* at first, set i holds the inputs of member i % nmember */
	/* one process per subject if there is host code, else only [0] */
	struct kl_gpu_child *child[KL_BLOCKS_SUBJECTS];
	int last; /* subject that was called last */
	/* time of one call, for time limits; 0 if unknown */
	double expected_ns[KL_BLOCKS_SUBJECTS];
	struct kl_gpu_host host[KL_GPU_TIMER_MEMBERS];
	struct kl_gpu_tensor_layout layout[KL_GPU_MAX_TENSORS];
	/* holds[child][set]: index in `member` of the inputs that the set holds */
	uint32_t holds[KL_BLOCKS_SUBJECTS][KL_GPU_TIME_CALLS];
	uint64_t bytes;                 /* bytes of one set */
	uint64_t l2;                    /* bytes of the L2 cache */
	double bytes_per_ns;            /* peak rate of the device memory; 0 if unknown */
	bool there[KL_BLOCKS_SUBJECTS]; /* whether the subject is loaded */
	/* library of the baseline: "cuBLAS 130100"; "" if it is not a library's kernel */
	char library[96];
	/* how a failed `prepare` ended; all zero if none failed */
	struct kl_gpu_time_end prepared;
};

/**
 * Start the processes and load the subjects for which `there` is set. If a subject other than the
 * candidate cannot be loaded, clear its `there` and add a note. Borrows `job`, `pt` and `member`.
 * Return KL_EINVALID if the candidate cannot be launched (how->end is KL_GPU_CALL_OK), or its
 * `prepare` faulted or hung (how->end says which). Return KL_ECANNOT if this GPU cannot run the
 * candidate.
 */
int kl_gpu_timer_open(struct kl_gpu_timer **out, struct kl_gpu_time_end *how,
		      const struct kl_job *job, const struct kl_point *pt,
		      const struct kl_member *const *member, size_t nmember,
		      bool there[KL_BLOCKS_SUBJECTS], json_t *notes);
void kl_gpu_timer_free(struct kl_gpu_timer *timer);
KL_DEFINE_CLEANUP(struct kl_gpu_timer *, kl_gpu_timer_free)

/** Return the name of subject `who` for notes and reports. */
const char *kl_gpu_timer_what(const struct kl_job *job, int who);
/**
 * Time `n` calls of subject `who`: call i uses set which[i]. In mode KL_GPU_TIME_HOT, each timed
 * call follows an untimed call on set `warm`. Return 0 even if a call ended badly: out->how says
 * how the calls ended. After a fault or a hang the process has ended.
 */
int kl_gpu_timer_visit(struct kl_gpu_timer *timer, int who, enum kl_gpu_time_mode mode,
		       const uint32_t *which, size_t n, uint32_t warm, uint64_t seed,
		       struct kl_gpu_time_visited *out);
/** Return the index of the member whose inputs `set` holds for subject `who`. */
uint32_t kl_gpu_timer_holds(const struct kl_gpu_timer *timer, int who, uint32_t set);
/** Exchange the inputs of two sets in the process of subject `who`. */
int kl_gpu_timer_exchange(struct kl_gpu_timer *timer, int who, uint32_t left, uint32_t right);
/**
 * Make up to `calls` ordinary calls (timing/wire.h) of subject `who` back to back, then fingerprint
 * the outputs in the first `look` sets (0 for the sets that were called). With `poison`, outputs
 * and scratch are poisoned before the first call.
 */
int kl_gpu_timer_run(struct kl_gpu_timer *timer, int who, uint32_t calls, uint32_t look,
		     bool poison, uint64_t seed, struct kl_gpu_time_ran *out);
/** Return true if all processes are still running. */
bool kl_gpu_timer_alive(const struct kl_gpu_timer *timer);
/**
 * Make a part of the calls that Triton's do_bench makes: `warm` untimed calls, then `calls` timed
 * ones, at most KL_GPU_TIME_CALLS of each, all on the first set. With `poison`, outputs and scratch
 * are poisoned before the first call.
 */
int kl_gpu_timer_bench(struct kl_gpu_timer *timer, int who, uint32_t warm, uint32_t calls,
		       bool poison, uint64_t seed, struct kl_gpu_time_benched *out);
/**
 * Fetch the outputs in `set` from the process of the subject that was called last. got[i] points to
 * the data of argument i; NULL if argument i is not a tensor. The data is valid until the next call
 * of any of these functions.
 */
int kl_gpu_timer_answer(struct kl_gpu_timer *timer, uint32_t set, const void **got);

#endif
