/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_LAUNCH_H
#define KL_WORKER_GPU_LAUNCH_H

#include "worker/gpu/bind.h"

/*
 * launch - sets up the launches of a binding and checks them against their kernels.
 *
 * Only bind.c calls these functions; it creates and frees the structures that they fill:
 *
 *	kl_gpu_launch_map(b, d, i, quirks);		encodes tensor map i of the plan
 *	kl_gpu_launch_put(&l, b);			stores arguments, which can contain maps
 *	kl_gpu_launch_configure(&l, d);
 *	kl_gpu_launch_find(l, n, b, d);			looks up kernels, after each module load
 */
struct kl_gpu_launch {
	const struct kl_plan_launch *plan;
	struct kl_cu_function *f;
	struct kl_cu_launch_config config;
	struct kl_cu_launch_attribute attr[3];
	unsigned char *store;        /* the bytes of all arguments; owned */
	void *arg[KL_PLAN_MAX_ARGS]; /* point into `store` */
	size_t size[KL_PLAN_MAX_ARGS];
};

struct kl_gpu_bound {
	struct kl_gpu_module *module;
	struct kl_gpu_set *set;
	struct kl_plan_at *at;
	unsigned generation; /* the module's generation when the kernels were looked up */
	struct kl_gpu_buffer scratch[KL_PLAN_MAX_SCRATCH];
	uint64_t seed; /* seed of the pattern in the scratch's slack */
	struct kl_cu_tensor_map map[KL_PLAN_MAX_MAPS];
	struct kl_gpu_launch *prepare, *launch;
	bool quirk;
};

/**
 * Have the driver encode tensor map i of the plan. Return KL_EINVALID if the map's tensor does not
 * exist, or the driver refuses the map.
 */
int kl_gpu_launch_map(struct kl_gpu_bound *bound, const struct kl_gpu_device *device, size_t i,
		      bool quirks);
/**
 * Store the bytes of a launch's arguments. Return KL_EINVALID if an argument or a relocation refers
 * to a tensor that the set does not have, or a relocation does not fit into its argument.
 */
int kl_gpu_launch_put(struct kl_gpu_launch *launch, const struct kl_gpu_bound *bound);
void kl_gpu_launch_configure(struct kl_gpu_launch *launch, const struct kl_gpu_device *device);
/**
 * Look up the kernels of n launches and check that each accepts its launch: parameters, block,
 * cluster, cooperative grid. KL_EINVALID or KL_ECANNOT as in bind.h.
 */
int kl_gpu_launch_find(struct kl_gpu_launch *launch, size_t n, const struct kl_gpu_bound *bound,
		       const struct kl_gpu_device *device);

#endif
