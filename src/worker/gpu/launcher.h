/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_LAUNCHER_H
#define KL_WORKER_GPU_LAUNCHER_H

#include "worker/gpu/baseline.h"
#include "worker/gpu/bind.h"

/*
 * launcher - host code of a candidate in the GPU process: klineage_launch of a shared object,
 * called with the device addresses of a set of tensors.
 *
 * It is the one thing of a candidate's that runs on a processor beside the driver, and it runs
 * where the driver needs system calls: so this is a weaker tier (docs/formats.md, "Host code").
 * What is done about it: the object was audited and cannot name anything but launches; nothing of
 * it runs before the process is sealed (seal.h); its own variables are put back before each call,
 * so that it remembers nothing; the process never sees a truth and times are held against the clock
 * of another. Whoever writes over the memory of this process can still lie about what happened in
 * it.
 *
 *	kl_gpu_launcher_open(&l, device, image, n, true);	true: what ran is looked at (trace.h)
 *	kl_gpu_launcher_restore(l);
 *	rc = kl_gpu_launcher_call(l, set, dims);		enqueued on the device's stream
 */
#define KL_GPU_LAUNCHER_DIMS 16

struct kl_gpu_trace;

struct kl_gpu_launcher {
	const struct kl_gpu_device *device; /* borrowed */
	void *lib;
	int (*entry)(void *const *in, void *const *out, void *stream);
	int64_t *dims;
	size_t nrange; /* its variables, and what they were after it was loaded */
	struct {
		unsigned char *at, *copy;
		size_t bytes;
	} range[8];
	struct kl_gpu_trace *trace; /* NULL: not wanted, or no CUPTI: `why` */
	unsigned closed;            /* what its process gave up for it: enum kl_gpu_closed */
	char why[200];
};

/**
 * KL_EINVALID: it cannot be loaded; KL_ECANNOT: no CUDA runtime here, or the process cannot be
 * sealed.
 */
int kl_gpu_launcher_open(struct kl_gpu_launcher **out, const struct kl_gpu_device *device,
			 const void *image, size_t n, bool trace);
void kl_gpu_launcher_free(struct kl_gpu_launcher *launcher);
KL_DEFINE_CLEANUP(struct kl_gpu_launcher *, kl_gpu_launcher_free)

void kl_gpu_launcher_restore(struct kl_gpu_launcher *launcher);
/** What klineage_launch returned. */
int kl_gpu_launcher_call(struct kl_gpu_launcher *launcher, const struct kl_gpu_set *set,
			 const int64_t dims[KL_GPU_LAUNCHER_DIMS]);
/** As something that can be timed: `layout` says which argument is what. `launcher` outlives it. */
struct kl_gpu_baseline *kl_gpu_launcher_timed(struct kl_gpu_launcher *launcher,
					      const struct kl_gpu_set *set,
					      const int64_t dims[KL_GPU_LAUNCHER_DIMS]);

#endif
