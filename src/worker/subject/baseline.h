/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_BASELINE_H
#define KL_WORKER_SUBJECT_BASELINE_H

#include "base/vec.h"
#include "worker/subject/wire.h"

/*
 * baseline - loads the vendor kernel that a job names as its baseline, with dlopen(). Neither the
 * build nor a job without a baseline needs the libraries.
 *
 * Baselines run in one thread, at the instruction set level of the platform. The environment
 * variables from kl_baseline_env() ensure this; they must be set before the libraries are loaded.
 *
 * A baseline tells the contract's arguments apart by their kind and order: the first input, the
 * second input, and so on. A baseline returns KL_ECANNOT if the arguments are not those that it
 * takes, or the library is not installed; the message says which.
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
 * argument i. *out stays valid as long as the process runs.
 */
int kl_baseline_open(struct kl_baseline_call *out, const struct kl_wire *wire, void *const *data);

/**
 * Append to `env` the NAME=value strings that restrict the libraries to one thread and to the level
 * `isa` ("x86-64-v3"; NULL for any level).
 */
void kl_baseline_env(struct kl_strvec *env, const char *isa);

/* Each function opens one baseline; kl_baseline_open() calls that of the job's baseline. */
int kl_baseline_openblas_sgemm(struct kl_baseline_call *out, const struct kl_wire *wire,
			       void *const *data);
int kl_baseline_onednn_conv2d(struct kl_baseline_call *out, const struct kl_wire *wire,
			      void *const *data);

/** Return the index of the n-th argument of this kind, counted from 0; -1 if there is none. */
int kl_baseline_arg(const struct kl_wire *wire, enum kl_arg_kind kind, int n);
/**
 * Return true if `arg` is the index of an f32 tensor with these extents; false also if `arg` is -1.
 */
bool kl_baseline_f32(const struct kl_wire *wire, int arg, const int64_t *extent, int naxes);

#endif
