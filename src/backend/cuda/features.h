/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_FEATURES_H
#define KL_BACKEND_CUDA_FEATURES_H

#include "backend/cuda/cubin.h"
#include "backend/cuda/launch_needs.h"
#include "backend/cuda/ptx.h"
#include "backend/cuda/sass.h"
#include "text/digest.h"

/*
 * features - computes the facts of device code (docs/formats.md, "Features of device code"):
 * features, digest and figures of the kernels that the plan launches and of the functions that they
 * call.
 *
 * Features are read from PTX, so that they are the same on every machine; only the features of an
 * imported cubin, which has no PTX, are read from machine code. Figures are values that are known
 * without running the kernel: registers, shared memory, occupancy and the number of instructions of
 * each class. The instructions counted are those of the machine code if nvdisasm is installed,
 * otherwise those of the PTX.
 */
struct kl_cuda_code {
	const struct kl_cubin *cubin;
	/* the PTX, after kl_ptx_reach() for the kernels of `wish`; NULL if the cubin is imported */
	const struct kl_ptx *ptx;
	const struct kl_sass *sass; /* the machine code; empty if nvdisasm is not installed */
	const struct kl_cuda_wish *wish;
	const char *verbose; /* output of ptxas -v; "" if there is none */
};

/** Add the features to `out`, sorted and unique. */
void kl_cuda_features(struct kl_strvec *out, const struct kl_cuda_code *code);

/** Return true if a kernel in CUDA can have a feature of this name. */
bool kl_cuda_has_feature(const char *name);

/**
 * Compute the SHA-256 of the machine code, the constants that it reads and the launches of the
 * plan. Names and line numbers are left out.
 */
void kl_cuda_digest(char out[KL_DIGEST_HEX], const struct kl_cuda_code *code);

/** Return the member "static" of an event: a new array with an object for each kernel. */
json_t *kl_cuda_static(const struct kl_cuda_code *code);

/**
 * Bytes of the stack frame, the spill stores and the spill loads of a function, read from the
 * output of ptxas -v; all 0 if the output has no such function.
 */
struct kl_cuda_spill {
	int64_t frame, stores, loads;
};
struct kl_cuda_spill kl_cuda_spill(const char *verbose, const char *function);

#endif
