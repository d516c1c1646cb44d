/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_LAUNCH_NEEDS_H
#define KL_BACKEND_CUDA_LAUNCH_NEEDS_H

#include "base/buf.h"
#include "contract/launch.h"

/*
 * launch_needs - computes what a launch plan requires of the code: the sizes of grid, block,
 * arguments and shared memory of each launch at each point of the contract, on a device of the
 * plan's architecture. The audit compares these sizes with the cubin, and the facts take block
 * sizes and shared memory from them. The sizes are also written as a text, which is part of the
 * code digest: the text describes what the plan does at the judged points, independent of the names
 * and formulas in the plan.
 */
struct kl_cuda_launch {
	const char *kernel; /* borrowed from kl_cuda_wish.name */
	bool cooperative, pdl, prepare;
	size_t point; /* index of the point, for kl_contract_point() */
	size_t narg;
	int64_t size[KL_PLAN_MAX_ARGS]; /* bytes of each argument that the plan passes */
	/* threads per block; blocks per grid; blocks per cluster, 0 if there are no clusters */
	int64_t threads, blocks, cluster;
	/* blocks of the grid, and of a cluster, along each axis */
	uint32_t grid[3], extent[3];
	int64_t smem; /* bytes of dynamic shared memory */
};

/* The requirements that a launch plan places on the code. */
struct kl_cuda_wish {
	char arch[16]; /* "sm_90a" */
	struct kl_cuda_launch *launch;
	size_t nlaunch, alloc;
	/*
	 * each kernel once, in the order of the plan. `name` is its symbol or, before
	 * kl_cuda_wish_name() is called, its name in the plan. `planned` is its name in the plan,
	 * after that call.
	 */
	struct kl_strvec name, planned;
	/* all launches as text; each kernel is written as its index in `name` */
	struct kl_buf text;
};

/**
 * Compute the requirements of a launch plan, which must have been read for this contract. Return
 * KL_EINVALID or KL_ECANNOT if the plan cannot be resolved at a point. The message says why.
 */
int kl_cuda_wish_make(struct kl_cuda_wish *out, const struct kl_launch *launch,
		      const struct kl_contract *contract);
/**
 * Move the plan's names to `planned`, and set `name` to `symbol`, which has one for each kernel.
 */
void kl_cuda_wish_name(struct kl_cuda_wish *wish, const struct kl_strvec *symbol);
/** Return the plan's name of the kernel with this symbol, for messages and events; borrowed. */
const char *kl_cuda_wish_planned(const struct kl_cuda_wish *wish, const char *symbol);
void kl_cuda_wish_release(struct kl_cuda_wish *wish);

#endif
