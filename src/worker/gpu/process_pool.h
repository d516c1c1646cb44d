/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_PROCESS_POOL_H
#define KL_WORKER_GPU_PROCESS_POOL_H

#include "worker/gpu/client.h"

/*
 * process_pool - locks the GPU that a job runs on and keeps the processes with its artefacts.
 *
 * Creating a CUDA context takes much longer than a call, so each artefact gets one process, which
 * is reused at other points with new buffers, a reloaded module and overwritten shared memory. All
 * builds of the oracle share one process, since they need no protection from each other. A process
 * that met a fault or a hang is never reused; after a hang, another process must find the GPU
 * healthy before anything else is sent to the GPU.
 *
 * The GPU stays locked, by its UUID, until kl_gpu_processes_free(); a second worker waits for it.
 * With several devices, the first free one that runs the job's architecture is used.
 *
 *	kl_gpu_processes_child(&c, job, "/dir/cand.cubin");	GPU locked, module in slot 0
 *	...
 *	kl_gpu_processes_put(job->gpu, c);
 */
struct kl_gpu_processes;

/*
 * Environment variable: UUID of a GPU that the worker's parent process has already locked. The
 * worker uses this GPU without locking it, and the GPU processes inherit the whole environment and
 * all open files, so that a profiling tool around the worker reaches these processes as well.
 */
#define KL_GPU_LOCKED "KLINEAGE_GPU_LOCKED"

/** Create a pool without a process or a locked GPU. Free it after the subjects of its job. */
struct kl_gpu_processes *kl_gpu_processes_new(void);
void kl_gpu_processes_free(struct kl_gpu_processes *processes);
KL_DEFINE_CLEANUP(struct kl_gpu_processes *, kl_gpu_processes_free)

/**
 * Get a process with the artefact at path `cubin` loaded; if `cubin` is NULL, get a process without
 * an artefact, into which the caller can load several. Return KL_ECANNOT if there is no GPU, no GPU
 * runs code for the job's architecture, or all GPUs that run such code are in use. Return
 * KL_EINVALID if the cubin cannot be loaded. Return KL_EIO if the GPU is not healthy after a hang.
 */
int kl_gpu_processes_child(struct kl_gpu_child **out, const struct kl_job *job, const char *cubin);
/**
 * Get the process of the oracle's builds, with `cubin` loaded in slot *module. The caller may use
 * slot *slot for one set of tensors and one binding to it. Errors are those of
 * kl_gpu_processes_child().
 */
int kl_gpu_processes_oracle(struct kl_gpu_child **out, uint32_t *module, uint32_t *slot,
			    const struct kl_job *job, const char *cubin);
/** Give the slot back and drop its set of tensors. */
void kl_gpu_processes_oracle_put(struct kl_gpu_processes *processes, uint32_t slot);
/**
 * Get a process that can load host code. Call kl_gpu_processes_walled() once the process has loaded
 * it.
 */
int kl_gpu_processes_host(struct kl_gpu_child **out, const struct kl_job *job);
/** Record that kl_gpu_child_launcher loaded host code into `child`. */
void kl_gpu_processes_walled(struct kl_gpu_processes *processes, const struct kl_gpu_child *child);
/**
 * Give `child` back. If it is alive and has an artefact, keep it for the next request for that
 * artefact; else free it, and probe the GPU if a kernel hung.
 */
void kl_gpu_processes_put(struct kl_gpu_processes *processes, struct kl_gpu_child *child);
/**
 * Kill `child`, which must not be used again. Do not wait for the end of the process, because the
 * driver takes long to end it. The pool waits before it opens another process, and before it is
 * freed.
 */
void kl_gpu_processes_drop(struct kl_gpu_processes *processes, struct kl_gpu_child *child);
/** Set result.device, driver, cc and gpu_notes from the GPU that was used, if one was used. */
void kl_gpu_processes_describe(json_t *result, const struct kl_gpu_processes *processes);
/**
 * Set result.wall of a job with host code: the number of processes that loaded host code, and the
 * confinement that all of them had (enum kl_gpu_closed).
 */
void kl_gpu_processes_describe_wall(json_t *result, const struct kl_gpu_processes *processes);
/** Return the facts of the chosen device; NULL if none is chosen yet. */
const struct kl_gpu_facts *kl_gpu_processes_facts(const struct kl_gpu_processes *processes);
/** Add an entry to gpu_notes, unless it is already there. */
void kl_gpu_processes_note(struct kl_gpu_processes *processes, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
