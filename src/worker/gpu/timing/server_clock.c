/* SPDX-License-Identifier: Apache-2.0 */
/* server_clock - times calls back to back, and as do_bench times them */
#include "base/clock.h"
#include "base/error.h"
#include "worker/gpu/timing/server_state.h"

/* Bytes that Triton's do_bench zeroes before each call. */
#define BENCH_BYTES ((uint64_t)256 << 20)

static int ready_places(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t n,
			uint64_t seed, bool poison)
{
	int err = 0, rc;

	for (uint32_t i = 0; i < n && err == 0; i++)
		err = kl_gpu_timing_ready(timing, timed, i, seed + 2 * i, poison);
	if (err == 0 && (rc = kl_gpu_wait(timing->device, KL_GPU_OWN_MS)))
		err = kl_gpu_error(timing->cu, rc, KL_EIO, "the GPU failed before the timed calls");
	return err;
}

/* Fingerprint the outputs at the first `n` places into print[0] to print[n - 1]. */
static int print_places(struct kl_gpu_timing *timing, uint32_t n, uint64_t (*print)[2])
{
	uint32_t place[KL_GPU_TIME_CALLS];
	int err = 0;

	for (uint32_t i = 0; i < n && err == 0; i++) {
		place[i] = i;
		err = kl_gpu_timing_print(timing, i, i);
	}
	return err < 0 ? err : kl_gpu_timing_read_prints(timing, place, n, print);
}

/* -- calls back to back ------------------------------------------------------------------------ */

/* Return true if a call needs restored tensors: inout tensors, or outputs that must be zero. */
static bool must_restore(const struct kl_gpu_timing *timing)
{
	const struct kl_gpu_set *set = kl_gpu_timing_set(timing, 0);

	for (size_t i = 0; i < set->n; i++)
		if (timing->pristine[0].has[i] || set->layout[i].zeros)
			return true;
	return false;
}

/*
 * Return the number of calls to make: `wanted`, or fewer if a held stream accepts only fewer
 * operations, or if each call needs a restored set of its own.
 */
static uint32_t count_calls(const struct kl_gpu_timing *timing, const struct kl_gpu_timed *timed,
			    uint32_t wanted)
{
	size_t launches = kl_gpu_timing_launches(timing, timed);
	uint32_t most = (uint32_t)(KL_GPU_HOLD_OPS / (launches ? launches : 1));

	if (must_restore(timing) && most > timing->nset)
		most = timing->nset;
	if (most < 2)
		most = 2;
	return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

static int run_calls(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, int64_t limit_ms,
		     struct kl_gpu_time_ran *out)
{
	int64_t from;
	int err = kl_gpu_hold(&timing->tool), rc = 0, which = -1;

	if (err < 0)
		return err;
	timing->cu->event_record(timing->before[0], timing->device->stream);
	for (uint32_t i = 0; i < out->calls && !rc; i++)
		rc = kl_gpu_timing_launch(timing, timed, i % timing->nset, &which);
	timing->cu->event_record(timing->after[0], timing->device->stream);
	from = kl_clock_ns();
	err = kl_gpu_timing_settle(timing, &out->how, timed, rc, which, limit_ms);
	out->wall_ns = (double)(kl_clock_ns() - from);
	if (err == 0 && out->how.end == KL_GPU_CALL_OK)
		out->event_ns = kl_gpu_timing_event_ns(timing, 0);
	return err;
}

int kl_gpu_timing_run(struct kl_gpu_timing *timing, const struct kl_gpu_time_run *run,
		      struct kl_gpu_time_ran *out)
{
	struct kl_gpu_timed *timed = NULL;
	uint32_t place[KL_GPU_TIME_CALLS];
	int err = kl_gpu_timing_subject(&timed, timing, run->head.slot);

	if (err < 0)
		return err;
	out->calls = count_calls(timing, timed, run->calls);
	out->nprint = run->look ? run->look : out->calls;
	if (out->nprint > timing->nset)
		out->nprint = timing->nset;
	for (uint32_t i = 0; i < out->nprint; i++)
		place[i] = i;
	err = ready_places(timing, timed, out->nprint, run->seed, run->poison);
	if (err < 0 || (err = run_calls(timing, timed, run->limit_ms, out)) < 0 ||
	    out->how.end != KL_GPU_CALL_OK)
		return err;
	kl_gpu_timing_check_scratch(timing, timed, place, out->nprint, &out->how, &out->r);
	return print_places(timing, out->nprint, out->print);
}

/* -- calls as in do_bench ------------------------------------------------------------------- */

/*
 * Make a warm-up call. Restore tensors first, since the answer of the last warm-up call is
 * judged.
 */
static int warm_call(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, int *rc, int *which)
{
	int err = must_restore(timing) ? kl_gpu_timing_ready(timing, timed, 0, 0, false) : 0;

	if (err == 0)
		*rc = kl_gpu_timing_launch(timing, timed, 0, which);
	return err;
}

/*
 * Make one timed call as Triton's do_bench does: on the same buffers as all other calls, and after
 * zeroing 256 MiB, which empties the L2 cache and hides the latency of the launch. Unlike do_bench,
 * fingerprint the answer after the call.
 */
static int bench_call(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t call,
		      int *rc, int *which)
{
	int err = must_restore(timing) ? kl_gpu_timing_ready(timing, timed, 0, 0, false) : 0;

	if (err < 0)
		return err;
	timing->cu->set32(timing->bench.at, 0, BENCH_BYTES / 4, timing->device->stream);
	timing->cu->event_record(timing->before[call], timing->device->stream);
	*rc = kl_gpu_timing_launch(timing, timed, 0, which);
	timing->cu->event_record(timing->after[call], timing->device->stream);
	if (*rc || (err = kl_gpu_timing_finish(timing, timed, 0)) < 0)
		return err;
	return kl_gpu_timing_print(timing, call, 0);
}

static int bench_calls(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed,
		       const struct kl_gpu_time_bench *bench, struct kl_gpu_time_benched *out)
{
	int err = 0, rc = 0, which = -1;

	for (uint32_t i = 0; i < bench->warm && !rc && err == 0; i++)
		err = warm_call(timing, timed, &rc, &which);
	for (uint32_t i = 0; i < bench->calls && !rc && err == 0; i++)
		err = bench_call(timing, timed, i, &rc, &which);
	if (err == 0 && !rc && !bench->calls)
		err = kl_gpu_timing_finish(timing, timed, 0);
	if (err < 0)
		return err;
	err = kl_gpu_timing_settle(timing, &out->how, timed, rc, which, bench->limit_ms);
	for (uint32_t i = 0; i < bench->calls && err == 0 && out->how.end == KL_GPU_CALL_OK; i++)
		out->ns[i] = kl_gpu_timing_event_ns(timing, i);
	return err;
}

int kl_gpu_timing_bench(struct kl_gpu_timing *timing, const struct kl_gpu_time_bench *bench,
			struct kl_gpu_time_benched *out)
{
	const uint32_t first[KL_GPU_TIME_CALLS + 1] = { 0 };
	struct kl_gpu_timed *timed = NULL;
	int err = kl_gpu_timing_subject(&timed, timing, bench->head.slot);

	if (err == 0 && (bench->calls > KL_GPU_TIME_CALLS || bench->warm > KL_GPU_TIME_CALLS))
		err = kl_error(KL_EINVALID, "too many calls for do_bench: %u", bench->calls);
	if (err == 0 && !timing->bench.at)
		err = kl_gpu_buffer_make(&timing->bench, timing->device, BENCH_BYTES, 256, false);
	if (err < 0 || (err = ready_places(timing, timed, 1, bench->seed, bench->poison)) < 0 ||
	    (err = bench_calls(timing, timed, bench, out)) < 0 || out->how.end != KL_GPU_CALL_OK)
		return err;
	kl_gpu_timing_check_scratch(timing, timed, first, 1, &out->how, &out->r);
	if ((err = kl_gpu_timing_print(timing, bench->calls, 0)) < 0)
		return err;
	return kl_gpu_timing_read_prints(timing, first, bench->calls + 1, out->print);
}
