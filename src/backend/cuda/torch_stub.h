/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_TORCH_STUB_H
#define KL_BACKEND_CUDA_TORCH_STUB_H

#include <stdbool.h>

#include "base/vec.h"
#include "contract/surface.h"

/*
 * torch_stub - stands in for the headers of PyTorch and pybind11 that only host code needs.
 *
 * People write the binding to Python beside the kernel. The gate compiles only device code, but the
 * compiler must be able to read the file. So for each header of <torch/>, <ATen/>, <c10/> and
 * <pybind11/> that a source includes and that is not a source itself, a stub is written, which
 * includes templates/runtime/kl_torch.h. The folder of the stubs is searched last, so that headers of
 * the contract's `headers` come first.
 */
#define KL_TORCH_STUBS "rt/torch" /* folder of the stubs, relative to the work directory */

/** Write the stubs that the sources need below `dir`. *any: there are some. */
int kl_torch_stubs_put(bool *any, const char *dir, const struct kl_file *file, size_t nfile);

#endif
