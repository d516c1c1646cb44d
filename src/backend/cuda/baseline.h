/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_BASELINE_H
#define KL_BACKEND_CUDA_BASELINE_H

#include "backend/cuda/compile.h"

/*
 * baseline - compiles baselines from shipped sources: `cub.*` and `chunked.*` are in
 * templates/baselines as source and launch plan, and are compiled like a candidate, for its
 * architecture. The worker receives them as one more cubin and plan. It calls the baselines of
 * vendor libraries itself (worker/gpu/baseline.h).
 */

/**
 * Compile the contract's baseline in the private directory `dir`, which this function creates.
 * KL_ENOTFOUND (no message): we do not ship it; KL_ECANNOT: it cannot be compiled here, or does not
 * fit the contract's tensors and dims.
 */
int kl_baseline_cuda(struct kl_artefact **out, const struct kl_jail *jail,
		     const struct kl_nvcc *nvcc, const struct kl_surface *surface, const char *arch,
		     const char *dir);

#endif
