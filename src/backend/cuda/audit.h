/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_AUDIT_H
#define KL_BACKEND_CUDA_AUDIT_H

#include "backend/cuda/cubin.h"
#include "backend/cuda/launch_needs.h"
#include "backend/cuda/ptx.h"
#include "backend/cuda/sass.h"

/*
 * audit - checks device code before it is loaded anywhere: its contents (docs/formats.md, "What a
 * cubin may contain"), and whether its kernels take the arguments of the launch plan.
 */
/**
 * Check the cubin against the launch plan: its architecture, its kernels and their arguments.
 * KL_ENO (class `launch`): they differ; the message names kernel and argument.
 */
int kl_audit_cuda_launch(const struct kl_cubin *cubin, const struct kl_cuda_wish *wish);

/**
 * Check what the cubin contains. KL_ENO (class `cheat`): it could keep state, distinguish calls,
 * print ...; the message names the symbol, section or register. `ptx` is the text that the cubin
 * was assembled from, in which kl_ptx_reach() has marked what the kernels of `wish` reach. An
 * imported cubin has none (NULL); its machine code `sass` is checked instead.
 */
int kl_audit_cuda(const struct kl_cubin *cubin, const struct kl_ptx *ptx,
		  const struct kl_sass *sass, const struct kl_cuda_wish *wish);

#endif
