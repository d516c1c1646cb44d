/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_FEATURES_H
#define KL_BACKEND_CUDA_FEATURES_H

#include "backend/cuda/cubin.h"
#include "backend/cuda/launch_needs.h"
#include "backend/cuda/ptx.h"
#include "backend/cuda/sass.h"
#include "text/digest.h"

/*
 * features - facts of device code (docs/formats.md, "Features of device code"): of the kernels that
 * the plan launches and the functions they call, nothing else.
 *
 * They are read from PTX, so that they are the same on every machine, and from the machine code
 * only where there is no PTX (an imported cubin). Figures that need no run - registers, shared
 * memory, occupancy, instructions by class - count machine instructions where nvdisasm shows them.
 */
struct kl_cuda_code {
	const struct kl_cubin *cubin;
	const struct kl_ptx *ptx;   /* NULL: imported; else reached from the wish's kernels */
	const struct kl_sass *sass; /* n == 0: there is no nvdisasm */
	const struct kl_cuda_wish *wish;
	const char *verbose; /* what ptxas -v said, or "" */
};

/** Sorted, each once. */
void kl_cuda_features(struct kl_strvec *out, const struct kl_cuda_code *code);

/** Of the machine code, the constants it reads, and what the plan means: no names, no lines. */
void kl_cuda_digest(char out[KL_DIGEST_HEX], const struct kl_cuda_code *code);

/** An array with one object for each kernel, as the event has it under "static". */
json_t *kl_cuda_static(const struct kl_cuda_code *code);

/**
 * "N bytes spill stores" and so on of a function, from what ptxas -v said; all 0 if it is not
 * there.
 */
struct kl_cuda_spill {
	int64_t frame, stores, loads;
};
struct kl_cuda_spill kl_cuda_spill(const char *verbose, const char *function);

#endif
