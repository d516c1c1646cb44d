/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_HOST_AUDIT_H
#define KL_BACKEND_CUDA_HOST_AUDIT_H

#include "backend/c/object.h"
#include "backend/cuda/cubin.h"

/*
 * host_audit - checks the object that nvcc makes of a .cu with host code
 * (docs/formats.md, "Host code"). All answer 0 or KL_ENO with the reason, class "cheat".
 */
#define KL_HOST_ENTRY "klineage_launch"

/**
 * Before it is linked: no constructor but nvcc's registration of kernels, which is held to be
 * nvcc's own by its name and by what it can call; one piece of device code, which is `cubin`,
 * uncompressed; undefined symbols on the list (host_symbols.h); no IFUNC, TLS, executable stack.
 */
int kl_audit_host_object(const struct kl_object *object, const struct kl_cubin *cubin);
/** The linked object: libraries, exports, relocations. */
int kl_audit_host_linked(const struct kl_object *so);
/**
 * Kernels of device-wide libraries (CUB, Thrust) are none of the candidate's, though compiled with
 * it.
 */
int kl_audit_host_kernels(const struct kl_cubin *cubin);

#endif
