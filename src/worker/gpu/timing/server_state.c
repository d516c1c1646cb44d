/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/timing/server_state.h"

#include <string.h>

#include "base/error.h"
#include "worker/gpu/launcher.h"

/* values of CUdevice_attribute: memory clock in kHz, width of the memory bus in bits */
#define DEV_MEMORY_CLOCK 36
#define DEV_MEMORY_BITS 37

static void free_timing(struct kl_gpu_timing *timing)
{
	for (int i = 0; i < KL_GPU_TIME_CALLS; i++) {
		if (timing->before[i])
			timing->cu->event_destroy(timing->before[i]);
		if (timing->after[i])
			timing->cu->event_destroy(timing->after[i]);
	}
	kl_gpu_buffer_release(&timing->prints, timing->device);
	kl_gpu_buffer_release(&timing->stamps, timing->device);
	kl_gpu_buffer_release(&timing->sink, timing->device);
	kl_gpu_buffer_release(&timing->bench, timing->device);
	kl_gpu_buffer_release(&timing->spare, timing->device);
	kl_gpu_time_tool_close(&timing->tool);
	free(timing);
}
KL_DEFINE_CLEANUP(struct kl_gpu_timing *, free_timing)

static int make_memory(struct kl_gpu_timing *timing)
{
	const struct {
		struct kl_gpu_buffer *buffer;
		uint64_t bytes;
	} want[] = {
		{ &timing->prints, KL_GPU_PRINT_BYTES },
		{ &timing->stamps, KL_GPU_STAMP_BYTES },
		{ &timing->sink, 64 },
	};
	int err = 0;

	for (size_t i = 0; i < KL_ARRAY_SIZE(want) && err == 0; i++)
		err = kl_gpu_buffer_make(want[i].buffer, timing->device, want[i].bytes, 256, false);
	return err;
}

int kl_gpu_timing_open(struct kl_gpu_timing **out, struct kl_gpu_server *server)
{
	KL_AUTO(free_timingp) struct kl_gpu_timing *timing = NULL;
	int err, rc = 0;

	*out = server->time;
	if (*out)
		return 0;
	timing = kl_calloc(1, sizeof(*timing));
	timing->s = server;
	timing->device = server->device;
	timing->cu = server->cu;
	if ((err = kl_gpu_time_tool_open(&timing->tool, server->device)) < 0 ||
	    (err = make_memory(timing)) < 0 || (err = kl_gpu_flush_prepare(server->device)) < 0)
		return err;
	for (int i = 0; i < KL_GPU_TIME_CALLS && !rc; i++)
		if (!(rc = timing->cu->event_create(&timing->before[i], 0)))
			rc = timing->cu->event_create(&timing->after[i], 0);
	if (rc)
		return kl_gpu_error(timing->cu, rc, KL_EIO, "cannot create events");
	server->time = *out = kl_steal(&timing);
	return 0;
}

void kl_gpu_timing_drop_graph(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed)
{
	if (timed->graph)
		timing->cu->graph_exec_free(timed->graph);
	timed->graph = NULL;
}

static void drop_subject(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed)
{
	kl_gpu_timing_drop_graph(timing, timed);
	kl_gpu_baseline_free(timed->vendor);
	memset(timed, 0, sizeof(*timed));
}

struct kl_gpu_set *kl_gpu_timing_set(const struct kl_gpu_timing *timing, uint32_t place)
{
	return timing->s->set[timing->set[place]].set;
}

/* Return the memory's peak rate in bytes per ns, with two transfers per clock; 0 if unknown. */
static double peak_bandwidth(const struct kl_gpu_timing *timing)
{
	int khz = 0, bits = 0;

	if (timing->cu->device_attribute(&khz, DEV_MEMORY_CLOCK, timing->device->dev) ||
	    timing->cu->device_attribute(&bits, DEV_MEMORY_BITS, timing->device->dev))
		return 0;
	return 2.0 * khz * 1e3 * bits / 8 / 1e9;
}

int kl_gpu_timing_begin(struct kl_gpu_timing *timing, const struct kl_gpu_time_begin *begin,
			double *bytes_per_ns)
{
	struct kl_gpu_server_set *set;
	int err;

	*bytes_per_ns = peak_bandwidth(timing);

	for (int i = 0; i < KL_GPU_TIME_SUBJECTS; i++)
		drop_subject(timing, &timing->subject[i]);
	for (int i = 0; i < KL_GPU_TIME_CALLS; i++)
		for (int k = 0; k < KL_GPU_MAX_TENSORS; k++)
			if (timing->pristine[i].has[k]) {
				kl_gpu_buffer_release(&timing->pristine[i].copy[k], timing->device);
				timing->pristine[i].has[k] = false;
			}
	timing->nset = 0;
	if (begin->nset < 1 || begin->nset > KL_GPU_TIME_CALLS)
		return kl_error(KL_EINVALID,
				"a point has %u sets of tensors, which is out of range",
				begin->nset);
	for (uint32_t i = 0; i < begin->nset; i++) {
		if ((err = kl_gpu_server_get_set(&set, timing->s, begin->set[i])) < 0)
			return err;
		timing->set[i] = begin->set[i];
	}
	timing->nset = begin->nset;
	timing->key = begin->key;
	return 0;
}

int kl_gpu_timing_check_place(const struct kl_gpu_timing *timing, uint32_t place)
{
	if (place >= timing->nset || !kl_gpu_timing_set(timing, place))
		return kl_error(KL_EINVALID, "the point has no set of tensors %u", place);
	return 0;
}

int kl_gpu_timing_subject(struct kl_gpu_timed **out, struct kl_gpu_timing *timing, uint32_t who)
{
	if (who >= KL_GPU_TIME_SUBJECTS || !timing->subject[who].there)
		return kl_error(KL_EINVALID, "there is no subject %u to time", who);
	*out = &timing->subject[who];
	return 0;
}

int kl_gpu_timing_add_bound(struct kl_gpu_timing *timing, const struct kl_gpu_time_bound *bound)
{
	struct kl_gpu_bound *binding;
	struct kl_gpu_timed *timed = NULL;
	int err;

	if (bound->head.slot >= KL_GPU_TIME_SUBJECTS)
		return kl_error(KL_EINVALID, "there is no subject %u to time", bound->head.slot);
	timed = &timing->subject[bound->head.slot];
	drop_subject(timing, timed);
	for (uint32_t i = 0; i < timing->nset; i++) {
		if ((err = kl_gpu_server_get_bound(&binding, timing->s, bound->bind[i])) < 0)
			return err;
		if (timing->s->bind[bound->bind[i]].set != timing->set[i])
			return kl_error(KL_EINVALID, "binding %u belongs to another set",
					bound->bind[i]);
		timed->bind[i] = bound->bind[i];
	}
	timed->there = true;
	return 0;
}

void kl_gpu_timing_addresses(uint64_t at[KL_GPU_MAX_TENSORS], const struct kl_gpu_set *set)
{
	for (size_t i = 0; i < KL_GPU_MAX_TENSORS; i++)
		at[i] = i < set->n && set->layout[i].tensor ? set->buffer[i].at : 0;
}

int kl_gpu_timing_add_vendor(struct kl_gpu_timing *timing, const struct kl_gpu_time_vendor *vendor,
			     char what[96])
{
	uint64_t at[KL_GPU_MAX_TENSORS];
	struct kl_gpu_timed *timed = NULL;
	int err, rc;

	if (vendor->head.slot >= KL_GPU_TIME_SUBJECTS || !timing->nset)
		return kl_error(KL_EINVALID, "there is no subject %u to time", vendor->head.slot);
	if ((err = kl_gpu_timing_check_place(timing, 0)) < 0)
		return err;
	timed = &timing->subject[vendor->head.slot];
	drop_subject(timing, timed);
	kl_gpu_timing_addresses(at, kl_gpu_timing_set(timing, 0));
	if ((err = kl_gpu_baseline_open(&timed->vendor, &vendor->spec, timing->device, at)) < 0)
		return err;
	if ((rc = kl_gpu_wait(timing->device, KL_GPU_OWN_MS)))
		return kl_gpu_error(timing->cu, rc, KL_ECANNOT, "%s does not work here",
				    vendor->spec.name);
	memcpy(what, timed->vendor->what, 96);
	timed->there = true;
	return 0;
}

int kl_gpu_timing_add_launcher(struct kl_gpu_timing *timing,
			       const struct kl_gpu_time_launcher *launcher)
{
	struct kl_gpu_timed *timed = NULL;
	int err;

	if (launcher->head.slot >= KL_GPU_TIME_SUBJECTS || !timing->s->launcher)
		return kl_error(KL_EINVALID, "there is no host code for subject %u",
				launcher->head.slot);
	if ((err = kl_gpu_timing_check_place(timing, 0)) < 0)
		return err;
	timed = &timing->subject[launcher->head.slot];
	drop_subject(timing, timed);
	timed->vendor = kl_gpu_launcher_timed(timing->s->launcher, kl_gpu_timing_set(timing, 0),
					      launcher->dim);
	timed->there = true;
	return 0;
}

struct kl_gpu_bound *kl_gpu_timing_bound(const struct kl_gpu_timing *timing,
					 const struct kl_gpu_timed *timed, uint32_t place)
{
	return timing->s->bind[timed->bind[place]].bound;
}
