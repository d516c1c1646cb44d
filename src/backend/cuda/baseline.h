/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_BASELINE_H
#define KL_BACKEND_CUDA_BASELINE_H

#include "backend/cuda/compile.h"

/*
 * baseline - baselines that we compile from shipped sources: `cub.*` and `chunked.*` lie as source
 * and launch plan in templates/baselines and are compiled like a candidate, for its architecture.
 * What the worker gets is one more cubin and plan. A vendor library's is the worker's own matter
 * (worker/gpu/baseline.h).
 */

/**
 * `dir` is private scratch and is made. KL_ENOTFOUND (no message): the contract's baseline is none
 * of ours; KL_ECANNOT: it cannot be had here, or does not fit the contract's tensors and dims.
 */
int kl_baseline_cuda(struct kl_artefact **out, const struct kl_jail *jail,
		     const struct kl_nvcc *nvcc, const struct kl_surface *surface, const char *arch,
		     const char *dir);

#endif
