/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_HOST_AUDIT_H
#define KL_BACKEND_CUDA_HOST_AUDIT_H

#include "backend/c/link/object.h"
#include "backend/cuda/cubin.h"

/*
 * host_audit - checks the object that nvcc makes of a .cu with host code. docs/formats.md, "Host
 * code", has the rules. All functions return 0 or KL_ENO; the message is the reason, of class
 * "cheat".
 */
#define KL_HOST_ENTRY "klineage_launch"
/* The name of nvcc's constructor. The assembler refuses a second symbol of that name. */
#define KL_HOST_REGISTRATION "_ZL24__sti____cudaRegisterAllv"

/**
 * Audit the object before it is linked. Its only constructor must be nvcc's registration of
 * kernels, which is recognized by its name and restricted by the symbols that it can call; the
 * worker calls it once the process is sealed. It must
 * contain one piece of device code, which is `cubin`, uncompressed. Undefined symbols must be on
 * the list (host_symbols.h), and it must have no IFUNC, TLS or executable stack.
 */
int kl_audit_host_object(const struct kl_object *object, const struct kl_cubin *cubin);
/**
 * Refuse kernels of device-wide libraries (CUB, Thrust): they are not the candidate's own, although
 * they are compiled with it.
 */
int kl_audit_host_kernels(const struct kl_cubin *cubin);

#endif
