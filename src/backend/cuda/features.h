/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_FEATURES_H
#define KL_BACKEND_CUDA_FEATURES_H

#include "backend/cuda/cubin.h"
#include "backend/cuda/launch_needs.h"
#include "backend/cuda/ptx.h"
#include "backend/cuda/sass.h"
#include "text/digest.h"

/*
 * features - facts of device code (docs/formats.md, "Features of device code"): features, digest
 * and figures of the kernels that the plan launches and of the functions that these call.
 *
 * Features are read from PTX, so that they are the same on every machine, and from the machine code
 * only if there is no PTX (an imported cubin). Figures that need no run - registers, shared memory,
 * occupancy, instructions by class - count machine instructions if nvdisasm is installed.
 */
struct kl_cuda_code {
	const struct kl_cubin *cubin;
	const struct kl_ptx *ptx;   /* reached from the wish's kernels; NULL: imported cubin */
	const struct kl_sass *sass; /* empty without nvdisasm */
	const struct kl_cuda_wish *wish;
	const char *verbose; /* output of ptxas -v, or "" */
};

/** Add the features to `out`: sorted, unique. */
void kl_cuda_features(struct kl_strvec *out, const struct kl_cuda_code *code);

/**
 * SHA-256 of the machine code, the constants that it reads, and the launches of the plan, without
 * names and lines.
 */
void kl_cuda_digest(char out[KL_DIGEST_HEX], const struct kl_cuda_code *code);

/** A new array with one object for each kernel: the member "static" of an event. */
json_t *kl_cuda_static(const struct kl_cuda_code *code);

/**
 * Bytes of stack frame, spill stores and spill loads of a function, from the output of ptxas -v;
 * all 0 if the function is not there.
 */
struct kl_cuda_spill {
	int64_t frame, stores, loads;
};
struct kl_cuda_spill kl_cuda_spill(const char *verbose, const char *function);

#endif
