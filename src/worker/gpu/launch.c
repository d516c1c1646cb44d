/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/launch.h"

#include <string.h>

#include "base/error.h"

#define MAP_BYTES sizeof(struct kl_cu_tensor_map)
/*
 * Drivers up to CUDA 13.1 set a wrong bit in the second word of the tensor map of a tensor that is
 * smaller than QUIRK_BYTES.
 */
#define QUIRK_DRIVER 13010
#define QUIRK_BYTES 131072
#define QUIRK_BIT ((uint64_t)1 << 21)

/*
 * Return the device address of a tensor or scratch plus `offset`; 0 if the set has no such tensor.
 */
static uint64_t arg_pointer(const struct kl_gpu_bound *bound, enum kl_plan_arg_kind kind, int index,
			    int64_t offset)
{
	if (kind == KL_PLAN_SCRATCH)
		return bound->scratch[index].at + (uint64_t)offset;
	if (kind != KL_PLAN_TENSOR || index < 0 || (size_t)index >= bound->set->n ||
	    !bound->set->layout[index].tensor)
		return 0;
	return bound->set->buffer[index].at + (uint64_t)offset;
}

int kl_gpu_launch_map(struct kl_gpu_bound *bound, const struct kl_gpu_device *device, size_t i,
		      bool quirks)
{
	const struct kl_plan_map *map = &bound->at->map[i];
	struct kl_cu_tensor_map *to = &bound->map[i];
	uint64_t at = arg_pointer(bound, map->of_scratch ? KL_PLAN_SCRATCH : KL_PLAN_TENSOR,
				  map->of, map->offset);
	int rc;

	if (!at)
		return kl_error(KL_EINVALID,
				"tensor map '%s' does not refer to a tensor of the set", map->name);
	if (map->kind == KL_PLAN_TILED)
		rc = device->cu->map_tiled(to, map->dtype, (uint32_t)map->rank,
					   (void *)(uintptr_t)at, map->dim, map->stride, map->box,
					   map->elem, map->interleave, map->swizzle, map->l2,
					   map->oob);
	else
		rc = device->cu->map_im2col(to, map->dtype, (uint32_t)map->rank,
					    (void *)(uintptr_t)at, map->dim, map->stride,
					    map->lower, map->upper, map->channels, map->pixels,
					    map->elem, map->interleave, map->swizzle, map->l2,
					    map->oob);
	if (rc)
		return kl_gpu_error(device->cu, rc, KL_EINVALID,
				    "the driver refuses tensor map '%s'", map->name);
	if (quirks && device->cu->version <= QUIRK_DRIVER && map->span > 0 &&
	    map->span < QUIRK_BYTES) {
		bound->quirk = bound->quirk || (to->word[1] & QUIRK_BIT);
		to->word[1] &= ~QUIRK_BIT;
	}
	return 0;
}

static size_t arg_size(const struct kl_plan_arg *arg)
{
	switch (arg->kind) {
	case KL_PLAN_MAP:
		return MAP_BYTES;
	case KL_PLAN_VALUE:
		return (size_t)arg->size;
	case KL_PLAN_BYTES:
		return arg->nblob;
	default:
		return sizeof(uint64_t);
	}
}

static int put_reloc(const struct kl_gpu_bound *bound, unsigned char *to, size_t size,
		     const struct kl_plan_reloc *reloc)
{
	size_t need = reloc->kind == KL_PLAN_MAP ? MAP_BYTES : sizeof(uint64_t);
	uint64_t at;

	if (reloc->at < 0 || (uint64_t)reloc->at > size || size - (uint64_t)reloc->at < need)
		return kl_error(KL_EINVALID,
				"a relocation at byte %lld reaches beyond the end of the argument",
				(long long)reloc->at);
	if (reloc->kind == KL_PLAN_MAP) {
		memcpy(to + reloc->at, &bound->map[reloc->index], MAP_BYTES);
		return 0;
	}
	at = arg_pointer(bound, reloc->kind, reloc->index, reloc->offset);
	if (!at)
		return kl_error(KL_EINVALID, "a relocation does not refer to a tensor");
	memcpy(to + reloc->at, &at, sizeof(at));
	return 0;
}

static int put_arg(const struct kl_gpu_bound *bound, unsigned char *to,
		   const struct kl_plan_arg *arg)
{
	uint64_t at = 0;
	int err = 0;

	switch (arg->kind) {
	case KL_PLAN_MAP:
		memcpy(to, &bound->map[arg->index], MAP_BYTES);
		break;
	case KL_PLAN_VALUE:
		memcpy(to, &arg->bits, (size_t)arg->size);
		break;
	case KL_PLAN_BYTES:
		memcpy(to, arg->blob, arg->nblob);
		for (size_t i = 0; i < arg->nreloc && err == 0; i++)
			err = put_reloc(bound, to, arg->nblob, &arg->reloc[i]);
		break;
	case KL_PLAN_NULL:
		memcpy(to, &at, sizeof(at));
		break;
	default:
		at = arg_pointer(bound, arg->kind, arg->index, arg->offset);
		if (!at)
			return kl_error(KL_EINVALID, "not a reference to a tensor");
		memcpy(to, &at, sizeof(at));
		break;
	}
	return err;
}

/* Align each argument to 64 bytes, as tensor maps require. */
int kl_gpu_launch_put(struct kl_gpu_launch *launch, const struct kl_gpu_bound *bound)
{
	const struct kl_plan_launch *plan = launch->plan;
	size_t total = 0;
	int err;

	for (size_t i = 0; i < plan->nargs; i++)
		total += (arg_size(&plan->arg[i]) + 63) / 64 * 64;
	launch->store = aligned_alloc(64, total + 64);
	if (!launch->store)
		return kl_error(KL_EIO, "out of memory for a kernel's arguments");
	total = 0;
	for (size_t i = 0; i < plan->nargs; i++) {
		launch->arg[i] = launch->store + total;
		launch->size[i] = arg_size(&plan->arg[i]);
		if ((err = put_arg(bound, launch->arg[i], &plan->arg[i])) < 0)
			return kl_error_in(err, "argument %zu of '%s'", i, plan->kernel);
		total += (launch->size[i] + 63) / 64 * 64;
	}
	return 0;
}

static void add_attribute(struct kl_gpu_launch *launch, struct kl_cu_launch_attribute attribute)
{
	launch->attr[launch->config.nattr++] = attribute;
}

void kl_gpu_launch_configure(struct kl_gpu_launch *launch, const struct kl_gpu_device *device)
{
	const struct kl_plan_launch *plan = launch->plan;

	memcpy(launch->config.grid, plan->grid, sizeof(launch->config.grid));
	memcpy(launch->config.block, plan->block, sizeof(launch->config.block));
	launch->config.smem = (unsigned)plan->smem;
	launch->config.stream = device->stream;
	launch->config.attr = launch->attr;
	if (plan->cooperative)
		add_attribute(launch,
			      (struct kl_cu_launch_attribute){ .id = KL_CU_LAUNCH_COOPERATIVE,
							       .value.cooperative = 1 });
	if (plan->cluster[0])
		add_attribute(launch, (struct kl_cu_launch_attribute){
					      .id = KL_CU_LAUNCH_CLUSTER,
					      .value.cluster = { plan->cluster[0], plan->cluster[1],
								 plan->cluster[2] } });
	if (plan->pdl)
		add_attribute(launch, (struct kl_cu_launch_attribute){ .id = KL_CU_LAUNCH_PDL,
								       .value.pdl = 1 });
}

/* -- checks that the kernel accepts the launch ------------------------------------ */

static int check_params(const struct kl_gpu_launch *launch, const struct kl_gpu_device *device)
{
	const char *kernel = launch->plan->kernel;
	size_t offset, size, n = 0;

	while (!device->cu->func_param(launch->f, n, &offset, &size)) {
		if (n >= launch->plan->nargs)
			return kl_error(KL_EINVALID,
					"'%s' has more than the %zu parameters that the plan "
					"passes",
					kernel, launch->plan->nargs);
		if (size != launch->size[n])
			return kl_error(KL_EINVALID,
					"'%s' has a parameter %zu of %zu bytes, but the plan "
					"passes %zu",
					kernel, n, size, launch->size[n]);
		n++;
	}
	if (n < launch->plan->nargs)
		return kl_error(KL_EINVALID, "'%s' has %zu parameters, but the plan passes %zu",
				kernel, n, launch->plan->nargs);
	return 0;
}

static int func_attribute(const struct kl_gpu_launch *launch, const struct kl_gpu_device *device,
			  int which)
{
	int value = 0;

	return device->cu->func_get(&value, which, launch->f) ? 0 : value;
}

static int check_block(const struct kl_gpu_launch *launch, const struct kl_gpu_device *device)
{
	const struct kl_plan_launch *plan = launch->plan;
	uint64_t threads = (uint64_t)plan->block[0] * plan->block[1] * plan->block[2];
	int max_threads = func_attribute(launch, device, KL_CU_FUNC_MAX_THREADS);
	int static_smem = func_attribute(launch, device, KL_CU_FUNC_STATIC_SMEM), rc;

	if (max_threads > 0 && threads > (uint64_t)max_threads)
		return kl_error(
			KL_EINVALID,
			"'%s' is launched with blocks of %llu threads, but its registers or launch "
			"bounds allow only %d",
			plan->kernel, (unsigned long long)threads, max_threads);
	if (plan->smem + static_smem > device->facts.smem_optin)
		return kl_error(
			KL_EINVALID,
			"'%s' needs %lld bytes of shared memory (%d of them static), but a block "
			"can have at most %lld",
			plan->kernel, (long long)plan->smem + static_smem, static_smem,
			(long long)device->facts.smem_optin);
	if (plan->smem > func_attribute(launch, device, KL_CU_FUNC_MAX_DYNAMIC_SMEM) &&
	    (rc = device->cu->func_set(launch->f, KL_CU_FUNC_MAX_DYNAMIC_SMEM, (int)plan->smem)))
		return kl_gpu_error(device->cu, rc, KL_EINVALID,
				    "'%s' cannot use %lld bytes of shared memory", plan->kernel,
				    (long long)plan->smem);
	return 0;
}

static int check_cluster(const struct kl_gpu_launch *launch, const struct kl_gpu_device *device)
{
	const struct kl_plan_launch *plan = launch->plan;
	int n = 0, rc;

	if (!plan->cluster[0])
		return 0;
	if (!device->facts.cluster)
		return kl_error(KL_ECANNOT, "%s does not support clusters, which '%s' needs",
				device->facts.name, plan->kernel);
	for (int i = 0; i < 3; i++)
		if (!plan->cluster[i] || plan->grid[i] % plan->cluster[i])
			return kl_error(
				KL_EINVALID,
				"'%s': the grid of %u is not a multiple of the cluster of %u",
				plan->kernel, plan->grid[i], plan->cluster[i]);
	if (plan->nonportable &&
	    (rc = device->cu->func_set(launch->f, KL_CU_FUNC_NONPORTABLE_CLUSTER, 1)))
		return kl_gpu_error(device->cu, rc, KL_EINVALID,
				    "'%s' cannot use a cluster of more than 8 blocks",
				    plan->kernel);
	rc = device->cu->clusters(&n, launch->f, &launch->config);
	if (rc || n < 1)
		return kl_error(KL_EINVALID,
				"no cluster of %u x %u x %u blocks of '%s' fits on the device",
				plan->cluster[0], plan->cluster[1], plan->cluster[2], plan->kernel);
	return 0;
}

static int check_cooperative(const struct kl_gpu_launch *launch, const struct kl_gpu_device *device)
{
	const struct kl_plan_launch *plan = launch->plan;
	uint64_t blocks = (uint64_t)plan->grid[0] * plan->grid[1] * plan->grid[2];
	int n = 0, rc;

	if (!plan->cooperative)
		return 0;
	rc = device->cu->occupancy(&n, launch->f,
				   (int)(plan->block[0] * plan->block[1] * plan->block[2]),
				   (size_t)plan->smem);
	if (rc)
		return kl_gpu_error(device->cu, rc, KL_EINVALID, "'%s' cannot be launched",
				    plan->kernel);
	if (blocks > (uint64_t)n * (uint64_t)device->facts.sms)
		return kl_error(KL_EINVALID,
				"'%s' is a cooperative launch of %llu blocks, but only %llu fit on "
				"the device at once",
				plan->kernel, (unsigned long long)blocks,
				(unsigned long long)n * (unsigned long long)device->facts.sms);
	return 0;
}

int kl_gpu_launch_find(struct kl_gpu_launch *launch, size_t n, const struct kl_gpu_bound *bound,
		       const struct kl_gpu_device *device)
{
	int err, rc;

	for (size_t i = 0; i < n; i++) {
		rc = device->cu->module_function(&launch[i].f, bound->module->handle,
						 launch[i].plan->symbol);
		if (rc == KL_CU_NOT_FOUND)
			return kl_error(KL_EINVALID, "the cubin has no kernel '%s'",
					launch[i].plan->kernel);
		if (rc)
			return kl_gpu_error(device->cu, rc, KL_EINVALID, "cannot get kernel '%s'",
					    launch[i].plan->kernel);
		if ((err = check_params(&launch[i], device)) < 0 ||
		    (err = check_block(&launch[i], device)) < 0 ||
		    (err = check_cluster(&launch[i], device)) < 0 ||
		    (err = check_cooperative(&launch[i], device)) < 0)
			return err;
	}
	return 0;
}
