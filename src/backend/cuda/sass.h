/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_SASS_H
#define KL_BACKEND_CUDA_SASS_H

#include "backend/cuda/nvcc.h"
#include "backend/cuda/ptx.h"
#include "base/vec.h"
#include "jail/jail.h"

/*
 * sass - the machine code of a cubin, as disassembled by nvdisasm in the compile jail. nvdisasm is
 * optional: without it facts come from PTX alone, and an imported cubin cannot be judged.
 */
struct kl_sass_fn {
	char *name;           /* of the section: a kernel or a separate function */
	struct kl_ptx_op *op; /* opcodes, "LDG.E.128.CONSTANT", with their counts */
	size_t nop, alloc;
	struct kl_strvec special; /* "SR_CLOCKLO" */
	bool module_data;         /* reads addresses of the module's variables */
};

struct kl_sass {
	struct kl_sass_fn *fn;
	size_t n, alloc;
};

/** Disassemble `cubin`, a path relative to `dir`. KL_ECANNOT: nvdisasm is not installed. */
int kl_sass_read(struct kl_sass *out, const struct kl_jail *jail, const struct kl_nvcc *nvcc,
		 const char *dir, const char *cubin);
/** Parse the output of `nvdisasm -c`. */
int kl_sass_parse(struct kl_sass *out, const char *text, size_t len);
void kl_sass_release(struct kl_sass *sass);
const struct kl_sass_fn *kl_sass_function(const struct kl_sass *sass, const char *name);

#endif
