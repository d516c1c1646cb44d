/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_LAUNCHER_H
#define KL_WORKER_GPU_LAUNCHER_H

#include "image/image_map.h"
#include "worker/gpu/baseline.h"
#include "worker/gpu/bind.h"

/*
 * launcher - a candidate's host code in the GPU process.
 *
 * Maps an image (image/image.h) and calls its klineage_launch with the device addresses of a set of
 * tensors.
 *
 * No other code of a candidate runs in the process of the driver. The driver needs system calls
 * there, so host code is confined less and has a weaker tier (docs/formats.md, "Host code").
 * Countermeasures: the object was audited and can refer to nothing but launches, which this process
 * checks again by the names that the image imports; the image is mapped when the process is sealed
 * (seal.h), and its first code, the registration of its kernels, runs then; its variables are
 * restored before each call, so that it keeps no state, but for the ordinary calls that are made to
 * see whether it does; the process never sees a truth; and its times are checked against the clock
 * of another process. Code that overwrites the memory of this process can still report false
 * results.
 *
 *	kl_gpu_launcher_open(&l, device, &file, true);	true: record what ran (trace.h)
 *	kl_gpu_launcher_restore(l);
 *	rc = kl_gpu_launcher_call(l, set, dims);		enqueued on the device's stream
 */
#define KL_GPU_LAUNCHER_DIMS 16

struct kl_gpu_trace;

struct kl_gpu_launcher {
	const struct kl_gpu_device *device; /* borrowed */
	void *lib[8];                       /* what it can import from; NULL: not here */
	size_t nlib;
	struct kl_image_mapped image;
	int (*entry)(void *const *in, void *const *out, void *stream);
	int64_t *dims;
	unsigned char *copy;        /* of its variables, right after its kernels were registered */
	struct kl_gpu_trace *trace; /* NULL: not requested, or no CUPTI (see `why`) */
	unsigned closed;            /* what was closed to the process for it: enum kl_gpu_closed */
	char why[200];
};

/* An image: its file, and the file's bytes in memory. */
struct kl_gpu_launcher_file {
	int fd;
	const void *bytes;
	size_t n;
};

/**
 * Seal the process and map host code. `device` is borrowed. KL_EINVALID: it is no valid image, or it
 * imports what host code may not use; KL_ECANNOT: no CUDA runtime here, or the process cannot be
 * sealed.
 */
int kl_gpu_launcher_open(struct kl_gpu_launcher **out, const struct kl_gpu_device *device,
			 const struct kl_gpu_launcher_file *file, bool trace);
void kl_gpu_launcher_free(struct kl_gpu_launcher *launcher);
KL_DEFINE_CLEANUP(struct kl_gpu_launcher *, kl_gpu_launcher_free)

void kl_gpu_launcher_restore(struct kl_gpu_launcher *launcher);
/** Call klineage_launch and return its result. */
int kl_gpu_launcher_call(struct kl_gpu_launcher *launcher, const struct kl_gpu_set *set,
			 const int64_t dims[KL_GPU_LAUNCHER_DIMS]);
/**
 * Wrap the host code as a subject for the profile; the set's layout says what each argument is.
 * `launcher` must outlive it. The caller frees it with kl_gpu_baseline_free().
 */
struct kl_gpu_baseline *kl_gpu_launcher_timed(struct kl_gpu_launcher *launcher,
					      const struct kl_gpu_set *set,
					      const int64_t dims[KL_GPU_LAUNCHER_DIMS]);

#endif
