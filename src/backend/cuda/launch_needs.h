/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_LAUNCH_NEEDS_H
#define KL_BACKEND_CUDA_LAUNCH_NEEDS_H

#include "base/buf.h"
#include "contract/launch.h"

/*
 * launch_needs - what a launch plan requires of the code, as numbers: each launch at each point of
 * the contract, on a device of the plan's architecture. The audit compares these numbers with the
 * cubin, and the facts take block sizes and shared memory from them. Their text is part of the code
 * digest: it describes what the plan does at the judged points, independent of its names and
 * formulas.
 */
struct kl_cuda_launch {
	const char *kernel; /* borrowed from the wish */
	bool cooperative, pdl, prepare;
	size_t point; /* index for kl_contract_point() */
	size_t narg;
	int64_t size[KL_PLAN_MAX_ARGS];   /* bytes of each argument */
	int64_t threads, blocks, cluster; /* per block; per grid; blocks per cluster, 0: none */
	uint32_t grid[3], extent[3];      /* blocks; blocks of a cluster along each axis */
	int64_t smem;                     /* bytes of dynamic shared memory */
};

/* The requirements of a plan. */
struct kl_cuda_wish {
	char arch[16]; /* "sm_90a" */
	struct kl_cuda_launch *launch;
	size_t nlaunch, alloc;
	struct kl_strvec name; /* each kernel once, in the plan's order */
	struct kl_buf text;    /* the launches, with kernels by their index in `name` */
};

/** `launch` must have been read for this contract. */
int kl_cuda_wish_make(struct kl_cuda_wish *out, const struct kl_launch *launch,
		      const struct kl_contract *contract);
void kl_cuda_wish_release(struct kl_cuda_wish *wish);

#endif
