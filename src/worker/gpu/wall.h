/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_WALL_H
#define KL_WORKER_GPU_WALL_H

/*
 * wall - confines a GPU process that will run host code, before it opens the driver.
 *
 * Threads that the driver starts later inherit the confinement, which holds even if host code
 * overwrites their memory. Landlock limits reading to the libraries of the system and the vendor
 * and to some files of /etc, /sys and /proc. It limits writing to the GPU's devices, a few other
 * devices such as /dev/null, and the process's own directory in /proc. The process loses all
 * capabilities.
 *
 * Once the driver runs, kl_gpu_seal() also closes the system calls that are no longer needed. Both
 * functions report their success in bits of enum kl_gpu_closed. The worker runs host code only if
 * all bits are set, and the result lists them (docs/formats.md, "Host code").
 */
enum kl_gpu_closed {
	KL_GPU_CLOSED_CAPABILITIES = 1,
	KL_GPU_CLOSED_FILES = 2, /* by Landlock */
	KL_GPU_CLOSED_CALLS = 4, /* by seccomp: seal.h */
	KL_GPU_CLOSED_WALL = KL_GPU_CLOSED_CAPABILITIES | KL_GPU_CLOSED_FILES,
	KL_GPU_CLOSED_ALL = KL_GPU_CLOSED_WALL | KL_GPU_CLOSED_CALLS,
};

/**
 * Confine this process and set a bit of enum kl_gpu_closed in *closed for each step that succeeded.
 * Return KL_ECANNOT if the system has no Landlock of ABI 2 (Linux 5.19), or a step failed; host
 * code must then not run.
 */
int kl_gpu_wall(unsigned *closed);

#endif
