/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_LAUNCHER_H
#define KL_WORKER_GPU_LAUNCHER_H

#include "image/image_map.h"
#include "worker/gpu/baseline.h"
#include "worker/gpu/bind.h"

/*
 * launcher - maps and calls a candidate's host code in the GPU process.
 *
 * The host code is an image (image/image.h). Its klineage_launch is called with the device
 * addresses of a set of tensors.
 *
 * Host code is the only code of a candidate that runs in a process with the driver. The driver
 * needs system calls, so host code is confined less than other code and has a weaker tier
 * (docs/formats.md, "Host code"). These measures limit its abilities:
 *
 *	- The gate audited the host code's object, which may use only the symbols of
 *	  image/host_symbols.h. The GPU process checks the image's imports again.
 *	- The process is sealed (seal.h) before the image is mapped and before the image's first
 *	  code, which registers its kernels, runs.
 *	- The host code's variables are restored before each call, so that it keeps no state. Only
 *	  calls with KL_GPU_CALL_ORDINARY, which test whether it keeps state, do not restore them.
 *	- The process never receives a truth.
 *	- The times that the process reports are checked against the clock of another process.
 *
 * Host code that overwrites the memory of its process can still report false results.
 *
 *	kl_gpu_launcher_open(&l, device, &file, true);	true: record what ran (trace.h)
 *	kl_gpu_launcher_restore(l);
 *	rc = kl_gpu_launcher_call(l, set, dims);		enqueued on the device's stream
 */
#define KL_GPU_LAUNCHER_DIMS 16

struct kl_gpu_trace;

struct kl_gpu_launcher {
	const struct kl_gpu_device *device; /* borrowed */
	void *lib[8];                       /* libraries to import from; NULL if missing */
	size_t nlib;
	struct kl_image_mapped image;
	int (*entry)(void *const *in, void *const *out, void *stream);
	int64_t *dims;
	unsigned char *copy;        /* the image's variables after it registered its kernels */
	struct kl_gpu_trace *trace; /* NULL if not requested, or no CUPTI (see `why`) */
	unsigned closed;            /* bits of enum kl_gpu_closed, from kl_gpu_seal() */
	char why[200];              /* why `trace` is NULL; "" if it was not requested */
};

/* An image: its file, and the file's bytes in memory. */
struct kl_gpu_launcher_file {
	int fd;
	const void *bytes;
	size_t n;
};

/**
 * Seal the process and map host code. `device` is borrowed. Return KL_EINVALID if the file is not a
 * valid image, or it imports a symbol that host code may not use. Return KL_ECANNOT if there is no
 * CUDA runtime, or the process cannot be sealed.
 */
int kl_gpu_launcher_open(struct kl_gpu_launcher **out, const struct kl_gpu_device *device,
			 const struct kl_gpu_launcher_file *file, bool trace);
void kl_gpu_launcher_free(struct kl_gpu_launcher *launcher);
KL_DEFINE_CLEANUP(struct kl_gpu_launcher *, kl_gpu_launcher_free)

/** Set the image's variables to the values that they had after it registered its kernels. */
void kl_gpu_launcher_restore(struct kl_gpu_launcher *launcher);
/** Call klineage_launch and return its result. */
int kl_gpu_launcher_call(struct kl_gpu_launcher *launcher, const struct kl_gpu_set *set,
			 const int64_t dims[KL_GPU_LAUNCHER_DIMS]);
/**
 * Wrap the host code as a baseline, which the profile can time. The layout of `set` describes the
 * arguments. `launcher` must outlive the result, which the caller frees with
 * kl_gpu_baseline_free().
 */
struct kl_gpu_baseline *kl_gpu_launcher_timed(struct kl_gpu_launcher *launcher,
					      const struct kl_gpu_set *set,
					      const int64_t dims[KL_GPU_LAUNCHER_DIMS]);

#endif
