/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_TORCH_STUB_H
#define KL_BACKEND_CUDA_TORCH_STUB_H

#include <stdbool.h>

#include "base/vec.h"
#include "contract/surface.h"

/*
 * torch_stub - stands in for the headers of PyTorch and pybind11 that only host code needs.
 *
 * Authors often write a kernel and its binding to Python in one file. The gate compiles only the
 * device code, but the compiler must be able to read the whole file. Therefore, for each header of
 * <torch/>, <ATen/>, <c10/> and <pybind11/> that a source includes, a stub is written, unless the
 * surface contains that header. A stub includes templates/runtime/kl_torch.h. The compiler searches
 * the folder of the stubs last, so that libraries in the contract's `headers` come first.
 */
#define KL_TORCH_STUBS "rt/torch" /* folder of the stubs, relative to the work directory */

/**
 * Write the stubs that the sources need below `dir`. Set *any to true if the sources need at least
 * one.
 */
int kl_torch_stubs_put(bool *any, const char *dir, const struct kl_file *file, size_t nfile);

#endif
