/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_BASELINE_H
#define KL_WORKER_GPU_BASELINE_H

#include <stdbool.h>

#include "worker/gpu/tool.h"

/*
 * baseline - vendor libraries' kernels on the GPU, by name. Opened with dlopen when they are asked
 * for, in the GPU process, on its primary context: neither the build nor any other job needs them.
 *
 *	cublas.gemm		in A [M,K], B [N,K], out C [M,N], all bf16 or all f16; sums in f32
 *	cudnn.conv2d		f16 in x [N,H,W,C], w [F,R,S,C], out y [N,P,Q,F]; stride 1, the padding
 *				that P and Q follow from
 *	cudnn.conv2d-nchw	the same on tensors in NCHW, its transposes included; ours, from and to the
 *				contract's layout, are done before and after what is timed
 *	cudnn.sdpa		f16 in q, k, v [B,S,H,D], out o; not causal, scale 1/sqrt(D)
 *
 * Arguments are taken by the order of their kinds. What does not fit, a library that is not here
 * and one that refuses are KL_ECANNOT with the reason: the comparison is left out.
 *
 * Libraries are looked for in the directories of $KLINEAGE_CUDA_LIBRARIES (separated by
 * colons), then where the dynamic loader looks. Which algorithm is used is settled when the
 * baseline is opened, by measurement or the library's own heuristics, never in the timed part.
 */
#define KL_GPU_BASELINE_ARGS 32
#define KL_GPU_BASELINE_AXES 8

struct kl_gpu_baseline_arg {
	int32_t kind, dtype; /* enum kl_arg_kind, kl_dtype */
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
	 * `at[i]`: device address of argument i. They enqueue on the device's stream; 0, or what
	 * the library returned.
	 */
	int (*before)(struct kl_gpu_baseline *b, const uint64_t *at); /* may be NULL */
	int (*run)(struct kl_gpu_baseline *b, const uint64_t *at);
	int (*after)(struct kl_gpu_baseline *b, const uint64_t *at); /* may be NULL */
	void (*close)(struct kl_gpu_baseline *b);
	void *state;
	char what[96]; /* "cuBLAS 13.1.0", for the report */
};

/** `at`: a set of tensors to try algorithms on; its outputs may be written. */
int kl_gpu_baseline_open(struct kl_gpu_baseline **out, const struct kl_gpu_baseline_spec *spec,
			 const struct kl_gpu_device *device, const uint64_t *at);
void kl_gpu_baseline_free(struct kl_gpu_baseline *baseline);
KL_DEFINE_CLEANUP(struct kl_gpu_baseline *, kl_gpu_baseline_free)

/* -- for the implementations -------------------------------------------------- */

int kl_gpu_baseline_cublas(struct kl_gpu_baseline *baseline,
			   const struct kl_gpu_baseline_spec *spec, const uint64_t *at);
int kl_gpu_baseline_conv2d(struct kl_gpu_baseline *baseline,
			   const struct kl_gpu_baseline_spec *spec, const uint64_t *at);
int kl_gpu_baseline_sdpa(struct kl_gpu_baseline *baseline, const struct kl_gpu_baseline_spec *spec,
			 const uint64_t *at);

/** dlopen of the first of `names` (NULL-terminated) that is found. */
int kl_gpu_baseline_library(void **out, const char *const *names);
struct kl_gpu_symbol {
	void **f;
	const char *name;
};
int kl_gpu_baseline_symbols(void *lib, const struct kl_gpu_symbol *symbol, size_t n);
/** Argument of the n-th in or out tensor with this many axes; -1: none. */
int kl_gpu_baseline_tensor(const struct kl_gpu_baseline_spec *spec, bool out, int n, int naxes);
/** Device memory that lives as long as the context; 0: none. */
uint64_t kl_gpu_baseline_memory(const struct kl_gpu_device *device, uint64_t bytes);

#endif
