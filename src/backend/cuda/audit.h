/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_AUDIT_H
#define KL_BACKEND_CUDA_AUDIT_H

#include "backend/cuda/cubin.h"
#include "backend/cuda/launch_needs.h"
#include "backend/cuda/ptx.h"
#include "backend/cuda/sass.h"

/*
 * audit - checks device code before it is loaded anywhere: what it may contain
 * (docs/formats.md, "What a cubin may contain"), and whether it takes what the launch plan passes.
 */
/**
 * Has the cubin the kernels, do they take what is passed, is it for that architecture? KL_ENO
 * (class `launch`) names kernel and argument.
 */
int kl_audit_cuda_launch(const struct kl_cubin *cubin, const struct kl_cuda_wish *wish);

/**
 * KL_ENO (class `cheat`): it could keep state, tell calls apart, print ...: the message names
 * symbol, section or register. `ptx`, reached from the wish's kernels, is what the cubin was
 * assembled from. An imported cubin has none (NULL) and is read in `sass` instead.
 */
int kl_audit_cuda(const struct kl_cubin *cubin, const struct kl_ptx *ptx,
		  const struct kl_sass *sass, const struct kl_cuda_wish *wish);

#endif
