/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_HOST_COMPILE_H
#define KL_BACKEND_CUDA_HOST_COMPILE_H

#include "backend/artefact.h"
#include "backend/cuda/nvcc.h"
#include "base/map.h"
#include "contract/surface.h"
#include "jail/jail.h"

/*
 * host_compile - compiles a .cu with host code to an audited shared object, in the compile jail.
 * Both halves are audited: the machine code of the host (host_audit.h) and of the device
 * (audit.h).
 *
 *	extern "C" int klineage_launch(void *const *in, void *const *out, void *stream);
 *
 * is what it defines. The gate writes klineage.h, which is included before its first line: that
 * declaration, and the contract's dims and scalars as kl_dim(M), kl_scalar(alpha). nvcc compiles,
 * with nothing compressed, so that the device code can be found in the object as it was
 * audited; the gate links, with its own runtime (templates/runtime/klineage_host.c).
 */

/**
 * `dir`/kernel.so. As kl_compile_surface(); `artefact->kernels` names the kernels that it holds.
 * Class "compile", or "cheat".
 */
int kl_compile_host(struct kl_artefact **out, const char **class_, const struct kl_jail *jail,
		    const struct kl_nvcc *nvcc, const struct kl_map *headers,
		    const struct kl_surface *surface, const char *dir);

/** klineage.h of a contract. */
void kl_compile_host_header(struct kl_buf *out, const struct kl_contract *contract);

#endif
