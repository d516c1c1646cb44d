/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_WALL_H
#define KL_WORKER_GPU_WALL_H

/*
 * wall - confines a GPU process for host code before the driver is opened: so it holds for the
 * driver's threads, too, and for whoever writes over their memory. By Landlock, files are read
 * where the system's and the vendor's libraries lie and written nowhere but to the GPU's devices
 * and its own entries of /proc; no other process is to be seen there. As root it is without any
 * capability.
 *
 * seal.h adds, once the driver runs, the system calls that nobody needs any more. Each says what it
 * has closed; the worker runs host code where all of it is, and its result says so
 * (docs/formats.md, "Host code").
 */
enum kl_gpu_closed {
	KL_GPU_CLOSED_CAPABILITIES = 1,
	KL_GPU_CLOSED_FILES = 2, /* by Landlock */
	KL_GPU_CLOSED_CALLS = 4, /* by seccomp: seal.h */
	KL_GPU_CLOSED_WALL = KL_GPU_CLOSED_CAPABILITIES | KL_GPU_CLOSED_FILES,
	KL_GPU_CLOSED_ALL = KL_GPU_CLOSED_WALL | KL_GPU_CLOSED_CALLS,
};

/**
 * *closed gains what this process has lost (enum kl_gpu_closed). KL_ECANNOT: this kernel has no Landlock of
 * ABI 2 (Linux 5.19), and host code is not run.
 */
int kl_gpu_wall(unsigned *closed);

#endif
