/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_PROCESS_POOL_H
#define KL_WORKER_GPU_PROCESS_POOL_H

#include "worker/gpu/client.h"

/*
 * process_pool - the GPU that a job runs on, and the processes that hold its artefacts.
 *
 * A CUDA context costs much more than a call, so a process is made once for each artefact
 * and used again at other points, with new buffers, a module loaded anew and shared memory
 * overwritten. One that met a fault or a hang is never used again; after a hang, another process
 * has to prove the GPU healthy before anything else is asked of it.
 *
 * The GPU is locked, by its UUID, for as long as the keep lives: a second worker
 * waits. Of several devices the first free one that runs the job's architecture is taken.
 *
 *	kl_gpu_processes_child(&c, job, "/dir/cand.cubin");	opened, locked, the module in slot 0
 *	...
 *	kl_gpu_processes_put(job->gpu, c);
 */
struct kl_gpu_processes;

/*
 * In the environment: the UUID of a GPU that is locked by who runs us. It is taken without a lock,
 * and the GPU processes get the whole environment and what files are open: a tool around us reaches
 * them so.
 */
#define KL_GPU_LOCKED "KLINEAGE_GPU_LOCKED"

/** Empty: no process started, no GPU locked. To be freed after the subjects of its job. */
struct kl_gpu_processes *kl_gpu_processes_new(void);
void kl_gpu_processes_free(struct kl_gpu_processes *keep);
KL_DEFINE_CLEANUP(struct kl_gpu_processes *, kl_gpu_processes_free)

/**
 * A process of its own for this artefact (NULL: an empty one, for whoever loads several).
 * KL_ECANNOT: no GPU, none of the architecture, none free; KL_EINVALID: the cubin cannot be loaded;
 * KL_EIO: after a hang the GPU was not well any more.
 */
int kl_gpu_processes_child(struct kl_gpu_child **out, const struct kl_job *job, const char *cubin);
/** An empty one that host code may be loaded into; kl_gpu_processes_walled says that it was. */
int kl_gpu_processes_host(struct kl_gpu_child **out, const struct kl_job *job);
/** Host code was loaded into `child` by kl_gpu_child_launcher. */
void kl_gpu_processes_walled(struct kl_gpu_processes *keep, const struct kl_gpu_child *child);
/** For the next who asks for its artefact, if it is alive; else it is buried, and the GPU probed. */
void kl_gpu_processes_put(struct kl_gpu_processes *keep, struct kl_gpu_child *child);
/** result.device, driver, cc and gpu_notes: of the GPU that was used; nothing where none was. */
void kl_gpu_processes_describe(json_t *result, const struct kl_gpu_processes *keep);
/**
 * result.wall of a job with host code: in how many processes it was, what was closed to all of
 * them.
 */
void kl_gpu_processes_describe_wall(json_t *result, const struct kl_gpu_processes *keep);
/** The facts of the locked device; NULL: none yet. */
const struct kl_gpu_facts *kl_gpu_processes_facts(const struct kl_gpu_processes *keep);
/** One more of gpu_notes, unless it is there. */
void kl_gpu_processes_note(struct kl_gpu_processes *keep, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
