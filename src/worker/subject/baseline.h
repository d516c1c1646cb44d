/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_BASELINE_H
#define KL_WORKER_SUBJECT_BASELINE_H

#include "base/vec.h"
#include "worker/subject/wire.h"

/*
 * baseline - vendor kernels by name, loaded with dlopen() on demand. Neither the build nor any
 * other job needs the libraries.
 *
 * They run in one thread, at the instruction set level of the platform: kl_baseline_env() gives the
 * environment variables that enforce this, which must be set before the libraries are loaded.
 *
 * A baseline tells the contract's arguments apart by their kind and order: the first input, the
 * second input, and so on. A signature that does not fit is KL_ECANNOT with the reason, and so is a
 * library that is not installed.
 *
 *	openblas.sgemm	three dims M N K, f32 in A [M,K], B [K,N], f32 out C [M,N]
 *	onednn.conv2d	five dims N H W C F, f32 in x [N,H,W,C], w [F,3,3,C],
 *			f32 out y [N,H,W,F]; stride 1, zero padding of 1. The
 *			weights are reordered in every call.
 */
struct kl_baseline_call {
	void (*run)(void *state);
	void *state;
};

/**
 * Load and prepare a baseline for calls with these tensors, in the child. `data[i]` is tensor
 * argument i. The result lives as long as the process.
 */
int kl_baseline_open(struct kl_baseline_call *out, const struct kl_wire *wire, void *const *data);

/** Push NAME=value strings for the level `isa` ("x86-64-v3"; NULL: any). */
void kl_baseline_env(struct kl_strvec *env, const char *isa);

/* one for each library */
int kl_baseline_openblas_sgemm(struct kl_baseline_call *out, const struct kl_wire *wire,
			       void *const *data);
int kl_baseline_onednn_conv2d(struct kl_baseline_call *out, const struct kl_wire *wire,
			      void *const *data);

/** Index of the n-th argument of this kind (dim, in, out), or -1. For the implementations. */
int kl_baseline_arg(const struct kl_wire *wire, enum kl_arg_kind kind, int n);
/** True if argument `arg` is an f32 tensor with these extents. */
bool kl_baseline_f32(const struct kl_wire *wire, int arg, const int64_t *extent, int naxes);

#endif
