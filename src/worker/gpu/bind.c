/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/bind.h"

#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "worker/gpu/launch.h"

/* number for kl_rng_split() to derive the seed of scratch; set.c uses other numbers */
#define SCRATCH 2000

static int find_kernels(struct kl_gpu_bound *bound, const struct kl_gpu_device *device)
{
	int err;

	if (bound->generation == bound->module->generation)
		return 0;
	if ((err = kl_gpu_launch_find(bound->prepare, bound->at->nprepare, bound, device)) < 0 ||
	    (err = kl_gpu_launch_find(bound->launch, bound->at->nlaunch, bound, device)) < 0)
		return err;
	bound->generation = bound->module->generation;
	return 0;
}

/* -- creation and release ------------------------------------------------------------ */

/*
 * Report that scratch could not be allocated. Return KL_EINVALID if tensors and scratch need more
 * than 15/16 of the device's memory; the rest is for the context and code. Return KL_EIO if they
 * would fit, but other users of the device take too much of its memory.
 */
static int no_scratch(const struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
		      const char *name)
{
	uint64_t all = 0;

	for (size_t i = 0; i < bound->at->nscratch; i++)
		all += (uint64_t)bound->at->scratch[i].bytes;
	for (size_t i = 0; i < bound->set->n; i++)
		all += bound->set->layout[i].bytes;
	if (all < (uint64_t)device->facts.bytes / 16 * 15)
		return kl_error_in(KL_EIO, "scratch '%s'", name);
	return kl_error(KL_EINVALID,
			"scratch '%s': tensors and scratch need %llu bytes in total, but %s has "
			"%lld",
			name, (unsigned long long)all, device->facts.name,
			(long long)device->facts.bytes);
}

static int make_scratch(struct kl_gpu_bound *bound, const struct kl_gpu_device *device)
{
	int err;

	for (size_t i = 0; i < bound->at->nscratch; i++) {
		const struct kl_plan_scratch *scratch = &bound->at->scratch[i];
		uint64_t align = scratch->align > 8 ? (uint64_t)scratch->align : 8;

		err = kl_gpu_buffer_make(&bound->scratch[i], device, (uint64_t)scratch->bytes,
					 align, bound->set->right);
		if (err == KL_EIO)
			return no_scratch(bound, device, scratch->name);
		if (err < 0 || (err = kl_gpu_buffer_poison_slack(&bound->scratch[i], device,
								 kl_rng_split(bound->seed, i))) < 0)
			return kl_error_in(err, "scratch '%s'", scratch->name);
	}
	return 0;
}

static int make_launches(struct kl_gpu_launch **out, const struct kl_plan_launch *plan, size_t n,
			 const struct kl_gpu_bound *bound, const struct kl_gpu_device *device)
{
	int err;

	*out = kl_calloc(n + 1, sizeof(**out));
	for (size_t i = 0; i < n; i++)
		(*out)[i].plan = &plan[i];
	for (size_t i = 0; i < n; i++) {
		if ((err = kl_gpu_launch_put(&(*out)[i], bound)) < 0)
			return err;
		kl_gpu_launch_configure(&(*out)[i], device);
	}
	return 0;
}

static int build_args(struct kl_gpu_bound *bound, const struct kl_gpu_device *device, bool quirks)
{
	int err = make_scratch(bound, device);

	for (size_t i = 0; i < bound->at->nmap && err == 0; i++)
		err = kl_gpu_launch_map(bound, device, i, quirks);
	if (err < 0 ||
	    (err = make_launches(&bound->prepare, bound->at->prepare, bound->at->nprepare, bound,
				 device)) < 0 ||
	    (err = make_launches(&bound->launch, bound->at->launch, bound->at->nlaunch, bound,
				 device)) < 0)
		return err;
	return find_kernels(bound, device);
}

int kl_gpu_bound_make(struct kl_gpu_bound **out, const struct kl_gpu_device *device,
		      struct kl_gpu_module *module, struct kl_gpu_set *set, struct kl_plan_at *at,
		      bool quirks)
{
	struct kl_gpu_bound *bound;
	int err;

	/* a binding contains tensor maps, which must be aligned to 64 bytes */
	bound = aligned_alloc(64, (sizeof(*bound) + 63) / 64 * 64);
	if (!bound) {
		kl_plan_at_free(at);
		return kl_error(KL_EIO, "out of memory for a binding");
	}
	memset(bound, 0, sizeof(*bound));
	bound->module = module;
	bound->set = set;
	bound->at = at;
	bound->seed = kl_rng_split(set->slack_seed, SCRATCH);
	err = build_args(bound, device, quirks);
	if (err < 0) {
		kl_gpu_bound_free(bound, device);
		return err;
	}
	*out = bound;
	return 0;
}

static void free_launches(struct kl_gpu_launch *launch, size_t n)
{
	for (size_t i = 0; launch && i < n; i++)
		free(launch[i].store);
	free(launch);
}

void kl_gpu_bound_free(struct kl_gpu_bound *bound, const struct kl_gpu_device *device)
{
	if (!bound)
		return;
	free_launches(bound->prepare, bound->at->nprepare);
	free_launches(bound->launch, bound->at->nlaunch);
	for (size_t i = 0; i < bound->at->nscratch; i++)
		kl_gpu_buffer_release(&bound->scratch[i], device);
	kl_plan_at_free(bound->at);
	free(bound);
}

/* -- running -------------------------------------------------------------------------- */

/*
 * Fill the buffer with values that no kernel can use unnoticed: they are NaN as floats, and too
 * large as indices or addresses.
 */
static int poison_buffer(const struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device,
			 uint64_t seed)
{
	const struct kl_gpu_pattern pattern = { .seed = seed,
						.keep = 0x003fffff003fffffu,
						.set = 0x7f8000017f800001u };

	return kl_gpu_fill(device, buffer->at, buffer->bytes, buffer->at % 8, &pattern);
}

static int zero_buffer(const struct kl_gpu_buffer *buffer, const struct kl_gpu_device *device)
{
	return buffer->bytes % 4 || buffer->at % 4 ?
		       device->cu->set8(buffer->at, 0, buffer->bytes, device->stream) :
		       device->cu->set32(buffer->at, 0, buffer->bytes / 4, device->stream);
}

static int init_scratch(struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
			uint64_t seed)
{
	int err = 0, rc;

	for (size_t i = 0; i < bound->at->nscratch && err == 0; i++) {
		if ((err = kl_gpu_buffer_protect(&bound->scratch[i], device, false)) < 0)
			return err;
		if (bound->at->scratch[i].init != KL_PLAN_CARRY)
			err = poison_buffer(&bound->scratch[i], device, kl_rng_split(seed, i));
		else if ((rc = zero_buffer(&bound->scratch[i], device)))
			err = kl_gpu_error(device->cu, rc, KL_EIO, "cannot clear scratch '%s'",
					   bound->at->scratch[i].name);
	}
	return err;
}

int kl_gpu_bound_prepare(struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
			 uint64_t seed, int64_t limit_ms, int *ran)
{
	int err = find_kernels(bound, device), rc = 0;

	if (err < 0 || (err = init_scratch(bound, device, seed)) < 0)
		return err;
	if ((rc = device->cu->stream_sync(device->stream)))
		return kl_gpu_error(device->cu, rc, KL_EIO,
				    "the GPU failed before the plan's `prepare`");
	for (size_t i = 0; i < bound->at->nprepare; i++) {
		struct kl_gpu_launch *launch = &bound->prepare[i];

		if ((rc = device->cu->launch(&launch->config, launch->f, launch->arg, NULL)))
			return kl_gpu_error(device->cu, rc, KL_EINVALID,
					    "the driver refused prepare[%zu], kernel '%s'", i,
					    launch->plan->kernel);
	}
	*ran = rc = kl_gpu_wait(device, limit_ms);
	if (rc == KL_CU_NOT_READY || kl_gpu_is_fault(rc))
		return KL_ENO;
	if (rc)
		return kl_gpu_error(device->cu, rc, KL_EIO,
				    "the GPU failed in the plan's `prepare`");
	for (size_t i = 0; i < bound->at->nscratch && err == 0; i++)
		if (bound->at->scratch[i].init == KL_PLAN_PREPARE)
			err = kl_gpu_buffer_protect(&bound->scratch[i], device, true);
	return err;
}

int kl_gpu_bound_ready(struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
		       uint64_t seed, bool poison)
{
	int err = find_kernels(bound, device);

	for (size_t i = 0; i < bound->at->nscratch && poison && err == 0; i++)
		if (bound->at->scratch[i].init == KL_PLAN_POISON)
			err = poison_buffer(&bound->scratch[i], device, kl_rng_split(seed, i));
	return err;
}

int kl_gpu_bound_launch(const struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
			int *which)
{
	int rc;

	*which = -1;
	for (size_t i = 0; i < bound->at->nscratch; i++)
		if (bound->at->scratch[i].init == KL_PLAN_ZERO &&
		    (rc = zero_buffer(&bound->scratch[i], device)))
			return rc;
	for (size_t i = 0; i < bound->at->nlaunch; i++) {
		const struct kl_gpu_launch *launch = &bound->launch[i];

		*which = (int)i;
		/* the cast drops const, but the driver does not write to the arguments */
		if ((rc = device->cu->launch(&launch->config, launch->f,
					     (void **)(uintptr_t)launch->arg, NULL)))
			return rc;
	}
	return 0;
}

int kl_gpu_bound_check(const struct kl_gpu_bound *bound, const struct kl_gpu_device *device)
{
	uint64_t where = 0;
	int64_t at = 0;
	int err = 0;

	for (size_t i = 0; i < bound->at->nscratch; i++) {
		const struct kl_plan_scratch *scratch = &bound->at->scratch[i];

		err = kl_gpu_buffer_check_slack(&bound->scratch[i], device,
						kl_rng_split(bound->seed, i), &at);
		if (err == KL_ENO)
			return kl_error(KL_ENO, "wrote outside of scratch '%s': byte %lld of %lld",
					scratch->name, (long long)at, (long long)scratch->bytes);
		if (err == 0 && scratch->init == KL_PLAN_CARRY)
			err = kl_gpu_check_zero(device, bound->scratch[i].at,
						bound->scratch[i].bytes, &where);
		if (err == KL_ENO)
			return kl_error(
				KL_ENO,
				"left scratch '%s', which is carried from call to call, not "
				"zero: byte %llu",
				scratch->name, (unsigned long long)where);
		if (err < 0)
			return err;
	}
	return 0;
}

const char *kl_gpu_bound_kernel(const struct kl_gpu_bound *bound, int which)
{
	return which >= 0 && (size_t)which < bound->at->nlaunch ? bound->at->launch[which].kernel :
								  "";
}

const char *kl_gpu_bound_preparer(const struct kl_gpu_bound *bound)
{
	return bound->at->nprepare == 1 ? bound->at->prepare[0].kernel : "";
}

size_t kl_gpu_bound_launches(const struct kl_gpu_bound *bound)
{
	return bound->at->nlaunch;
}

bool kl_gpu_bound_quirk(const struct kl_gpu_bound *bound)
{
	return bound->quirk;
}
