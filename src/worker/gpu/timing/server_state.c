/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/timing/server_state.h"

#include <string.h>

#include "base/error.h"
#include "worker/gpu/launcher.h"

/* CUdevice_attribute */
#define DEV_MEMORY_CLOCK 36
#define DEV_MEMORY_BITS 37

int kl_gpu_timing_memory(uint64_t *at, const struct kl_gpu_device *d, uint64_t bytes)
{
	struct kl_gpu_buffer b = { 0 };
	int err = kl_gpu_buffer_make(&b, d, bytes, 256, false);

	*at = b.at; /* lives as long as the context */
	return err;
}

int kl_gpu_timing_open(struct kl_gpu_timing **out, struct kl_gpu_serve *s)
{
	struct kl_gpu_timing *t = s->time;
	int err, rc = 0;

	if (t) {
		*out = t;
		return 0;
	}
	t = kl_calloc(1, sizeof(*t));
	t->s = s;
	t->device = s->device;
	t->cu = s->cu;
	if ((err = kl_gpu_time_tool_open(&t->tool, s->device)) < 0 ||
	    (err = kl_gpu_timing_memory(&t->prints, s->device, KL_GPU_PRINT_BYTES)) < 0 ||
	    (err = kl_gpu_timing_memory(&t->stamps, s->device, KL_GPU_STAMP_BYTES)) < 0 ||
	    (err = kl_gpu_timing_memory(&t->sink, s->device, 64)) < 0 ||
	    (err = kl_gpu_flush_prepare(s->device)) < 0)
		return err;
	for (int i = 0; i < KL_GPU_TIME_CALLS && !rc; i++)
		if (!(rc = t->cu->event_create(&t->before[i], 0)))
			rc = t->cu->event_create(&t->after[i], 0);
	if (rc)
		return kl_gpu_error(t->cu, rc, KL_EIO, "no events");
	s->time = *out = t;
	return 0;
}

void kl_gpu_timing_drop_graph(struct kl_gpu_timing *t, struct kl_gpu_timed *x)
{
	if (x->graph)
		t->cu->graph_exec_free(x->graph);
	x->graph = NULL;
}

static void drop_subject(struct kl_gpu_timing *t, struct kl_gpu_timed *x)
{
	kl_gpu_timing_drop_graph(t, x);
	kl_gpu_baseline_free(x->vendor);
	memset(x, 0, sizeof(*x));
}

struct kl_gpu_set *kl_gpu_timing_set(const struct kl_gpu_timing *t, uint32_t place)
{
	return t->s->set[t->set[place]].set;
}

/* Clock and width of the device memory, at two transfers a clock. */
static double peak_clock(const struct kl_gpu_timing *t)
{
	int khz = 0, bits = 0;

	if (t->cu->device_attribute(&khz, DEV_MEMORY_CLOCK, t->device->dev) ||
	    t->cu->device_attribute(&bits, DEV_MEMORY_BITS, t->device->dev))
		return 0;
	return 2.0 * khz * 1e3 * bits / 8 / 1e9;
}

int kl_gpu_timing_begin(struct kl_gpu_timing *t, const struct kl_gpu_time_begin *q,
			double *bytes_per_ns)
{
	struct kl_gpu_serve_set *set;
	int err;

	*bytes_per_ns = peak_clock(t);

	for (int i = 0; i < KL_GPU_TIME_SUBJECTS; i++)
		drop_subject(t, &t->subject[i]);
	for (int i = 0; i < KL_GPU_TIME_CALLS; i++)
		for (int k = 0; k < KL_GPU_MAX_TENSORS; k++)
			if (t->pristine[i].has[k]) {
				kl_gpu_buffer_release(&t->pristine[i].copy[k], t->device);
				t->pristine[i].has[k] = false;
			}
	t->nset = 0;
	if (q->nset < 1 || q->nset > KL_GPU_TIME_CALLS)
		return kl_error(KL_EINVALID, "%u sets of tensors to time with", q->nset);
	for (uint32_t i = 0; i < q->nset; i++) {
		if ((err = kl_gpu_serve_get_set(&set, t->s, q->set[i])) < 0)
			return err;
		t->set[i] = q->set[i];
	}
	t->nset = q->nset;
	t->key = q->key;
	return 0;
}

int kl_gpu_timing_check_place(const struct kl_gpu_timing *t, uint32_t place)
{
	if (place >= t->nset || !kl_gpu_timing_set(t, place))
		return kl_error(KL_EINVALID, "no set of tensors %u to time with", place);
	return 0;
}

int kl_gpu_timing_subject(struct kl_gpu_timed **out, struct kl_gpu_timing *t, uint32_t who)
{
	if (who >= KL_GPU_TIME_SUBJECTS || !t->subject[who].there)
		return kl_error(KL_EINVALID, "no subject %u to time", who);
	*out = &t->subject[who];
	return 0;
}

int kl_gpu_timing_add_bound(struct kl_gpu_timing *t, const struct kl_gpu_time_bound *q)
{
	struct kl_gpu_bound *b;
	struct kl_gpu_timed *x = NULL;
	int err;

	if (q->head.slot >= KL_GPU_TIME_SUBJECTS)
		return kl_error(KL_EINVALID, "no subject %u to time", q->head.slot);
	x = &t->subject[q->head.slot];
	drop_subject(t, x);
	for (uint32_t i = 0; i < t->nset; i++) {
		if ((err = kl_gpu_serve_get_bound(&b, t->s, q->bind[i])) < 0)
			return err;
		if (t->s->bind[q->bind[i]].set != t->set[i])
			return kl_error(KL_EINVALID, "binding %u is of another set", q->bind[i]);
		x->bind[i] = q->bind[i];
	}
	x->there = true;
	return 0;
}

void kl_gpu_timing_addresses(uint64_t at[KL_GPU_MAX_TENSORS], const struct kl_gpu_set *set)
{
	for (size_t i = 0; i < KL_GPU_MAX_TENSORS; i++)
		at[i] = i < set->n && set->layout[i].tensor ? set->buffer[i].at : 0;
}

int kl_gpu_timing_add_vendor(struct kl_gpu_timing *t, const struct kl_gpu_time_vendor *q,
			     char what[96])
{
	uint64_t at[KL_GPU_MAX_TENSORS];
	struct kl_gpu_timed *x = NULL;
	int err, rc;

	if (q->head.slot >= KL_GPU_TIME_SUBJECTS || !t->nset)
		return kl_error(KL_EINVALID, "no subject %u to time", q->head.slot);
	if ((err = kl_gpu_timing_check_place(t, 0)) < 0)
		return err;
	x = &t->subject[q->head.slot];
	drop_subject(t, x);
	kl_gpu_timing_addresses(at, kl_gpu_timing_set(t, 0));
	if ((err = kl_gpu_baseline_open(&x->vendor, &q->spec, t->device, at)) < 0)
		return err;
	if ((rc = kl_gpu_wait(t->device, KL_GPU_OWN_MS)))
		return kl_gpu_error(t->cu, rc, KL_ECANNOT, "%s does not work here", q->spec.name);
	memcpy(what, x->vendor->what, 96);
	x->there = true;
	return 0;
}

int kl_gpu_timing_add_launcher(struct kl_gpu_timing *t, const struct kl_gpu_time_launcher *q)
{
	struct kl_gpu_timed *x = NULL;
	int err;

	if (q->head.slot >= KL_GPU_TIME_SUBJECTS || !t->s->launcher)
		return kl_error(KL_EINVALID, "no host code for subject %u", q->head.slot);
	if ((err = kl_gpu_timing_check_place(t, 0)) < 0)
		return err;
	x = &t->subject[q->head.slot];
	drop_subject(t, x);
	x->vendor = kl_gpu_launcher_timed(t->s->launcher, kl_gpu_timing_set(t, 0), q->dim);
	x->there = true;
	return 0;
}

struct kl_gpu_bound *kl_gpu_timing_bound(const struct kl_gpu_timing *t,
					 const struct kl_gpu_timed *x, uint32_t place)
{
	return t->s->bind[x->bind[place]].bound;
}
