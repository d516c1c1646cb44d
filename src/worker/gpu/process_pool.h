/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_PROCESS_POOL_H
#define KL_WORKER_GPU_PROCESS_POOL_H

#include "worker/gpu/client.h"

/*
 * process_pool - the GPU that a job runs on, and the processes that hold its artefacts.
 *
 * A CUDA context takes much longer to create than a call, so each artefact gets one process, which
 * is reused at other points with new buffers, a reloaded module and overwritten shared memory. The
 * builds of the oracle, which is trusted, share one. A process that met a fault or a hang is never
 * reused; after a hang, another process has to find the GPU healthy before anything else is sent to
 * it.
 *
 * The GPU is locked, by its UUID, until kl_gpu_processes_free(): a second worker waits. With
 * several devices, the first free one that runs the job's architecture is used.
 *
 *	kl_gpu_processes_child(&c, job, "/dir/cand.cubin");	opened, locked, the module in slot 0
 *	...
 *	kl_gpu_processes_put(job->gpu, c);
 */
struct kl_gpu_processes;

/*
 * Environment variable: UUID of a GPU that the calling process has locked already. It is used
 * without locking, and the GPU processes inherit the whole environment and all open files, so that
 * a profiling tool around the worker reaches them.
 */
#define KL_GPU_LOCKED "KLINEAGE_GPU_LOCKED"

/** Create an empty pool: no process, no locked GPU. Free it after the subjects of its job. */
struct kl_gpu_processes *kl_gpu_processes_new(void);
void kl_gpu_processes_free(struct kl_gpu_processes *processes);
KL_DEFINE_CLEANUP(struct kl_gpu_processes *, kl_gpu_processes_free)

/**
 * A process with this artefact loaded (NULL: an empty process, to load several into). KL_ECANNOT:
 * no GPU, none of the architecture, none free; KL_EINVALID: the cubin cannot be loaded; KL_EIO: the
 * GPU is not healthy after a hang.
 */
int kl_gpu_processes_child(struct kl_gpu_child **out, const struct kl_job *job, const char *cubin);
/**
 * The process of the oracle's builds, with `cubin` loaded in *module. *slot is free for a set of
 * tensors and for a binding of it. Errors as above.
 */
int kl_gpu_processes_oracle(struct kl_gpu_child **out, uint32_t *module, uint32_t *slot,
			    const struct kl_job *job, const char *cubin);
/** Give the slot back; its set of tensors is dropped. */
void kl_gpu_processes_oracle_put(struct kl_gpu_processes *processes, uint32_t slot);
/** A process without host code that can load it; call kl_gpu_processes_walled after loading. */
int kl_gpu_processes_host(struct kl_gpu_child **out, const struct kl_job *job);
/** Record that kl_gpu_child_launcher loaded host code into `child`. */
void kl_gpu_processes_walled(struct kl_gpu_processes *processes, const struct kl_gpu_child *child);
/**
 * Give `child` back: kept for the next request for its artefact if it is alive, else freed, and the
 * GPU probed if it hung.
 */
void kl_gpu_processes_put(struct kl_gpu_processes *processes, struct kl_gpu_child *child);
/**
 * Kill `child`, which nobody can use again, without waiting: the driver takes long to end it. Before
 * the next process is opened, and at the end, its end is waited for.
 */
void kl_gpu_processes_drop(struct kl_gpu_processes *processes, struct kl_gpu_child *child);
/** Set result.device, driver, cc and gpu_notes from the GPU that was used; nothing if none was. */
void kl_gpu_processes_describe(json_t *result, const struct kl_gpu_processes *processes);
/**
 * Set result.wall of a job with host code: number of processes that ran it, and what was closed to
 * all of them.
 */
void kl_gpu_processes_describe_wall(json_t *result, const struct kl_gpu_processes *processes);
/** Facts of the chosen device; NULL: none chosen yet. */
const struct kl_gpu_facts *kl_gpu_processes_facts(const struct kl_gpu_processes *processes);
/** Add an entry to gpu_notes, unless it is already there. */
void kl_gpu_processes_note(struct kl_gpu_processes *processes, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
