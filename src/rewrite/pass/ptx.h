/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_PTX_H
#define KL_REWRITE_PTX_H

#include "rewrite/pass/asm_statement.h"

/*
 * ptx - writes instructions of CUDA as plain code: each thread of a warp loads, multiplies and
 * stores its own elements.
 *
 * Each function appends to `code` a block that replaces the statement, and to `helpers` the device
 * functions that it calls, unless they are there. A function returns false if the form of the
 * instruction is not known.
 */
struct kl_ptx {
	struct kl_buf code, helpers;
};

/** cp.async: a copy to shared memory through registers. */
bool kl_ptx_copy(struct kl_ptx *out, const struct kl_asm *statement,
		 const struct kl_asm_arguments *arguments, const char *whole);
/** ldmatrix: words of 8 x 8 matrices, loaded by the threads that need them. */
bool kl_ptx_load_matrix(struct kl_ptx *out, const struct kl_asm *statement,
			const struct kl_asm_arguments *arguments, const char *whole);
/** stmatrix: the reverse. */
bool kl_ptx_store_matrix(struct kl_ptx *out, const struct kl_asm *statement,
			 const struct kl_asm_arguments *arguments, const char *whole);
/** mma.sync: sums of products of operands that shuffles bring. */
bool kl_ptx_multiply(struct kl_ptx *out, const struct kl_asm *statement,
		     const struct kl_asm_arguments *arguments, const char *whole);
/** wgmma.mma_async: sums of products of operands in shared memory. */
bool kl_ptx_multiply_group(struct kl_ptx *out, const struct kl_asm *statement,
			   const struct kl_asm_arguments *arguments, const char *whole);
/** wgmma.wait_group: the warpgroup waits for its own reads, by a barrier from 8 on. */
bool kl_ptx_wait_group(struct kl_ptx *out, const struct kl_asm *statement,
		       const struct kl_asm_arguments *arguments, const char *whole);

#endif
