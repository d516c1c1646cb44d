/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_STAGE_PARTS_H
#define KL_WORKER_GPU_TIMING_STAGE_PARTS_H

#include "worker/gpu/nvml.h"
#include "worker/gpu/timing/client.h"
#include "worker/gpu/timing/stage.h"
#include "worker/measure/blocks.h"

/*
 * stage_parts - what the files of the profile of surface cuda share. stage.c goes from point to
 * point, stage_visit.c makes a visit and judges its answers, stage_figures.c has what stands beside
 * a time. They return 0, a negative error, what kl_profile_fail() returns when the candidate
 * failed, or:
 */
/* A comparison took the GPU process with it: once more, without it. */
#define KL_GPU_AGAIN_WITHOUT 2

/* When a call takes longer, one measurement a block is enough, and one round by the clock. */
#define KL_GPU_DEAR_NS 1e7
/* An event is off by this much. */
#define KL_GPU_EVENT_NS 1000.0

struct kl_gpu_known { /* a subject's judged answers */
	uint64_t print[KL_GPU_TIMER_MEMBERS][2];
	bool judged[KL_GPU_TIMER_MEMBERS];
	double ns; /* of a call, roughly */
	double mhz;
	uint64_t nmhz;
};

struct kl_gpu_time {
	json_t *result, *notes, *points;
	const struct kl_job *job;
	const struct kl_point *point;
	struct kl_gpu_timer *timer;
	struct kl_gpu_nvml *nvml;
	struct kl_blocks blocks;
	struct kl_rng rng;
	struct kl_gpu_known known[KL_BLOCKS_SUBJECTS];
	bool there[KL_BLOCKS_SUBJECTS];
	bool batch;
	size_t calls; /* of a visit */
	double floor_ns;
	double single_ns[KL_BLOCKS_SUBJECTS]; /* in a batch: what one call between events takes */
	int64_t reasons;                      /* clocks held back while it was measured */
	int late;
};

/* -- stage_visit.c ------------------------------------------------------------------- */

/** The candidate's second module answers as its first; each process has fingerprints of its own. */
struct kl_gpu_known *kl_gpu_time_known(struct kl_gpu_time *timing, int who);
/**
 * `n` timed calls on the sets `which`, each answer judged: *ns of one, NAN where the processor was
 * late.
 */
int kl_gpu_time_visit(struct kl_gpu_time *timing, int who, bool batch, const uint32_t *which,
		      size_t n, uint32_t warm, double *ns);
/** The same on drawn sets; who always is late cannot be timed: KL_ECANNOT. */
int kl_gpu_time_measure(struct kl_gpu_time *timing, int who, bool batch, size_t calls, double *ns);

/* -- stage_figures.c: what makes it believable, into the point's report `at` ------------- */

/** Is what events say what the clock says? If it is not, the result says that nothing is known. */
int kl_gpu_time_cross_check(struct kl_gpu_time *timing, json_t *at);
/** Host code: is it what the clock of this process says? */
int kl_gpu_time_check_outside(struct kl_gpu_time *timing, json_t *at);
/** As Triton's do_bench measures. */
int kl_gpu_time_bench(struct kl_gpu_time *timing, json_t *at, int who);
void kl_gpu_time_add_figures(struct kl_gpu_time *timing, json_t *at);
/** Notes: clocks that were held back, calls that did not count. */
void kl_gpu_time_note_clocks(struct kl_gpu_time *timing);

#endif
