/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_HOST_COMPILE_H
#define KL_BACKEND_CUDA_HOST_COMPILE_H

#include "backend/artefact.h"
#include "backend/cuda/nvcc.h"
#include "base/map.h"
#include "contract/surface.h"
#include "jail/jail.h"

/*
 * host_compile - compiles a .cu with host code to an audited image, in the compile jail. Both the
 * machine code of the host (host_audit.h) and that of the device (audit.h) are audited.
 *
 *	extern "C" int klineage_launch(void *const *in, void *const *out, void *stream);
 *
 * The source must define this function. The gate writes klineage.h, which is included before the
 * first line of the source. This header declares the function, and gives access to the contract's
 * dims and scalars as kl_dim(M) and kl_scalar(alpha). nvcc compiles without compression, so that
 * the audit can find the device code in the object. The gate links the object
 * (backend/c/link/link.h) with its own runtime (templates/runtime/klineage_host.c). Functions of
 * CUDA and of the system's libraries are imports, which the worker resolves.
 */

/**
 * Compile a surface to `dir`/kernel.image and audit it. The caller frees the artefact; its member
 * `kernels` has the names of the kernels in the object. Return KL_ENO if the surface is refused;
 * `*class_` is "compile" or "cheat". Return KL_ECANNOT if a tool is not installed, or the machine
 * is in trouble.
 */
int kl_compile_host(struct kl_artefact **out, const char **class_, const struct kl_jail *jail,
		    const struct kl_nvcc *nvcc, const struct kl_map *headers,
		    const struct kl_surface *surface, const char *dir);

/** Append the text of klineage.h for a contract to `out`. */
void kl_compile_host_header(struct kl_buf *out, const struct kl_contract *contract);

#endif
