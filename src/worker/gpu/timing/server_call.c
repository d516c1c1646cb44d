/* SPDX-License-Identifier: Apache-2.0 */
/* server_call - makes a timed call: restores inputs, flushes L2, stamps clocks, hashes outputs */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "worker/gpu/timing/server_state.h"

/* A call of a library or of host code is assumed to enqueue at most this many operations. */
#define VENDOR_OPS 8

/*
 * Restore the original contents of the inout tensors, and zero the outputs that must be zero before
 * a call.
 */
static int restore_place(struct kl_gpu_timing *timing, uint32_t place)
{
	const struct kl_gpu_set *set = kl_gpu_timing_set(timing, place);
	int rc = 0;

	for (size_t i = 0; i < set->n && !rc; i++)
		if (timing->pristine[place].has[i])
			rc = timing->cu->copy(set->buffer[i].at, timing->pristine[place].copy[i].at,
					      set->layout[i].bytes, timing->device->stream);
	return rc ? kl_gpu_error(timing->cu, rc, KL_EIO, "cannot copy on the GPU") :
		    kl_gpu_set_zero(set, timing->device);
}

int kl_gpu_timing_ready(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t place,
			uint64_t seed, bool poison)
{
	uint64_t at[KL_GPU_MAX_TENSORS];
	int err = 0, rc;

	if (poison)
		err = kl_gpu_set_poison(kl_gpu_timing_set(timing, place), timing->device, seed);
	if (err < 0 || (err = restore_place(timing, place)) < 0)
		return err;
	if (!timed->vendor)
		return kl_gpu_bound_ready(kl_gpu_timing_bound(timing, timed, place), timing->device,
					  seed, poison);
	if (!timed->vendor->before)
		return 0;
	kl_gpu_timing_addresses(at, kl_gpu_timing_set(timing, place));
	rc = timed->vendor->before(timed->vendor, at);
	return rc ? kl_error(KL_EIO, "the library failed before the call: status %d", rc) : 0;
}

int kl_gpu_timing_finish(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t place)
{
	uint64_t at[KL_GPU_MAX_TENSORS];
	int rc;

	if (!timed->vendor || !timed->vendor->after)
		return 0;
	kl_gpu_timing_addresses(at, kl_gpu_timing_set(timing, place));
	rc = timed->vendor->after(timed->vendor, at);
	return rc ? kl_error(KL_EIO, "the library failed after the call: status %d", rc) : 0;
}

int kl_gpu_timing_launch(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed, uint32_t place,
			 int *which)
{
	uint64_t at[KL_GPU_MAX_TENSORS];

	*which = -1;
	if (!timed->vendor)
		return kl_gpu_bound_launch(kl_gpu_timing_bound(timing, timed, place),
					   timing->device, which);
	kl_gpu_timing_addresses(at, kl_gpu_timing_set(timing, place));
	return timed->vendor->run(timed->vendor, at);
}

int kl_gpu_timing_touch(struct kl_gpu_timing *timing, uint32_t place)
{
	const struct kl_gpu_set *set = kl_gpu_timing_set(timing, place);
	int err = 0;

	for (size_t i = 0; i < set->n && err == 0; i++)
		if (set->layout[i].tensor && !set->layout[i].output && set->layout[i].bytes)
			err = kl_gpu_fingerprint_to(timing->device, timing->sink.at,
						    set->buffer[i].at, set->layout[i].bytes, 0);
	return err;
}

int kl_gpu_timing_print(struct kl_gpu_timing *timing, uint32_t call, uint32_t place)
{
	const struct kl_gpu_set *set = kl_gpu_timing_set(timing, place);
	int err = 0;

	for (size_t i = 0; i < set->n && err == 0; i++)
		if (set->layout[i].tensor && set->layout[i].writable && set->layout[i].bytes)
			err = kl_gpu_fingerprint_to(
				timing->device,
				timing->prints.at + 16 * (call * KL_GPU_MAX_TENSORS + i),
				set->buffer[i].at, set->layout[i].bytes, timing->key);
	return err;
}

int kl_gpu_timing_stamp(struct kl_gpu_timing *timing, uint32_t call, int which)
{
	return kl_gpu_stamp_to(&timing->tool,
			       timing->stamps.at +
				       (2 * call + (uint64_t)which) * sizeof(struct kl_gpu_stamp));
}

/* -- ends, answers and times of calls --------------------------------------------------- */

size_t kl_gpu_timing_launches(const struct kl_gpu_timing *timing, const struct kl_gpu_timed *timed)
{
	return timed->vendor ? VENDOR_OPS :
			       kl_gpu_bound_launches(kl_gpu_timing_bound(timing, timed, 0));
}

static void note_end(struct kl_gpu_timing *timing, struct kl_gpu_time_end *how,
		     const struct kl_gpu_timed *timed, int end, int rc, int which)
{
	how->end = end;
	how->launch = end == KL_GPU_CALL_FAULT && kl_gpu_timing_launches(timing, timed) > 1 ? -1 :
											      which;
	if (rc && !timed->vendor)
		kl_gpu_driver_name(timing->cu, rc, how->name);
	else if (rc)
		snprintf(how->name, sizeof(how->name), "status %d", rc);
	if (!timed->vendor)
		snprintf(how->kernel, sizeof(how->kernel), "%s",
			 kl_gpu_bound_kernel(kl_gpu_timing_bound(timing, timed, 0), how->launch));
}

int kl_gpu_timing_settle(struct kl_gpu_timing *timing, struct kl_gpu_time_end *how,
			 const struct kl_gpu_timed *timed, int rc, int which, int64_t limit_ms)
{
	int ran;

	kl_gpu_release(&timing->tool);
	ran = kl_gpu_wait(timing->device, limit_ms + KL_GPU_AROUND_MS);
	if (ran == KL_CU_NOT_READY)
		note_end(timing, how, timed, KL_GPU_CALL_HANG, 0, which);
	else if (ran && kl_gpu_is_fault(ran))
		note_end(timing, how, timed, KL_GPU_CALL_FAULT, ran, which);
	else if (ran)
		return kl_gpu_error(timing->cu, ran, KL_EIO, "the GPU failed during timed calls");
	else if (rc)
		note_end(timing, how, timed, KL_GPU_CALL_REFUSED, rc, which);
	return 0;
}

void kl_gpu_timing_check_scratch(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed,
				 const uint32_t *place, uint32_t n, struct kl_gpu_time_end *how,
				 struct kl_gpu_reply *r)
{
	for (uint32_t i = 0; i < n && !timed->vendor; i++)
		if (kl_gpu_bound_check(kl_gpu_timing_bound(timing, timed, place[i]),
				       timing->device) == KL_ENO) {
			how->end = KL_GPU_CALL_SCRATCH;
			snprintf(r->message, sizeof(r->message), "%s", kl_error_last());
			kl_error_clear();
			return;
		}
}

static int read_back(struct kl_gpu_timing *timing, void *to, uint64_t from, size_t n)
{
	int rc = timing->cu->to_host(to, from, n, timing->device->stream);

	if (!rc)
		rc = timing->cu->stream_sync(timing->device->stream);
	return rc ? kl_gpu_error(timing->cu, rc, KL_EIO, "cannot read from the GPU") : 0;
}

int kl_gpu_timing_read_prints(struct kl_gpu_timing *timing, const uint32_t *place, uint32_t n,
			      uint64_t (*print)[2])
{
	KL_AUTO(kl_freep) uint64_t *all = kl_malloc(KL_GPU_PRINT_BYTES);
	int err = read_back(timing, all, timing->prints.at, (size_t)n * KL_GPU_MAX_TENSORS * 16);

	if (err < 0)
		return err;
	for (uint32_t call = 0; call < n; call++) {
		const struct kl_gpu_set *set = kl_gpu_timing_set(timing, place[call]);

		for (size_t i = 0; i < set->n; i++) {
			const uint64_t *one = all + 2 * (call * KL_GPU_MAX_TENSORS + i);

			if (!set->layout[i].tensor || !set->layout[i].writable ||
			    !set->layout[i].bytes)
				continue;
			print[call][0] = kl_gpu_mix(print[call][0] ^ one[0], i);
			print[call][1] = kl_gpu_mix(print[call][1] ^ one[1], i);
		}
	}
	return 0;
}

int kl_gpu_timing_read_clock(struct kl_gpu_timing *timing, uint32_t n, double *mhz)
{
	KL_AUTO(kl_freep) struct kl_gpu_stamp *stamp = kl_malloc(KL_GPU_STAMP_BYTES);
	uint64_t ns = 0, cycles = 0;
	int err = read_back(timing, stamp, timing->stamps.at, n * 2 * sizeof(*stamp));

	if (err < 0)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		if (!stamp[2 * i].clock || stamp[2 * i + 1].clock <= stamp[2 * i].clock ||
		    stamp[2 * i + 1].timer_ns <= stamp[2 * i].timer_ns)
			continue;
		ns += stamp[2 * i + 1].timer_ns - stamp[2 * i].timer_ns;
		cycles += stamp[2 * i + 1].clock - stamp[2 * i].clock;
	}
	*mhz = ns ? (double)cycles / (double)ns * 1e3 : 0;
	return 0;
}

double kl_gpu_timing_event_ns(struct kl_gpu_timing *timing, uint32_t call)
{
	float ms = 0;

	return timing->cu->event_ms(&ms, timing->before[call], timing->after[call]) ?
		       -1 :
		       (double)ms * 1e6;
}
