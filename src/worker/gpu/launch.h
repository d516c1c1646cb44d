/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_LAUNCH_H
#define KL_WORKER_GPU_LAUNCH_H

#include "worker/gpu/bind.h"

/*
 * launch - one launch of a binding: the bytes of its arguments, its configuration, and whether the
 * kernel takes them. A part of bind.c, which makes and frees what these fill:
 *
 *	kl_gpu_launch_map(b, d, i, quirks);	every tensor map of the plan
 *	kl_gpu_launch_put(&l, b);		arguments, which may hold maps
 *	kl_gpu_launch_configure(&l, d);
 *	kl_gpu_launch_find(l, n, b, d);		kernels; again after each load of the module
 */
struct kl_gpu_launch {
	const struct kl_plan_launch *plan;
	struct kl_cu_function *f;
	struct kl_cu_launch_config config;
	struct kl_cu_launch_attribute attr[3];
	unsigned char *store;        /* the arguments' bytes */
	void *arg[KL_PLAN_MAX_ARGS]; /* -> store */
	size_t size[KL_PLAN_MAX_ARGS];
};

struct kl_gpu_bound {
	struct kl_gpu_module *module;
	struct kl_gpu_set *set;
	struct kl_plan_at *at;
	unsigned generation; /* of the module that the functions are of */
	struct kl_gpu_buffer scratch[KL_PLAN_MAX_SCRATCH];
	uint64_t seed; /* of the scratch's slack */
	struct kl_cu_tensor_map map[KL_PLAN_MAX_MAPS];
	struct kl_gpu_launch *prepare, *launch;
	bool quirk;
};

/** Map i of the plan, encoded by the driver. KL_EINVALID: it is of no tensor, or refused. */
int kl_gpu_launch_map(struct kl_gpu_bound *bound, const struct kl_gpu_device *device, size_t i,
		      bool quirks);
/** KL_EINVALID: an argument or a relocation in it names no tensor, or does not fit. */
int kl_gpu_launch_put(struct kl_gpu_launch *launch, const struct kl_gpu_bound *bound);
void kl_gpu_launch_configure(struct kl_gpu_launch *launch, const struct kl_gpu_device *device);
/**
 * The kernels of n launches, each asked whether it takes what the plan gives: parameters, block,
 * cluster, cooperation. KL_EINVALID or KL_ECANNOT as bind.h says.
 */
int kl_gpu_launch_find(struct kl_gpu_launch *launch, size_t n, const struct kl_gpu_bound *bound,
		       const struct kl_gpu_device *device);

#endif
