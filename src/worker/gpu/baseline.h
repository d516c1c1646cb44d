/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_BASELINE_H
#define KL_WORKER_GPU_BASELINE_H

#include <stdbool.h>

#include "worker/gpu/tool.h"

/*
 * baseline - runs kernels of vendor libraries on the GPU, selected by name.
 *
 * The GPU process opens a library with dlopen when a job first needs it, and the library uses the
 * process's primary context. The build and other jobs do not need the libraries.
 *
 *	cublas.gemm		in A [M,K], B [N,K], out C [M,N], all bf16 or all f16; sums in f32
 *	cudnn.conv2d		f16 in x [N,H,W,C], w [F,R,S,C], out y [N,P,Q,F]; stride 1;
 *				the padding follows from P and Q
 *	cudnn.conv2d-nchw	the same on NCHW tensors; the library's own transposes are timed,
 *				the conversions from and to the contract's layout are not
 *	cudnn.sdpa		f16 in q [B,S,H,D], k, v [B,T,H,D], out o [B,S,H,D];
 *				not causal, scale 1/sqrt(D)
 *
 * The inputs above are the contract's `in` tensors in their order, the outputs its `out` tensors.
 * If the tensors do not fit the baseline, or if the library is missing or refuses the tensors, the
 * result is KL_ECANNOT with the reason, and the comparison with the baseline is left out.
 *
 * Libraries are searched in the directories of $KLINEAGE_CUDA_LIBRARIES (separated by colons), then
 * by the dynamic loader. Opening a baseline chooses its algorithm, by measurement or by the
 * library's own heuristics; the timed part never chooses one.
 */
#define KL_GPU_BASELINE_ARGS 32
#define KL_GPU_BASELINE_AXES 8

struct kl_gpu_baseline_arg {
	int32_t kind, dtype; /* enum kl_arg_kind, enum kl_dtype */
	int32_t naxes, reserved;
	int64_t extent[KL_GPU_BASELINE_AXES];
};

struct kl_gpu_baseline_spec {
	char name[64];
	uint32_t nargs, reserved;
	struct kl_gpu_baseline_arg arg[KL_GPU_BASELINE_ARGS];
};

struct kl_gpu_baseline {
	const struct kl_gpu_device *device; /* borrowed */
	/*
	 * `at[i]` is the device address of argument i. The callbacks enqueue on the device's stream
	 * and return 0, the library's status, or -1 for another failure. Only `run` is timed.
	 */
	int (*before)(struct kl_gpu_baseline *b, const uint64_t *at); /* may be NULL */
	int (*run)(struct kl_gpu_baseline *b, const uint64_t *at);
	int (*after)(struct kl_gpu_baseline *b, const uint64_t *at); /* may be NULL */
	void (*close)(struct kl_gpu_baseline *b);
	void *state;
	char what[96]; /* library and version for the report: "cuBLAS 130100" */
};

/**
 * Open the baseline that `spec` names; `device` is borrowed. `at` has the device addresses of the
 * arguments; algorithms are tried on these tensors, so their outputs are overwritten. Return
 * KL_ECANNOT if the name is unknown, or the baseline cannot run here. Return KL_EINVALID if `spec`
 * is malformed.
 */
int kl_gpu_baseline_open(struct kl_gpu_baseline **out, const struct kl_gpu_baseline_spec *spec,
			 const struct kl_gpu_device *device, const uint64_t *at);
void kl_gpu_baseline_free(struct kl_gpu_baseline *baseline);
KL_DEFINE_CLEANUP(struct kl_gpu_baseline *, kl_gpu_baseline_free)

/* -- for files that implement a baseline, or open another library of CUDA ------- */

int kl_gpu_baseline_cublas(struct kl_gpu_baseline *baseline,
			   const struct kl_gpu_baseline_spec *spec, const uint64_t *at);
int kl_gpu_baseline_conv2d(struct kl_gpu_baseline *baseline,
			   const struct kl_gpu_baseline_spec *spec, const uint64_t *at);
int kl_gpu_baseline_sdpa(struct kl_gpu_baseline *baseline, const struct kl_gpu_baseline_spec *spec,
			 const uint64_t *at);

/**
 * Open the first library of `names` (NULL-terminated) that is found. Return KL_ECANNOT if none is
 * found.
 */
int kl_gpu_baseline_library(void **out, const char *const *names);
struct kl_gpu_symbol {
	void **f;
	const char *name;
};
/**
 * Look up `n` symbols in `lib`. Return KL_ECANNOT if the library lacks one of them. The message
 * names it.
 */
int kl_gpu_baseline_symbols(void *lib, const struct kl_gpu_symbol *symbol, size_t n);
/**
 * Return the index of the n-th argument (counted from 0) of kind `out` if `out` is set, otherwise
 * of kind `in`. Return -1 if there is no such argument, or it does not have `naxes` axes.
 */
int kl_gpu_baseline_tensor(const struct kl_gpu_baseline_spec *spec, bool out, int n, int naxes);
/**
 * Allocate device memory and return its address; 0 if out of memory. The memory is freed only with
 * the context.
 */
uint64_t kl_gpu_baseline_memory(const struct kl_gpu_device *device, uint64_t bytes);

#endif
