/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_SEAL_H
#define KL_WORKER_GPU_SEAL_H

/*
 * seal - drops system calls of a GPU process before a candidate's host code runs in it.
 *
 * The driver still needs memory, its devices and its threads, so this filter is weaker than that of
 * worker/subject/seal.h. It ends the process (SIGSYS) when it starts a program or a process, opens
 * a socket, traces, sends a signal, or accesses the memory of another process. Files were closed to
 * it from the start (wall.h).
 */

/**
 * Apply the filter to all existing threads; adds KL_GPU_CLOSED_CALLS to *closed. KL_ECANNOT: the
 * system refuses seccomp.
 */
int kl_gpu_seal(unsigned *closed);

#endif
