/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_SEAL_H
#define KL_WORKER_GPU_SEAL_H

/*
 * seal - drops system calls of a GPU process before a candidate's host code runs in it.
 *
 * The driver still needs memory, its devices and its threads, so this filter is weaker than that of
 * worker/subject/seal.h: starting programs or processes, sockets, tracing, access to the memory of
 * other processes and signals to them end the process (SIGSYS). Files were closed to it from the
 * start (wall.h).
 */

/**
 * Apply the filter to all existing threads; adds KL_GPU_CLOSED_CALLS to *closed. KL_ECANNOT: the
 * system refuses seccomp.
 */
int kl_gpu_seal(unsigned *closed);

#endif
