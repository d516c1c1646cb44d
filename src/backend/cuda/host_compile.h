/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_HOST_COMPILE_H
#define KL_BACKEND_CUDA_HOST_COMPILE_H

#include "backend/artefact.h"
#include "backend/cuda/nvcc.h"
#include "base/map.h"
#include "contract/surface.h"
#include "jail/jail.h"

/*
 * host_compile - compiles a .cu with host code to an audited image. The compilers run in
 * the compile jail. Both halves are audited: the machine code of the host (host_audit.h) and of the
 * device (audit.h).
 *
 *	extern "C" int klineage_launch(void *const *in, void *const *out, void *stream);
 *
 * is the function that the source defines. The gate writes klineage.h, which is included before the
 * first line of the source: it has that declaration, and the contract's dims and scalars as
 * kl_dim(M), kl_scalar(alpha). nvcc compiles without compression, so that the audited device code
 * can be found in the object. The gate links the object (backend/c/link/link.h) with its own runtime
 * (templates/runtime/klineage_host.c); functions of CUDA and of the system's libraries are imports,
 * which the worker finds.
 */

/**
 * Compile to `dir`/kernel.image. As kl_compile_surface(), with class "compile" or "cheat";
 * (*out)->kernels has the names of the kernels in the object.
 */
int kl_compile_host(struct kl_artefact **out, const char **class_, const struct kl_jail *jail,
		    const struct kl_nvcc *nvcc, const struct kl_map *headers,
		    const struct kl_surface *surface, const char *dir);

/** Write the klineage.h of a contract. */
void kl_compile_host_header(struct kl_buf *out, const struct kl_contract *contract);

#endif
