/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_STAGE_PARTS_H
#define KL_WORKER_GPU_TIMING_STAGE_PARTS_H

#include "worker/gpu/nvml.h"
#include "worker/gpu/timing/client.h"
#include "worker/gpu/timing/stage.h"
#include "worker/measure/blocks.h"

/*
 * stage_parts - declares the state and the functions that the files of backend cuda's profile
 * share.
 *
 * stage.c profiles one point after the other, stage_visit.c makes a visit and judges its answers,
 * stage_ordinary.c times ordinary calls, stage_figures.c adds figures about the measurement.
 *
 * Functions that return an int return 0, a negative error, KL_PROFILE_FAILED if the candidate
 * failed, or KL_GPU_AGAIN_WITHOUT.
 */
/*
 * Result of a function: a subject other than the candidate ended the GPU process, so the point must
 * be profiled again without that subject.
 */
#define KL_GPU_AGAIN_WITHOUT 2

/*
 * Calls that take longer than this many ns are slow: one measurement in each block and one round of
 * ordinary calls are enough for them.
 */
#define KL_GPU_DEAR_NS 1e7
/* Error of the time between two events, in ns. */
#define KL_GPU_EVENT_NS 1000.0

/* Fingerprints of a subject's right answers, and the time of its calls. */
struct kl_gpu_known {
	uint64_t print[KL_GPU_TIMER_MEMBERS][2]; /* fingerprint of a right answer to each member */
	bool judged[KL_GPU_TIMER_MEMBERS];       /* whether print[member] is set */
	double ns;                               /* approximate time of a call; 0 if unknown */
	double mhz;                              /* sum of the clocks of `nmhz` visits */
	uint64_t nmhz;
};

struct kl_gpu_time {
	json_t *result, *notes, *points;
	const struct kl_job *job;
	const struct kl_point *point;
	struct kl_gpu_timer *timer;
	struct kl_gpu_nvml *nvml;
	struct kl_blocks blocks;
	struct kl_rng order, poison;
	struct kl_gpu_known known[KL_BLOCKS_SUBJECTS];
	bool there[KL_BLOCKS_SUBJECTS];
	bool batch, hot; /* time calls in batches; time calls with inputs in the L2 cache */
	size_t calls;    /* number of calls in a visit */
	double floor_ns; /* physical floor of a call; 0 if there is none */
	/* if `batch`: time of a single call between two events */
	double single_ns[KL_BLOCKS_SUBJECTS];
	/* bits KL_GPU_CLOCK_*: reasons for reduced clocks during the measurements */
	int64_t reasons;
	int late; /* number of calls that were not counted because the host was late */
};

/* -- stage_visit.c ------------------------------------------------------------------- */

/**
 * Return what is known about the answers of subject `who`. The candidate's second module shares the
 * entry of the first module, since both must give the same answers. With host code, the second
 * module has an entry of its own, since it is in another process, whose fingerprints have another
 * key.
 */
struct kl_gpu_known *kl_gpu_time_known(struct kl_gpu_time *timing, int who);
/**
 * Time `n` calls on the sets `which` and judge every answer; `warm` as for kl_gpu_timer_visit().
 * *ns is the time of one call, NAN if the host was late for every call.
 */
int kl_gpu_time_visit(struct kl_gpu_time *timing, int who, bool batch, const uint32_t *which,
		      size_t n, uint32_t warm, double *ns);
/**
 * Time calls like kl_gpu_time_visit(), on sets in random order; with `batch`, several batches.
 * Return KL_ECANNOT if the host was late in every attempt.
 */
int kl_gpu_time_measure(struct kl_gpu_time *timing, int who, bool batch, size_t calls, double *ns);
/**
 * Judge the answer that a call of `who` left in `set`: accept it if its fingerprint is that of a
 * right answer, else compare it in full.
 */
int kl_gpu_time_judge(struct kl_gpu_time *timing, int who, uint32_t set, const uint64_t print[2]);
/** Describe the bad end of calls in `out`. `message` comes from the reply to the calls. */
void kl_gpu_time_describe_end(struct kl_call *out, const struct kl_gpu_time_end *how,
			      const char *message);
/**
 * Handle the bad end of calls of `who` on `set`: fail the candidate if `who` is the candidate, else
 * note that the candidate is no longer compared with `who`.
 */
int kl_gpu_time_bad_end(struct kl_gpu_time *timing, int who, const struct kl_gpu_time_end *how,
			const char *message, uint32_t set);
/** Fail the candidate because its answers to the inputs in `set` differ in their bits. */
int kl_gpu_time_fickle(struct kl_gpu_time *timing, int who, uint32_t set);

/* -- stage_ordinary.c: figures of ordinary calls, in the point's report `at` ---------------- */

/**
 * Time ordinary calls back to back and judge the answers that they left. If the time of a call by
 * the host's clock differs from its time between events, add a note; if the time by the host's
 * clock is much longer, set the result to inconclusive. If an ordinary call takes much less time
 * than a call that finds cleaned memory, the ordinary call does less work, so fail the candidate.
 */
int kl_gpu_time_cross_check(struct kl_gpu_time *timing, json_t *at);
/**
 * If there is host code, compare the time of a call that its process reports with the time by the
 * worker's clock, and fail the candidate if the worker's time is much longer.
 */
int kl_gpu_time_check_outside(struct kl_gpu_time *timing, json_t *at);
/**
 * Time calls of `who` as Triton's do_bench does, judge their answers, and add the median time to
 * the figures of `who`. Fail the candidate if its calls are too short, as in
 * kl_gpu_time_cross_check().
 */
int kl_gpu_time_bench(struct kl_gpu_time *timing, json_t *at, int who);

/* -- stage_figures.c: other figures of the report ------------------------------------------- */

/** Return the object in report `at` for the figures of subject `who`; NULL if there is none. */
json_t *kl_gpu_time_place(const struct kl_gpu_time *timing, json_t *at, int who);
void kl_gpu_time_add_figures(struct kl_gpu_time *timing, json_t *at);
/**
 * Add notes about reduced clocks, and about calls that were not counted because the host was late.
 */
void kl_gpu_time_note_clocks(struct kl_gpu_time *timing);

#endif
