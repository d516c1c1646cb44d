/* SPDX-License-Identifier: Apache-2.0 */
/* server_clock - times by the host's clock: the slope over calls, and Triton's do_bench */
#include "base/clock.h"
#include "base/error.h"
#include "base/stats.h"
#include "worker/gpu/timing/server_state.h"

/* What a library zeroes between calls in Triton's do_bench. */
#define BENCH_BYTES ((uint64_t)256 << 20)

/* -- by the clock -------------------------------------------------------------------------- */

/* n calls, one after the other over the sets: by our clock, from their release, and by events. */
static int run_of(struct kl_gpu_timing *t, struct kl_gpu_timed *x, uint32_t n,
		  struct kl_gpu_time_end *how, int64_t limit_ms, double *wall_ns, double *device_ns)
{
	int64_t from;
	int err = kl_gpu_hold(&t->tool), rc = 0, which = -1;

	if (err < 0)
		return err;
	t->cu->event_record(t->before[0], t->device->stream);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = kl_gpu_timing_launch(t, x, i % t->nset, &which);
	t->cu->event_record(t->after[0], t->device->stream);
	from = kl_clock_ns();
	err = kl_gpu_timing_settle(t, how, x, rc, which, limit_ms);
	*wall_ns = (double)(kl_clock_ns() - from);
	*device_ns = err == 0 && how->end == KL_GPU_CALL_OK ? kl_gpu_timing_event_ns(t, 0) : 0;
	return err;
}

static int ready_all(struct kl_gpu_timing *t, struct kl_gpu_timed *x, uint64_t seed)
{
	int err = 0, rc;

	for (uint32_t i = 0; i < t->nset && err == 0; i++)
		err = kl_gpu_timing_ready(t, x, i, seed);
	if (err == 0 && (rc = kl_gpu_wait(t->device, KL_GPU_OWN_MS)))
		err = kl_gpu_error(t->cu, rc, KL_EIO, "the GPU fails before it is timed");
	return err;
}

#define SLOPE_ROUNDS KL_GPU_TIME_SLOPE_ROUNDS

struct slope {
	double wall[2][SLOPE_ROUNDS], device[2][SLOPE_ROUNDS]; /* of n calls, of 2 n */
};

static int run_slopes(struct kl_gpu_timing *t, struct kl_gpu_timed *x,
		      const struct kl_gpu_time_slope *q, uint32_t calls, struct slope *s,
		      struct kl_gpu_time_end *how)
{
	int err = 0;

	for (uint32_t i = 0; i < q->rounds && err == 0; i++) {
		err = ready_all(t, x, t->key + i);
		for (int k = 0; k < 2 && err == 0; k++) {
			err = run_of(t, x, calls << k, how, q->limit_ms, &s->wall[k][i],
				     &s->device[k][i]);
			if (how->end != KL_GPU_CALL_OK)
				return err;
		}
	}
	return err;
}

/* What disturbs a processor makes it later, never earlier: the least times are compared. */
int kl_gpu_timing_slope(struct kl_gpu_timing *t, const struct kl_gpu_time_slope *q,
			struct kl_gpu_time_sloped *out)
{
	uint32_t calls = q->calls ? q->calls : 1;
	struct kl_gpu_timed *x = NULL;
	struct slope s;
	double spread;
	int err = kl_gpu_timing_subject(&x, t, q->head.slot);

	if (err == 0 && (q->rounds < 1 || q->rounds > SLOPE_ROUNDS))
		err = kl_error(KL_EINVALID, "%u rounds for a slope", q->rounds);
	/* as many as can be enqueued behind one hold */
	while (err == 0 && calls > 1 && 2 * calls * kl_gpu_timing_launches(t, x) > KL_GPU_HOLD_OPS)
		calls /= 2;
	if (err < 0 || (err = run_slopes(t, x, q, calls, &s, &out->how)) < 0 ||
	    out->how.end != KL_GPU_CALL_OK)
		return err;
	spread = kl_stats_median(s.wall[1], q->rounds) - s.wall[1][0]; /* sorted */
	kl_stats_median(s.wall[0], q->rounds);
	kl_stats_median(s.device[0], q->rounds);
	kl_stats_median(s.device[1], q->rounds);
	out->wall_ns = (s.wall[1][0] - s.wall[0][0]) / calls;
	out->event_ns = (s.device[1][0] - s.device[0][0]) / calls;
	out->spread_ns = spread / calls;
	return 0;
}

/* -- as others do it ------------------------------------------------------------------------ */

/*
 * Triton's do_bench: always the same buffers, warm-up calls without a flush, then each call behind
 * a zeroing of 256 MB, which also hides the launch; the median of event times. Nothing is checked.
 */
int kl_gpu_timing_bench(struct kl_gpu_timing *t, const struct kl_gpu_time_bench *q,
			struct kl_gpu_time_benched *out)
{
	KL_AUTO(kl_freep) double *ns = kl_calloc(q->calls ? q->calls : 1, sizeof(*ns));
	struct kl_gpu_timed *x = NULL;
	size_t n = 0;
	int err = kl_gpu_timing_subject(&x, t, q->head.slot), rc = 0, which = -1;

	if (err == 0 && (q->calls < 1 || q->calls > 1000 || q->warm > 1000))
		err = kl_error(KL_EINVALID, "%u calls for do_bench", q->calls);
	if (err == 0 && !t->bench)
		err = kl_gpu_timing_memory(&t->bench, t->device, BENCH_BYTES);
	if (err < 0 || (err = ready_all(t, x, t->key)) < 0)
		return err;
	for (uint32_t i = 0; i < q->warm && !rc; i++)
		rc = kl_gpu_timing_launch(t, x, 0, &which);
	for (uint32_t c = 0; c < q->calls && !rc; c += KL_GPU_TIME_CALLS) {
		uint32_t part = q->calls - c < KL_GPU_TIME_CALLS ? q->calls - c : KL_GPU_TIME_CALLS;

		for (uint32_t i = 0; i < part && !rc; i++) {
			t->cu->set32(t->bench, 0, BENCH_BYTES / 4, t->device->stream);
			t->cu->event_record(t->before[i], t->device->stream);
			rc = kl_gpu_timing_launch(t, x, 0, &which);
			t->cu->event_record(t->after[i], t->device->stream);
		}
		if ((err = kl_gpu_timing_settle(t, &out->how, x, rc, which, q->limit_ms)) < 0 ||
		    out->how.end != KL_GPU_CALL_OK)
			return err;
		for (uint32_t i = 0; i < part; i++)
			ns[n++] = kl_gpu_timing_event_ns(t, i);
	}
	if (rc)
		return kl_gpu_timing_settle(t, &out->how, x, rc, which, q->limit_ms);
	out->median_ns = kl_stats_median(ns, n);
	return 0;
}
