/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_HOST_AUDIT_H
#define KL_BACKEND_CUDA_HOST_AUDIT_H

#include "backend/c/link/object.h"
#include "backend/cuda/cubin.h"

/*
 * host_audit - checks the object that nvcc makes from a .cu with host code. The rules are in
 * docs/formats.md, "Host code". It returns KL_ENO if the object is refused; the message is the
 * reason for a verdict of class "cheat".
 */
#define KL_HOST_ENTRY "klineage_launch"
/* Name of the constructor that nvcc adds. The assembler refuses a second symbol with this name. */
#define KL_HOST_REGISTRATION "_ZL24__sti____cudaRegisterAllv"

/**
 * Audit the object before it is linked. Its only constructor must be nvcc's, which registers
 * kernels. That constructor is recognized by its name and can call only allowed symbols; the worker
 * calls the constructor after the process is sealed. The object must contain exactly one piece of
 * device code, which must be `cubin`, uncompressed. The undefined symbols of the object must be
 * allowed (host_symbols.h), and the object must have no IFUNC, TLS or executable stack.
 */
int kl_audit_host_object(const struct kl_object *object, const struct kl_cubin *cubin);
/**
 * Refuse kernels of device-wide libraries (CUB, Thrust), which are compiled with the candidate but
 * are not its own work.
 */
int kl_audit_host_kernels(const struct kl_cubin *cubin);

#endif
