/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_SASS_H
#define KL_BACKEND_CUDA_SASS_H

#include "backend/cuda/nvcc.h"
#include "backend/cuda/ptx.h"
#include "base/vec.h"
#include "jail/jail.h"

/*
 * sass - reads the machine code of a cubin with nvdisasm, which runs in the compile jail. nvdisasm
 * is optional: without it, facts come from PTX alone, and imported cubins cannot be judged.
 */
struct kl_sass_fn {
	/*
	 * name of a kernel, or of a function that is not inlined; taken from the name of its
	 * section
	 */
	char *name;
	struct kl_ptx_op *op; /* opcodes with their counts, such as "LDG.E.128.CONSTANT" */
	size_t nop, alloc;
	/* special registers that it reads, such as "SR_CLOCKLO", once each */
	struct kl_strvec special;
	/* reads addresses of the module's variables from constant bank 4 */
	bool module_data;
};

struct kl_sass {
	struct kl_sass_fn *fn;
	size_t n, alloc;
};

/**
 * Disassemble the file `cubin`, whose path is relative to `dir`. Return KL_ECANNOT if nvdisasm is
 * not installed, or the machine is in trouble.
 */
int kl_sass_read(struct kl_sass *out, const struct kl_jail *jail, const struct kl_nvcc *nvcc,
		 const char *dir, const char *cubin);
/** Parse the output of `nvdisasm -c`. Return KL_ENO if it contains no code. */
int kl_sass_parse(struct kl_sass *out, const char *text, size_t len);
void kl_sass_release(struct kl_sass *sass);
const struct kl_sass_fn *kl_sass_function(const struct kl_sass *sass, const char *name);

#endif
