/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_PTX_FLOW_H
#define KL_BACKEND_CUDA_PTX_FLOW_H

#include <stdint.h>

#include "backend/cuda/ptx.h"

/*
 * ptx_flow - the instructions of one PTX function in basic blocks, and what a branch decides.
 *
 * Registers have numbers; a name that is declared again in an inner scope is another register.
 * Operands that are no registers are left out.
 *
 *	kl_ptx_flow_read(&flow, fn);
 *	flow.insn[i].op, .guard, .reg ...
 *	kl_ptx_flow_region(&flow, block, in);		in[b]: runs or not by this block's branch
 *	kl_ptx_flow_release(&flow);
 */
#define KL_PTX_NO_REGISTER UINT32_MAX

struct kl_ptx_insn {
	char *op;       /* "ld.global.nc.v4.f32" */
	uint32_t guard; /* predicate that it depends on, or KL_PTX_NO_REGISTER */
	/* registers; the first `nout` are those of a first operand that is no address */
	uint32_t *reg;
	size_t nreg, nout, alloc;
	char *clock; /* a clock that it reads, such as "%clock64"; NULL: none */
	char *label; /* bra: names of its target, see ptx_flow.c */
	size_t block;
};

struct kl_ptx_block {
	size_t first, end; /* its instructions */
	size_t *next;      /* blocks that can follow; kl_ptx_flow.nblock: the function ends */
	size_t nnext, alloc;
	size_t meet; /* the first block that all its paths reach, see kl_ptx_flow_region() */
};

struct kl_ptx_flow {
	struct kl_ptx_insn *insn;
	size_t ninsn, insn_alloc;
	struct kl_ptx_block *block;
	size_t nblock, block_alloc;
	size_t nregister;
};

/** Is the special register a clock? */
bool kl_ptx_is_clock(const char *name);
/** Is an opcode with its modifiers, such as "ld.global.f32", one of instruction `name`, "ld"? */
bool kl_ptx_op_is(const char *op, const char *name);

/**
 * Read the body of a function, whose text must still be there. KL_ENO: it is not what a compiler
 * makes, or too large.
 */
int kl_ptx_flow_read(struct kl_ptx_flow *flow, const struct kl_ptx_fn *fn);
void kl_ptx_flow_release(struct kl_ptx_flow *flow);
/**
 * Mark in `in`, an element for each block, the blocks that lie between the branch at the end of
 * `block` and the first block that all its paths reach. A path that ends in a trap reaches nothing.
 */
void kl_ptx_flow_region(const struct kl_ptx_flow *flow, size_t block, bool *in);

#endif
