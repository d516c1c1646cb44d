/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_SEAL_H
#define KL_WORKER_GPU_SEAL_H

/*
 * seal - what a GPU process gives up before a candidate's host code runs in it. The driver goes on
 * to need memory, its devices and its threads, so the door is not shut as in seal.h: programs,
 * processes, sockets, tracing, other processes' memory and signals to them end the process
 * (SIGSYS). Files were out of its reach from the start (wall.h).
 */

/** All threads that there are; *closed gains KL_GPU_CLOSED_CALLS. KL_ECANNOT: seccomp is refused. */
int kl_gpu_seal(unsigned *closed);

#endif
