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
 * compile - compiles one .cu to PTX and an audited cubin, in the compile jail.
 *
 * A single run of nvcc also keeps the PTX, so that the audit has the very text that was assembled.
 * (To produce PTX alone, nvcc has ptxas check it as well: two runs would assemble twice.) No host
 * code is compiled. Architecture, standard and constants come from the launch plan, flags from the
 * contract's list.
 */

/**
 * Compile the surface's code, or copy the cubin that the plan imports, to `dir`/kernel.cubin, and
 * audit it. `headers`: the known header libraries (backend/headers.h). As kl_compile_surface(),
 * with KL_ENO and `*class_` "compile", "launch" or "cheat"; KL_ECANNOT: a tool is not installed.
 */
int kl_compile_cuda(struct kl_artefact **out, const char **class_, const struct kl_jail *jail,
		    const struct kl_nvcc *nvcc, const struct kl_map *headers,
		    const struct kl_surface *surface, const struct kl_launch *launch,
		    const char *dir);

/** As kl_compile_oracle(), to `dir`/truth.cubin or `dir`/honest.cubin. */
int kl_compile_cuda_oracle(const struct kl_jail *jail, const struct kl_nvcc *nvcc,
			   const struct kl_surface *surface, const struct kl_launch *launch,
			   enum kl_oracle which, const char *dir);

/** As kl_compile_recipe(), for nvcc. */
void kl_compile_cuda_recipe(struct kl_digest *digest, const struct kl_nvcc *nvcc);

#endif
