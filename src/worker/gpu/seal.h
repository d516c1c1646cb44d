/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_SEAL_H
#define KL_WORKER_GPU_SEAL_H

/*
 * seal - forbids system calls to a GPU process before a candidate's host code runs in it.
 *
 * The driver still needs memory, its devices and its threads, so this filter is weaker than those
 * of worker/subject/seal.h. The filter kills the GPU process (SIGSYS) if it starts a program or a
 * process, opens a socket, traces a process, sends a signal to another process, or accesses the
 * memory of another process. Threads can still send signals to the threads of their own process,
 * which raise() and abort() need. Access to files is limited already when the GPU process starts (wall.h).
 */

/**
 * Apply the filter to all threads of this process and add KL_GPU_CLOSED_CALLS to *closed. Return
 * KL_ECANNOT if the system refuses seccomp.
 */
int kl_gpu_seal(unsigned *closed);

#endif
