/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_SEAL_H
#define KL_WORKER_GPU_SEAL_H

#include <stdbool.h>

/*
 * gpu_seal - what a GPU process gives up before a candidate's host code runs in it. The driver goes on
 * to need memory, its devices and its threads, so the door is not shut as in seal.h: programs, processes,
 * sockets, tracing, other processes' memory and signals to them end the process (SIGSYS); files may be
 * read where the system's lie and written nowhere but the driver's devices, where the kernel has Landlock.
 */

/** KL_ECANNOT: seccomp is refused. `*files`: Landlock took effect. All threads that there are. */
int kl_gpu_seal(bool *files);

#endif
