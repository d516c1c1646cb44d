/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_BASELINE_H
#define KL_BACKEND_CUDA_BASELINE_H

#include "backend/cuda/compile.h"
#include "text/digest.h"

/*
 * baseline - compiles the baselines whose sources are shipped with this program. The source and
 * launch plan of `cub.*` and `chunked.*` are in templates/baselines. They are compiled like a
 * candidate, for the candidate's architecture, and sent to the worker with their own cubin and
 * plan. Baselines of vendor libraries are not compiled here: the worker calls the libraries
 * (worker/gpu/baseline.h).
 */

/**
 * Compile the contract's baseline for `arch` in the private directory `dir`, which this function
 * creates. The caller frees the artefact. Return KL_ENOTFOUND (no message set) if its source is not
 * shipped, or KL_ECANNOT if it cannot be compiled here, or does not match the contract's tensors
 * and dims.
 */
int kl_baseline_cuda(struct kl_artefact **out, const struct kl_jail *jail,
		     const struct kl_nvcc *nvcc, const struct kl_surface *surface, const char *arch,
		     const char *dir);
/**
 * Like kl_baseline_cuda(), but use `object`, which an earlier call compiled, so that only the
 * launch plan is read.
 */
int kl_baseline_cuda_kept(struct kl_artefact **out, const struct kl_surface *surface,
			  const char *arch, const char *object);
/** Add the baseline's source and launch plan to a key. Errors are those of kl_baseline_cuda(). */
int kl_baseline_cuda_recipe(struct kl_digest *key, const struct kl_surface *surface);

#endif
