/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_AUDIT_H
#define KL_BACKEND_CUDA_AUDIT_H

#include "backend/cuda/cubin.h"
#include "backend/cuda/launch_needs.h"
#include "backend/cuda/ptx.h"
#include "backend/cuda/sass.h"

/*
 * audit - checks device code before it is loaded anywhere: what it contains (docs/formats.md, "What
 * a cubin may contain"), and whether its kernels take the arguments that the launch plan passes.
 */
/**
 * Compare the cubin with the launch plan: its architecture, its kernels and their arguments. Return
 * KL_ENO (class `launch`) if they do not match. The message names the kernel and the argument.
 */
int kl_audit_cuda_launch(const struct kl_cubin *cubin, const struct kl_cuda_wish *wish);

/**
 * Check what the cubin contains. Return KL_ENO (class `cheat`) if the cubin could keep state,
 * distinguish calls or print, for example. The message names the symbol, section or register. `ptx`
 * is the PTX that the cubin was assembled from, in which kl_ptx_reach() has marked what the kernels
 * of `wish` reach. If `ptx` is NULL, the cubin was imported and has no PTX; its machine code `sass`
 * is checked instead.
 */
int kl_audit_cuda(const struct kl_cubin *cubin, const struct kl_ptx *ptx,
		  const struct kl_sass *sass, const struct kl_cuda_wish *wish);

#endif
