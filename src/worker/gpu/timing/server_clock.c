/* SPDX-License-Identifier: Apache-2.0 */
/* server_clock - times by the host's clock: the slope over calls, and Triton's do_bench */
#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"
#include "base/stats.h"
#include "worker/gpu/timing/server_state.h"

/* Bytes that Triton's do_bench zeroes before each call. */
#define BENCH_BYTES ((uint64_t)256 << 20)

/* -- by the host's clock -------------------------------------------------------------------- */

/*
 * Run `n` calls back to back, cycling through the sets. *wall_ns: from their release, by the host's
 * clock; *device_ns: between events.
 */
static int run_calls(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t n,
		     struct kl_gpu_time_end *how, int64_t limit_ms, double *wall_ns,
		     double *device_ns)
{
	int64_t from;
	int err = kl_gpu_hold(&timing->tool), rc = 0, which = -1;

	if (err < 0)
		return err;
	timing->cu->event_record(timing->before[0], timing->device->stream);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = kl_gpu_timing_launch(timing, timed, i % timing->nset, &which);
	timing->cu->event_record(timing->after[0], timing->device->stream);
	from = kl_clock_ns();
	err = kl_gpu_timing_settle(timing, how, timed, rc, which, limit_ms);
	*wall_ns = (double)(kl_clock_ns() - from);
	*device_ns = err == 0 && how->end == KL_GPU_CALL_OK ? kl_gpu_timing_event_ns(timing, 0) : 0;
	return err;
}

static int ready_all(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint64_t seed)
{
	int err = 0, rc;

	for (uint32_t i = 0; i < timing->nset && err == 0; i++)
		err = kl_gpu_timing_ready(timing, timed, i, seed);
	if (err == 0 && (rc = kl_gpu_wait(timing->device, KL_GPU_OWN_MS)))
		err = kl_gpu_error(timing->cu, rc, KL_EIO, "the GPU failed before the timed calls");
	return err;
}

#define SLOPE_ROUNDS KL_GPU_TIME_SLOPE_ROUNDS

struct slope_times {
	double wall[2][SLOPE_ROUNDS], device[2][SLOPE_ROUNDS]; /* [0]: n calls, [1]: 2n */
};

static int run_slopes(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed,
		      const struct kl_gpu_time_slope *slope, uint32_t calls,
		      struct slope_times *times, struct kl_gpu_time_end *how)
{
	int err = 0;

	for (uint32_t i = 0; i < slope->rounds && err == 0; i++) {
		err = ready_all(timing, timed, kl_rng_split(timing->key, i));
		for (int k = 0; k < 2 && err == 0; k++) {
			err = run_calls(timing, timed, calls << k, how, slope->limit_ms,
					&times->wall[k][i], &times->device[k][i]);
			if (how->end != KL_GPU_CALL_OK)
				return err;
		}
	}
	return err;
}

/* Disturbances of the host only lengthen times, so the least ones are compared. */
int kl_gpu_timing_slope(struct kl_gpu_timing *timing, const struct kl_gpu_time_slope *slope,
			struct kl_gpu_time_sloped *out)
{
	uint32_t calls = slope->calls ? slope->calls : 1;
	struct kl_gpu_timed *timed = NULL;
	struct slope_times times;
	double spread;
	int err = kl_gpu_timing_subject(&timed, timing, slope->head.slot);

	if (err == 0 && (slope->rounds < 1 || slope->rounds > SLOPE_ROUNDS))
		err = kl_error(KL_EINVALID, "%u rounds for a slope", slope->rounds);
	/* at most as many as can be enqueued while the stream is held */
	while (err == 0 && calls > 1 &&
	       2 * calls * kl_gpu_timing_launches(timing, timed) > KL_GPU_HOLD_OPS)
		calls /= 2;
	if (err < 0 || (err = run_slopes(timing, timed, slope, calls, &times, &out->how)) < 0 ||
	    out->how.end != KL_GPU_CALL_OK)
		return err;
	/* sorted by kl_stats_median */
	spread = kl_stats_median(times.wall[1], slope->rounds) - times.wall[1][0];
	kl_stats_median(times.wall[0], slope->rounds);
	kl_stats_median(times.device[0], slope->rounds);
	kl_stats_median(times.device[1], slope->rounds);
	out->wall_ns = (times.wall[1][0] - times.wall[0][0]) / calls;
	out->event_ns = (times.device[1][0] - times.device[0][0]) / calls;
	out->spread_ns = spread / calls;
	return 0;
}

/* -- do_bench ------------------------------------------------------------------------------- */

/*
 * Triton's do_bench: always the same buffers, warm-up calls without a flush, then each call after
 * zeroing 256 MiB, which also hides the launch latency; the result is the median of event times.
 * Answers are not checked.
 */
int kl_gpu_timing_bench(struct kl_gpu_timing *timing, const struct kl_gpu_time_bench *bench,
			struct kl_gpu_time_benched *out)
{
	KL_AUTO(kl_freep) double *ns = kl_calloc(bench->calls ? bench->calls : 1, sizeof(*ns));
	struct kl_gpu_timed *timed = NULL;
	size_t n = 0;
	int err = kl_gpu_timing_subject(&timed, timing, bench->head.slot), rc = 0, which = -1;

	if (err == 0 && (bench->calls < 1 || bench->calls > 1000 || bench->warm > 1000))
		err = kl_error(KL_EINVALID, "%u calls for do_bench", bench->calls);
	if (err == 0 && !timing->bench)
		err = kl_gpu_timing_memory(&timing->bench, timing->device, BENCH_BYTES);
	if (err < 0 ||
	    (err = ready_all(timing, timed, kl_rng_split(timing->key, SLOPE_ROUNDS))) < 0)
		return err;
	for (uint32_t i = 0; i < bench->warm && !rc; i++)
		rc = kl_gpu_timing_launch(timing, timed, 0, &which);
	for (uint32_t first = 0; first < bench->calls && !rc; first += KL_GPU_TIME_CALLS) {
		uint32_t part = bench->calls - first < KL_GPU_TIME_CALLS ? bench->calls - first :
									   KL_GPU_TIME_CALLS;

		for (uint32_t i = 0; i < part && !rc; i++) {
			timing->cu->set32(timing->bench, 0, BENCH_BYTES / 4,
					  timing->device->stream);
			timing->cu->event_record(timing->before[i], timing->device->stream);
			rc = kl_gpu_timing_launch(timing, timed, 0, &which);
			timing->cu->event_record(timing->after[i], timing->device->stream);
		}
		if ((err = kl_gpu_timing_settle(timing, &out->how, timed, rc, which,
						bench->limit_ms)) < 0 ||
		    out->how.end != KL_GPU_CALL_OK)
			return err;
		for (uint32_t i = 0; i < part; i++)
			ns[n++] = kl_gpu_timing_event_ns(timing, i);
	}
	if (rc)
		return kl_gpu_timing_settle(timing, &out->how, timed, rc, which, bench->limit_ms);
	out->median_ns = kl_stats_median(ns, n);
	return 0;
}
