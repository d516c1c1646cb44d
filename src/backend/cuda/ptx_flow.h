/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_PTX_FLOW_H
#define KL_BACKEND_CUDA_PTX_FLOW_H

#include <stdint.h>

#include "backend/cuda/ptx.h"

/*
 * ptx_flow - reads the basic blocks of a PTX function, and finds the blocks that a branch controls.
 *
 * Registers are numbered. A name that an inner scope declares again is another register. Operands
 * other than registers and clocks are left out.
 *
 *	kl_ptx_flow_read(&flow, fn);
 *	flow.insn[i].op, .guard, .reg ...
 *	kl_ptx_flow_region(&flow, block, in);		in[b]: the branch of `block` controls b
 *	kl_ptx_flow_release(&flow);
 */
#define KL_PTX_NO_REGISTER UINT32_MAX

struct kl_ptx_insn {
	char *op;       /* "ld.global.nc.v4.f32" */
	uint32_t guard; /* predicate that guards it; KL_PTX_NO_REGISTER if there is none */
	/*
	 * its registers; the first `nout` are those of its first operand, unless that is an address
	 */
	uint32_t *reg;
	size_t nreg, nout, alloc;
	char *clock; /* clock that it reads, such as "%clock64"; NULL if there is none */
	/* bra: possible names of its target (label_names() in ptx_flow.c); else NULL */
	char *label;
	size_t block;
};

struct kl_ptx_block {
	size_t first, end; /* indices of its first instruction, and of the one after its last */
	/* blocks that can follow; kl_ptx_flow.nblock stands for the end of the function */
	size_t *next;
	size_t nnext, alloc;
	/*
	 * the first block that all paths from the end of this block reach (see kl_ptx_flow_region)
	 */
	size_t meet;
};

struct kl_ptx_flow {
	struct kl_ptx_insn *insn;
	size_t ninsn, insn_alloc;
	struct kl_ptx_block *block;
	size_t nblock, block_alloc;
	size_t nregister;
};

/** Return true if `name` is a clock register. */
bool kl_ptx_is_clock(const char *name);
/**
 * Read the body of a function. The PTX text that `fn` points into must not have been freed. Return
 * KL_ENO if no compiler writes such a body, or the body is too large.
 */
int kl_ptx_flow_read(struct kl_ptx_flow *flow, const struct kl_ptx_fn *fn);
void kl_ptx_flow_release(struct kl_ptx_flow *flow);
/**
 * Mark in `in`, which has an element for each block, the blocks between the branch at the end of
 * `block` and the first block that all paths from this branch reach. Paths that end in a trap are
 * ignored when that block is determined.
 */
void kl_ptx_flow_region(const struct kl_ptx_flow *flow, size_t block, bool *in);

#endif
