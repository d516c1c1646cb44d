/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_COMPILE_H
#define KL_BACKEND_CUDA_COMPILE_H

#include "backend/artefact.h"
#include "backend/cuda/nvcc.h"
#include "backend/oracle.h"
#include "base/map.h"
#include "contract/launch.h"
#include "jail/jail.h"

/*
 * compile - compiles a .cu file to PTX and an audited cubin, in the compile jail.
 *
 * A single run of nvcc writes the cubin and keeps the PTX, so that the audit reads exactly the PTX
 * that was assembled. (A separate run for the PTX would assemble twice, because nvcc runs ptxas to
 * check PTX.) No host code is compiled. Architecture, C++ standard and constants come from the
 * launch plan, flags from the contract.
 */

/**
 * Compile the surface's code to `dir`/kernel.cubin, or copy the cubin that the plan imports to that
 * file, and audit the cubin. If the plan names kernels as C++ source does, their symbols are stored
 * in the plan (kernel_names.h). `headers` has the header libraries found so far
 * (backend/headers.h). The caller frees the artefact. Return KL_ENO if the code is refused;
 * `*class_` is "compile", "launch" or "cheat". Return KL_ECANNOT if a tool is not installed, or the
 * machine is in trouble.
 */
int kl_compile_cuda(struct kl_artefact **out, const char **class_, const struct kl_jail *jail,
		    const struct kl_nvcc *nvcc, const struct kl_map *headers,
		    const struct kl_surface *surface, struct kl_launch *launch, const char *dir);

/**
 * Compile an oracle to `dir`/truth.cubin or `dir`/honest.cubin. Errors are those of
 * kl_compile_oracle().
 */
int kl_compile_cuda_oracle(const struct kl_jail *jail, const struct kl_nvcc *nvcc,
			   const struct kl_surface *surface, const struct kl_launch *launch,
			   enum kl_oracle which, const char *dir);

/**
 * Add to a digest everything that compiled oracles depend on, except the contract: the version and
 * flags of nvcc.
 */
void kl_compile_cuda_recipe(struct kl_digest *digest, const struct kl_nvcc *nvcc);

#endif
