/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_SASS_H
#define KL_BACKEND_CUDA_SASS_H

#include "backend/cuda/nvcc.h"
#include "backend/cuda/ptx.h"
#include "base/vec.h"
#include "jail/jail.h"

/*
 * sass - the machine code of a cubin as nvdisasm reads it, in the compile jail. nvdisasm need not
 * be there; without it facts come from PTX alone, and an imported cubin cannot be judged.
 */
struct kl_sass_fn {
	char *name;           /* of the section: a kernel, or a function of its own */
	struct kl_ptx_op *op; /* "LDG.E.128.CONSTANT", how often */
	size_t nop, alloc;
	struct kl_strvec special; /* "SR_CLOCKLO" */
	bool module_data;         /* reads addresses of the module's variables */
};

struct kl_sass {
	struct kl_sass_fn *fn;
	size_t n, alloc;
};

/** `cubin`: relative to `dir`. KL_ECANNOT: there is no nvdisasm. */
int kl_sass_read(struct kl_sass *out, const struct kl_jail *jail, const struct kl_nvcc *nvcc,
		 const char *dir, const char *cubin);
/** From text, as `nvdisasm -c` prints it. */
int kl_sass_parse(struct kl_sass *out, const char *text, size_t len);
void kl_sass_release(struct kl_sass *sass);
const struct kl_sass_fn *kl_sass_function(const struct kl_sass *sass, const char *name);

#endif
